"""Every control of every page says what it is for, in every view (those of Explain: test_explain_page.py)."""

from __future__ import annotations

import pytest

from tests.pages.conftest import DATA, FORECAST, HOME, TRAIN, silent_controls

EVALUATE, REPORT = "pages/4_Evaluate.py", "pages/6_Report.py"
VIEWS = [
    (HOME, {}),
    (DATA, {}),
    (DATA, {"data_view": "Network"}),
    (DATA, {"do": "Add data"}),
    (TRAIN, {}),
    (TRAIN, {"preset": "recommended"}),
    (FORECAST, {"view": "Heatmap"}),
    (FORECAST, {"view": "Chord"}),
    (EVALUATE, {}),
    (REPORT, {}),
]


def test_the_form_of_an_import_explains_itself_and_shows_the_first_rows(full, open_page) -> None:
    (full / "data" / "mine.csv").write_bytes(b"day,who,whom,what,n\n" + b"2024-01-01,France,Germany,talk,1\n" * 80)
    app = open_page(DATA, do="Add data")
    app.multiselect(key="server_files").set_value(["mine.csv"]).run()
    assert not app.exception and silent_controls(app) == []
    assert {"Sender", "Receiver", "Period", "Countries"} <= {c.label for c in (*app.selectbox, *app.text_input)}
    assert len(app.dataframe[0].value) == 50


def test_every_setting_is_explained_in_words_and_with_its_symbol(full, open_page) -> None:
    app = open_page(TRAIN)
    settings = [
        c for c in (*app.number_input, *app.selectbox, *app.multiselect, *app.toggle) if str(c.key).startswith("quick.")
    ]
    assert len(settings) > 25
    assert [c.label for c in settings if len(c.help.split()) < 6] == []
    for label, symbol in (
        ("Penalty on weights", "λ"),
        ("Periods per window", "T"),
        ("Gate activation", "σ_g"),
        ("Loss", "l ("),
    ):
        assert symbol in next(c.help for c in settings if c.label.startswith(label))


@pytest.mark.parametrize(("path", "link"), VIEWS, ids=lambda x: str(x))
def test_every_control_of_every_view_explains_itself(path, link, full, open_page) -> None:
    app = open_page(path, **link)
    assert silent_controls(app) == []
