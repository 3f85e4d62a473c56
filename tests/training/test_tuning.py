"""A search for settings: real trainings, the same result on any executor, nothing lost when killed, the test untouched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.jobs.dask_cluster import ROOT, Cluster
from tests.training.small import SMALL
from trnn_core.cli import main
from trnn_core.data.readers.npz import write_npz
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.jobs.executors import open_executor
from trnn_core.runs.store import RunStore
from trnn_core.runs.study import list_studies, study_folder
from trnn_core.runs.tuning import tune
from trnn_core.training.recipes import read_recipe
from trnn_core.training.search import TuneConfig, default_space, parse_range

SPACE = {
    "model.cell": "gru|lstm",
    "model.hidden_shape": "2,2,1|3,3,2",
    "train.learning_rate": "0.0001:0.1:log",
    "data.window": "3:5",
}
RECIPE = SMALL.changed(**{"train.epochs": 5, "model.dropout": 0.1})
CONFIG = TuneConfig(recipe=RECIPE, space=SPACE, trials=6, batch=3, seed=3)


@pytest.fixture(scope="module")
def here() -> Iterator[Executor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


@pytest.fixture(scope="module")
def found(small_series: RelationalSeries, here: Executor, tmp_path_factory: pytest.TempPathFactory) -> dict:
    return tune(small_series, CONFIG, tmp_path_factory.mktemp("study") / "s", here)


def outcome(found: dict) -> list[tuple]:
    """All that must not depend on where or how often it ran."""
    return [(t["number"], t["state"], t["value"], t["params"], t["losses"]) for t in found["trials"]]


def test_a_search_tries_the_recipe_first_ends_hopeless_trials_and_keeps_the_best(found: dict) -> None:
    trials = found["trials"]
    assert [t["number"] for t in trials] == list(range(6)) and found["state"] == "done"
    assert trials[0]["params"]["train.learning_rate"] == RECIPE.train.learning_rate
    assert {t["state"] for t in trials} == {"complete", "pruned"}
    whole = [t for t in trials if t["state"] == "complete"]
    assert all(len(t["losses"]) == 5 for t in whole) and any(len(t["losses"]) < 5 for t in trials)
    assert found["best"]["value"] == min(t["value"] for t in whole) <= trials[0]["value"]


def test_the_first_trial_is_the_training_of_its_recipe(found: dict, small_series: RelationalSeries) -> None:
    from trnn_core.training.trainer import fit

    rows = fit(small_series, RECIPE.changed(**found["trials"][0]["params"])).history
    assert found["trials"][0]["losses"] == [[r["epoch"], r["val_loss"]] for r in rows]


def test_the_test_periods_are_never_looked_at(
    found: dict, small_series: RelationalSeries, here: Executor, tmp_path: Path
) -> None:
    values = small_series.values.copy()
    values[-6:] = 1000.0 - values[-6:]
    assert outcome(tune(replace(small_series, values=values), CONFIG, tmp_path / "s", here)) == outcome(found)


KILLED = """
import os, signal, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tests.training.test_tuning import CONFIG
from trnn_core.data.readers.npz import read_npz
from trnn_core.runs import tuning
from trnn_core.runs.tuning import tune

at, count = int(sys.argv[3]), 0
write = tuning.write_sealed
def dying(path, *a, **k):
    global count
    count += 1
    write(path, *a, **k)
    if path.name == "batch.json" and at < 0 or count == at:
        os.kill(os.getpid(), signal.SIGKILL)
save = tuning.checkpoints.save_checkpoint
def dying_save(*a):
    global count
    count += 1
    save(*a)
    if count == at:
        os.kill(os.getpid(), signal.SIGKILL)
tuning.write_sealed, tuning.checkpoints.save_checkpoint = dying, dying_save
with ThreadPoolExecutor(1) as here:
    tune(read_npz(Path(sys.argv[1])), CONFIG, Path(sys.argv[2]), here)
