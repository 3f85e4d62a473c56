"""Links: what they open, and what they say when they ask for what is not there."""

from __future__ import annotations

import pytest

from tests.pages.conftest import DATA, FORECAST, HOME, TRAIN
from tests.pages.test_pages import is_sound, words
from trnn_core.runs.store import RunStore

BAD = {
    HOME: {"run": "gone", "action": "espionage"},
    DATA: {"data": "nothing", "week": "1066-10-14", "action": "espionage", "order": "Beauty"},
    TRAIN: {"data": "nothing", "run": "gone", "preset": "miracle", "smoothing": "much", "others": "gone"},
    FORECAST: {
        "week": "1066-10-14",
        "horizon": "99",
        "view": "Globe",
        "top": "-3",
        "ego": "Atlantis",
        "sender": "Atlantis",
    },
    "pages/6_Report.py": {"run": "gone", "form": "Papyrus"},
}


@pytest.mark.parametrize("path", BAD)
def test_a_link_that_asks_in_vain_gets_one_sentence_and_the_usual_view(path, full, open_page) -> None:
    app = open_page(path, **BAD[path])
    is_sound(app)
    assert len(app.warning) == 1
    said = app.warning[0].value
    assert said.startswith("This link asks for") and "usual choice" in said
    for value in list(BAD[path].values())[:4]:
        assert value in said
    app.run()
    assert not app.warning  # said once


def test_a_past_week_shows_what_happened_beside_what_was_expected(full, open_page) -> None:
    store = RunStore(full / "runs")
    run = store.get("first")
    past, series = run.hindcast(), store.series(run)
    assert past is not None
    week = str(past.origins[-5])
    app = open_page(FORECAST, run="first", week=week, horizon="2", show="What happened", view="Heatmap", order="Bloc")
    is_sound(app)
    target = str(series.dates[list(series.dates.astype(str)).index(week) + 2])
    drawn = " ".join(chart.proto.spec for chart in app.get("plotly_chart"))
    assert "What happened: verbal cooperation" in drawn and f"week of {target}" in drawn and "what happened" in drawn
    assert "; what happened:" in words(app)
    assert any("happened" in frame.value.columns for frame in app.dataframe)


def test_beyond_the_data_there_is_nothing_that_happened(full, open_page) -> None:
    app = open_page(FORECAST, run="first")
    assert "What happened" not in app.selectbox(key="show").options
    assert app.selectbox(key="week").value == "next"


@pytest.mark.parametrize("layout", ["By ties", "On a circle", "By geography"])
def test_places_and_colours_of_the_network_are_in_the_link(layout, full, open_page) -> None:
    app = open_page(FORECAST, run="first", layout=layout, colours="By bloc")
    is_sound(app)
    drawn = app.get("plotly_chart")[0].proto.spec
    assert ("u00b0" in drawn) == (layout == "By geography") and "around " in drawn


def test_the_same_week_is_kept_when_the_data_are_looked_at_after_a_link(full, open_page) -> None:
    store = RunStore(full / "runs")
    week = str(store.series(store.get("first")).dates[7])
    app = open_page(DATA, week=week, data_view="Network", layout="By geography")
    is_sound(app)
    assert app.select_slider(key="week").value == week
    assert any(f"week of {week}" in chart.proto.spec for chart in app.get("plotly_chart"))
