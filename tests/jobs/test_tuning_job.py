"""A search asked for by a page: a real process does it, it can be stopped, and goes on where it was."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.training.small import SMALL
from trnn_core.data.series import RelationalSeries
from trnn_core.jobs.requests import start_job
from trnn_core.runs.store import RunStore
from trnn_core.runs.study import Study, study_folder
from trnn_core.training.search import TuneConfig


@pytest.mark.slow
def test_a_page_starts_stops_and_continues_a_search(small_series: RelationalSeries, tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs")
    store.keep_series(small_series)
    config = TuneConfig(recipe=SMALL.changed(**{"train.epochs": 5}), space={"data.window": "3:5"}, trials=6, batch=2)
    asked = {
        "config": config.model_dump(mode="json", exclude_none=True),
        "fingerprint": small_series.fingerprint,
        "study": "s",
    }
    task = start_job(store, "tune", asked, resources={"cluster": False, "workers": 1})
    study = Study(study_folder(store, "s"))
    wait(lambda: (study.folder / "study.json").exists() and len(study.read()["trials"]) >= 2)
    task.stop()
    wait(lambda: task.status().state == "stopped")
    assert study.read()["state"] == "stopped"
    task = start_job(store, "tune", asked, resources={"cluster": False, "workers": 1})
    wait(lambda: task.status().state in ("done", "failed"))
    found = study.read()
    assert task.status().state == "done" and found["state"] == "done" and len(found["trials"]) == 6
    assert (study.folder / "recipe.toml").exists()


def wait(true, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.2)
