"""Every page, empty and full, as the server runs it."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import DATA, FORECAST, HOME, ROOT, TRAIN
from trnn_core.runs.run import load_run
from trnn_core.runs.store import RunStore


def words(app: AppTest) -> str:
    """All text of a page."""
    return "\n".join(
        str(getattr(e, "value", ""))
        for kind in (app.markdown, app.caption, app.subheader, app.title, app.info)
        for e in kind
    )


def is_sound(app: AppTest) -> None:
    assert not app.exception, app.exception[0].message
    assert not app.error, app.error[0].value


@pytest.mark.parametrize("path", [HOME, DATA, TRAIN, FORECAST])
def test_a_page_with_nothing_to_show_says_what_to_do(path, bare, open_page) -> None:
    app = open_page(path)
    is_sound(app)
    assert any(hint in words(app) for hint in ("train a network", "Add one here", "no data set", "Load who-did-what"))


def test_an_empty_page_leads_on_to_the_next_step(bare, open_page) -> None:
    app = open_page(TRAIN)
    next(b for b in app.button if b.label == "Add data").click().run()
    is_sound(app)
    assert "Add one here" in words(app)


@pytest.mark.parametrize("path", [HOME, DATA, TRAIN, FORECAST])
def test_a_full_page_is_sound_and_says_simulated(path, full, open_page) -> None:
    app = open_page(path)
    is_sound(app)
    assert "Simulated data" in words(app)


def test_home_tells_the_largest_changes_and_how_far_to_trust_them(full, open_page) -> None:
    text = words(open_page(HOME))
    assert "Largest expected rise" in text
    assert "repeating the last week" in text
    assert "First run" in text.replace("\\", "")


def test_home_without_a_run_welcomes_and_names_the_data(full, open_page) -> None:
    RunStore(full / "runs").delete("first")
    app = open_page(HOME)
    is_sound(app)
    assert app.title[0].value == "Forecast relations between countries"
    assert "6 countries, 4 actions, 80 weeks" in words(app)


@pytest.mark.parametrize("shown", ["Forecast", "Last observed", "Expected change", "Uncertainty"])
@pytest.mark.parametrize("view", ["Network", "Heatmap", "Chord"])
def test_every_view_of_a_forecast_can_be_drawn(view, shown, full, open_page) -> None:
    app = open_page(FORECAST, run="first", view=view, show=shown)
    is_sound(app)
    assert app.query_params["run"] == "first"


def test_a_link_opens_the_pair_it_names(full, open_page) -> None:
    actors = load_run("first", full / "runs").config["data"]["actors"]
    app = open_page(FORECAST, run="first", sender=actors[3], receiver=actors[4])
    is_sound(app)
    assert (app.selectbox(key="sender").value, app.selectbox(key="receiver").value) == (actors[3], actors[4])


def test_a_link_to_a_run_that_is_gone_says_so_and_shows_another(full, open_page) -> None:
    app = open_page(FORECAST, run="gone-long-ago")
    assert not app.exception
    assert "gone-long-ago" in app.warning[0].value
    assert app.selectbox(key="run").value == "first"


def test_a_damaged_forecast_is_a_sentence_not_a_traceback(full, open_page) -> None:
    path = full / "runs" / "first" / "forecast.npz"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    app = open_page(FORECAST)
    assert not app.exception
    assert "damaged" in app.error[0].value and "Traceback" not in app.error[0].value


def test_a_damaged_run_does_not_hide_the_others(full, open_page) -> None:
    store = RunStore(full / "runs")
    run = store.get("first")
    other = store.create(run.recipe, store.series(run), run_id="second", state="stopped")
    for copy in other.folder.glob("config*.json"):
        copy.write_text("{not json")
    for path in (HOME, TRAIN, FORECAST):
        app = open_page(path)
        assert not app.exception
        assert "First run" in words(app).replace("\\", "") or app.selectbox(key="run").value == "first"


def test_an_unexpected_failure_gives_a_reference_that_is_in_the_log(full, open_page, monkeypatch, caplog) -> None:
    monkeypatch.setattr("ui.runs_table.row_of", lambda run: 1 / 0)
    app = open_page(HOME)
    assert not app.exception
    assert app.error[0].value.startswith("Something went wrong on this page")
    details = next(m.value for m in app.markdown if "Reference" in m.value)
    reference = details.split("**")[1]
    assert any(reference in record.getMessage() for record in caplog.records)
    assert "ZeroDivisionError" in details and "Traceback" not in details


def test_settings_in_the_link_are_the_settings_of_the_form(full, open_page) -> None:
    app = open_page(TRAIN, **{"preset": "paper-case-2", "paper-case-2.train.epochs": "12"})
    is_sound(app)
    assert app.number_input(key="paper-case-2.train.epochs").value == 12
    assert "vector LSTM" in words(app)


def test_starting_a_run_queues_it_with_the_settings_shown(full, open_page, monkeypatch) -> None:
    monkeypatch.setattr("trnn_core.jobs.queue.ensure_worker", lambda store: False)
    app = open_page(TRAIN, **{"quick.train.epochs": "2"})
    app.text_input(key="run_name").set_value("Mine")
    next(b for b in app.button if b.label == "Start training").click()
    app.run()
    is_sound(app)
    newest = RunStore(full / "runs").runs()[0]
    assert (newest.name, newest.status().state, newest.recipe.train.epochs) == ("Mine", "queued", 2)
    assert app.selectbox(key="run").value == newest.run_id
    assert {"Pause", "Stop and keep", "Cancel"} <= {b.label for b in app.button}


def test_cancelling_a_queued_run_and_resuming_it(full, open_page, monkeypatch) -> None:
    monkeypatch.setattr("trnn_core.jobs.queue.ensure_worker", lambda store: False)
    app = open_page(TRAIN, **{"quick.train.epochs": "2"})
    next(b for b in app.button if b.label == "Start training").click()
    app.run()
    app.button(key="ask-cancel").click()
    app.run()
    newest = RunStore(full / "runs").runs()[0]
    assert newest.status().state == "cancelled"
    app.button(key="resume").click()
    app.run()
    assert newest.status().state == "queued"


def test_wrong_settings_are_told_in_one_sentence(full, open_page) -> None:
    app = open_page(TRAIN, **{"quick.train.learning_rate": "-1"})
    assert not app.exception
    assert "learning_rate" in app.error[0].value


def test_the_explorer_shows_the_week_in_hand(full, open_page) -> None:
    app = open_page(DATA)
    slider = app.select_slider[0]
    slider.set_value(slider.options[10])
    app.run()
    is_sound(app)
    drawn = [chart.proto.spec for chart in app.get("plotly_chart")]
    assert any(f"week of {slider.options[10]}" in spec for spec in drawn)
    assert not any(f"week of {slider.options[-1]}" in spec for spec in drawn)


def test_a_run_whose_data_is_gone_is_told_and_does_not_hide_the_rest(full, open_page) -> None:
    for path in (full / "runs" / ".data").glob("*.npz"):
        path.unlink()
    app = open_page(HOME)
    is_sound(app)
    assert app.title[0].value == "Forecast relations between countries"
    app = open_page(FORECAST)
    assert not app.exception
    assert "is not there any more" in app.error[0].value


def test_the_demo_that_is_shipped_fills_the_first_screen(tmp_path, monkeypatch, open_page) -> None:
    monkeypatch.setenv("TRNN_DATA", str(ROOT / "data"))
    monkeypatch.setenv("TRNN_RUNS", str(tmp_path / "runs"))
    app = open_page(HOME)
    is_sound(app)
    assert load_run("demo", tmp_path / "runs").verify() == []
    assert "Simulated data" in words(app) and "Largest expected rise" in words(app)
    assert float(app.metric[0].value.rstrip("%")) > 0  # better than repeating the last week