"""


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(7, id="in mid-batch"),
        pytest.param(-1, id="before telling what was decided", marks=pytest.mark.slow),
    ],
)
def test_a_killed_search_goes_on_as_if_nothing_had_happened(
    moment: int, found: dict, small_series: RelationalSeries, here: Executor, tmp_path: Path
) -> None:
    write_npz(small_series, tmp_path / "x.npz")
    command = [sys.executable, "-c", KILLED, str(tmp_path / "x.npz"), str(tmp_path / "s"), str(moment)]
    died = subprocess.run(command, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True)
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert outcome(tune(small_series, CONFIG, tmp_path / "s", here)) == outcome(found)


@pytest.mark.slow
def test_it_stops_when_asked_and_goes_on_later(
    found: dict, small_series: RelationalSeries, here: Executor, tmp_path: Path
) -> None:
    calls: list[str] = []
    stopped = tune(
        small_series,
        CONFIG,
        tmp_path / "s",
        here,
        progress=lambda done, words: calls.append(words),
        stopping=lambda: bool(calls),
    )
    assert stopped["state"] == "stopped" and len(stopped["trials"]) == 3
    assert outcome(tune(small_series, CONFIG, tmp_path / "s", here)) == outcome(found)


def test_more_trials_may_be_asked_for_but_nothing_else_may_change(
    small_series: RelationalSeries, here: Executor, tmp_path: Path
) -> None:
    short = TuneConfig(recipe=RECIPE.changed(**{"train.epochs": 1}), space={"data.window": "3:5"}, trials=1, batch=1)
    tune(small_series, short, tmp_path / "s", here)
    longer = tune(small_series, short.model_copy(update={"trials": 2}), tmp_path / "s", here)
    assert len(longer["trials"]) == 2
    with pytest.raises(TRNNError, match="began with another seed"):
        tune(small_series, short.model_copy(update={"seed": 9}), tmp_path / "s", here)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("data.transform", "log1p|none", "cannot be searched"),
        ("data.window", "12:4", "must go upwards"),
        ("train.learning_rate", "0:1:log", "from above 0"),
        ("data.window", "4", "LOW:HIGH"),
        ("data.windows", "4:5", "did you mean 'data.window'"),
        ("model.cell", "gru|rnnn", "must be one of"),
        ("train.learning_rate", "0.1:1000", "must be at most 10"),
    ],
)
def test_a_wrong_space_is_told_before_anything_is_trained(name: str, text: str, words: str) -> None:
    with pytest.raises(TRNNError, match=words):
        TuneConfig(recipe=RECIPE, space={name: text}).ranges()


def test_the_usual_space_holds_the_recipe_it_began_with(small_series: RelationalSeries) -> None:
    space = default_space(RECIPE, small_series)
    assert ",".join(map(str, RECIPE.model.hidden_shape)) in space["model.hidden_shape"].split("|")
    assert TuneConfig(recipe=RECIPE, space=space).ranges()["data.window"] == parse_range("data.window", "4:12")


def test_the_command_writes_a_recipe_that_can_be_trained(
    small_series: RelationalSeries, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    write_npz(small_series, tmp_path / "x.npz")
    common = ["--data", str(tmp_path / "x.npz"), "--runs", str(tmp_path / "runs")]
    out = tmp_path / "best.toml"
    search = ["--search", "data.window=3:5", "--search", "model.hidden_shape=2,2,1|3,3,2", "--set", "train.epochs=2"]
    assert main(["tune", *common, *search, "--trials", "2", "--batch", "2", "--workers", "1", "--out", str(out)]) == 0
    assert "the test was not touched" in capsys.readouterr().out
    assert read_recipe(out).data.window in (3, 4, 5)
    assert main(["train", *common, "--recipe", str(out)]) == 0
    assert [s.name for s in list_studies(RunStore(tmp_path / "runs"))] == ["search"]
    assert study_folder(RunStore(tmp_path / "runs"), "search").joinpath("study.json").exists()
    assert main(["tune", *common, "--storage", "mysql://x/y", *search]) == 2


@pytest.mark.slow
def test_processes_and_a_cluster_that_loses_a_worker_and_its_scheduler_find_the_same(
    found: dict, small_series: RelationalSeries, tmp_path: Path
) -> None:
    with open_executor(workers=2) as executor:
        assert outcome(tune(small_series, CONFIG, tmp_path / "local", executor)) == outcome(found)
    with Cluster(tmp_path / "cluster", 2) as cluster, open_executor(cluster.address) as executor:
        events = [cluster.kill_worker, cluster.restart_scheduler]

        def disturb(done: float, words: str) -> None:
            if events:
                events.pop(0)()
                time.sleep(0.2)

        assert outcome(tune(small_series, CONFIG, tmp_path / "dask", executor, progress=disturb)) == outcome(found)
        assert not events
    assert np.isfinite(found["best"]["value"])
