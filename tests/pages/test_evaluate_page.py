"""The Evaluate page: with nothing, with a run that was never tested, and with a backtest, from all sides."""

from __future__ import annotations

import pytest

from tests.pages.test_pages import is_sound, words
from trnn_core.evaluation.protocol import Protocol
from trnn_core.evaluation.rolling_origins import backtest
from trnn_core.jobs.requests import list_jobs
from trnn_core.runs.backtests import attach, result_files
from trnn_core.runs.store import RunStore
from trnn_core.verbs.backtest import KIND, Request
from ui.executor_choice import resources_again

EVALUATE = "pages/4_Evaluate.py"
PARTS = ("Leaderboard", "Over time", "Where", "Calibration", "Misses")


@pytest.fixture(scope="module")
def files(trained):
    """A backtest of the run in the trained store, made once."""
    store = RunStore(trained / "runs")
    request = Request.of_run(
        store.get("first"), ["persistence", "mean", "network"], Protocol(min_origins=10, horizon=2)
    )
    result = backtest(store.series(store.get("first")), request.model_options(), request.protocol, each=lambda *_: None)
    return result, result_files(result)


@pytest.fixture
def tested(full, files):
    """A store whose run has a backtest stored with it."""
    assert attach(RunStore(full / "runs").get("first"), *files) == "Added to the run."
    return full


def test_with_nothing_it_says_what_to_do(bare, open_page) -> None:
    app = open_page(EVALUATE)
    is_sound(app)
    assert "nothing to test yet" in words(app)


def test_a_run_that_was_never_tested_offers_to_in_one_click(full, open_page, monkeypatch) -> None:
    started = []
    monkeypatch.setattr("trnn_core.jobs.queue.ensure_worker", lambda store: started.append(store))
    app = open_page(EVALUATE, run="first")
    is_sound(app)
    assert "How good would it have been" in words(app) and "Simulated data" in words(app)
    button = next(b for b in app.button if "Test this run" in b.label)
    assert "against 3 simple methods on 18 past weeks" in button.label
    button.click().run()
    is_sound(app)
    (job,) = list_jobs(RunStore(full / "runs"), KIND)
    assert job.run_id == "first" and started
    assert set(job.request["models"]) == {"persistence", "ewma", "relational_ar", "network"}
    assert "Testing" in words(app) and any(b.label == "Stop" for b in app.button)
    next(b for b in app.button if b.label == "Stop").click().run()
    assert job.status().state == "stopped"
    app.run()
    assert "The last backtest was stopped" in words(app) and any(b.label == "Go on" for b in app.button)


def test_processes_are_chosen_on_the_page_and_of_a_cluster_only_whether(full, open_page, monkeypatch) -> None:
    monkeypatch.setattr("trnn_core.jobs.queue.ensure_worker", lambda store: False)
    monkeypatch.setenv("TRNN_CLUSTER", "tcp://lab:8786")
    app = open_page(EVALUATE, run="first")
    where = app.radio(key="new_cluster")
    assert where.options == ["This machine", "The lab's cluster"] and where.value is True
    assert "lab:8786" not in words(app) and not [t for t in app.text_input if "luster" in t.label]
    app.number_input(key="new_workers").set_value(3).run()
    app.button(key="start_new").click().run()
    is_sound(app)
    (job,) = list_jobs(RunStore(full / "runs"), KIND)
    assert job.resources == {"workers": 3, "cluster": True}
    assert "lab:8786" not in (job.folder / "task.json").read_text()
    monkeypatch.delenv("TRNN_CLUSTER")
    app = open_page(EVALUATE, run="first")
    is_sound(app)
    assert not [r for r in app.radio if r.key == "new_cluster"], "nothing to choose where the operator has set none"


def test_stopped_work_goes_on_without_the_address_that_an_older_page_stored(monkeypatch) -> None:
    monkeypatch.delenv("TRNN_CLUSTER", raising=False)
    assert resources_again({"workers": 3, "cluster": "tcp://planted:1"}) == {"workers": 3, "cluster": False}
    monkeypatch.setenv("TRNN_CLUSTER", "lab:8786")
    assert resources_again({"workers": 3, "cluster": "tcp://planted:1"}) == {"workers": 3, "cluster": True}
    assert resources_again({"workers": 3, "cluster": ""}) == {"workers": 3, "cluster": False}


@pytest.mark.parametrize("part", PARTS)
def test_a_backtest_from_every_side(part, tested, open_page) -> None:
    app = open_page(EVALUATE, run="first", part=part)
    is_sound(app)
    said = words(app)
    assert "past weeks, one week ahead, this run's network was" in said.replace("\\", "")
    assert "90\u00a0% intervals held" in said.replace("\\", "") and "Simulated data" in said
    charts = app.get("plotly_chart")
    assert len(charts) == {"Leaderboard": 2, "Over time": 1, "Where": 3, "Calibration": 2, "Misses": 0}[part]
    controls = [*app.selectbox, *app.multiselect, *app.number_input, *app.toggle, *app.button, *app.button_group]
    assert [c.label for c in controls if not c.help] == []
    assert "Computed on this machine." in said
    if part == "Leaderboard":
        board = app.dataframe[0].value
        assert (
            set(board["model"]) == {"last week repeated", "long-run mean", "this run's network"}
            and (board["origins"] == 10).all()
        )
    if part == "Misses":
        assert "There came" in said and {"expected", "lower", "upper", "observed"} <= set(
            app.dataframe[0].value.columns
        )


def test_choices_are_taken_from_the_link(tested, files, open_page) -> None:
    action = files[0].actions[1]
    app = open_page(EVALUATE, run="first", model="mean", step="2", act=action, part="Leaderboard")
    is_sound(app)
    assert app.selectbox(key="model").value == "mean" and app.selectbox(key="step").value == "2"
    assert app.selectbox(key="act").value == action
    assert "On 9 past weeks, 2 weeks ahead, long-run mean was" in words(app).replace("\\", "")


def test_a_data_set_can_be_tested_without_a_run(full, open_page, monkeypatch) -> None:
    monkeypatch.setattr("trnn_core.jobs.queue.ensure_worker", lambda store: False)
    app = open_page(EVALUATE, run="set:demo")
    is_sound(app)
    next(b for b in app.button if "Test 3 simple methods" in b.label).click().run()
    (job,) = list_jobs(RunStore(full / "runs"), KIND)
    assert job.run_id is None and RunStore(full / "runs").series_path(job.request["fingerprint"]).exists()


def test_a_damaged_backtest_is_told_and_a_missing_run_too(tested, open_page) -> None:
    path = tested / "runs" / "first" / "backtest.npz"
    path.write_bytes(path.read_bytes()[:-40] + bytes(40))
    app = open_page(EVALUATE, run="first")
    assert not app.exception and "damaged" in app.error[0].value
    assert any("Test this run" in b.label for b in app.button)  # a way on
    app = open_page(EVALUATE, run="gone")
    assert len(app.warning) == 1 and "'gone'" in app.warning[0].value


def test_a_link_to_what_is_not_there_is_told_in_one_sentence(tested, open_page) -> None:
    app = open_page(EVALUATE, run="first", part="x", score="x", model="z", step="99", act="<b>", backtest="../..")
    is_sound(app)
    assert len(app.warning) == 1 and "the usual choice is shown instead" in app.warning[0].value
    assert app.selectbox(key="model").value == "network"
