"""The fold "Search for good settings": mistakes are told before a task is started, findings are drawn."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.pages.conftest import TRAIN
from trnn_core.data.readers.npz import read_npz
from trnn_core.jobs.requests import list_jobs
from trnn_core.runs.store import RunStore
from trnn_core.runs.study import study_folder
from trnn_core.training.recipes import preset, read_recipe
from trnn_core.training.search import TuneConfig


def make_study(home: Path) -> dict:
    from trnn_core.runs.tuning import tune

    series = read_npz(next((home / "data").glob("*.npz")))
    recipe = preset("quick").changed(**{"train.epochs": 1, "model.hidden_shape": (2, 2, 1)})
    config = TuneConfig(
        recipe=recipe,
        space={"data.window": "3:7", "train.learning_rate": "0.001:0.1:log"},
        trials=6,
        batch=6,
        pruner="none",
    )
    with ThreadPoolExecutor(1) as here:
        return tune(series, config, study_folder(RunStore(home / "runs"), "first"), here)


def test_a_search_is_drawn_with_its_best_settings(full: Path, open_page) -> None:
    found = make_study(full)
    app = open_page(TRAIN)
    assert not app.exception and not app.error
    metrics = {m.label: m.value for m in app.metric}
    assert metrics["Trials"] == "6 of 6" and metrics["Best validation loss"] == f"{found['best']['value']:.4g}"
    table = next(d.value for d in app.dataframe if "setting" in d.value.columns)
    assert list(table["setting"]) == ["window", "learning rate"]
    assert any("Share of each setting" in c.value.replace("\\", "") for c in app.caption)


def test_a_wrong_range_is_told_and_nothing_is_started(full: Path, open_page) -> None:
    app = open_page(TRAIN)
    area = next(t for t in app.text_area if t.label == "What to search")
    area.set_value("data.window=12:4").run()
    next(b for b in app.button if b.label == "Start search").click().run()
    assert any("must go upwards" in e.value for e in app.error)
    assert list_jobs(RunStore(full / "runs"), "tune") == []


def test_the_best_settings_are_trained_with_one_click(asked: Path, open_page) -> None:
    make_study(asked)
    store = RunStore(asked / "runs")
    series = read_npz(next((asked / "data").glob("*.npz")))
    store.keep_series(series)
    before = {run.run_id for run in store.runs()}
    app = open_page(TRAIN)
    next(b for b in app.button if b.label == "Train with these").click().run()
    assert not app.exception and not app.error
    (new,) = [run for run in store.runs() if run.run_id not in before]
    best = read_recipe(study_folder(store, "first") / "recipe.toml")
    assert new.recipe.train == best.train and new.recipe.data.window == best.data.window
    assert new.config["data"]["fingerprint"] == series.fingerprint
