"""Seeds of a recipe side by side: the weights of each are those of a run trained alone; a killed one goes on."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import psutil
import pytest

from tests.training.small import SMALL, TINY
from trnn_core.cli import main
from trnn_core.data.readers.npz import write_npz
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.jobs.executors import open_executor
from trnn_core.runs.ensembles import make_seeds, train_seeds
from trnn_core.runs.execute import train_run
from trnn_core.runs.store import RunStore
from trnn_core.training.recipes import write_recipe


def test_the_command_trains_every_seed_as_if_alone(
    small_series: RelationalSeries, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    write_npz(small_series, tmp_path / "x.npz")
    write_recipe(TINY, tmp_path / "r.toml")
    store = RunStore(tmp_path / "runs")
    arguments = [
        "train",
        "--data",
        str(tmp_path / "x.npz"),
        "--recipe",
        str(tmp_path / "r.toml"),
        "--runs",
        str(store.root),
    ]
    assert main([*arguments, "--seeds", "2", "--workers", "2", "--name", "both"]) == 0
    assert "2 seeds" in capsys.readouterr().out
    runs = {r.recipe.train.seed: r for r in store.runs(tag="seeds: both")}
    assert set(runs) == {5, 6}
    other = RunStore(tmp_path / "other")
    alone = other.create(TINY.changed(**{"train.seed": 6}), small_series, run_id="alone", state="paused")
    train_run(other, alone)
    assert runs[6].read_checked("weights.safetensors") == alone.read_checked("weights.safetensors")
    assert runs[5].read_checked("weights.safetensors") != alone.read_checked("weights.safetensors")
    assert main([*arguments, "--seeds", "1"]) == 2


@pytest.mark.slow
def test_a_seed_whose_process_is_killed_goes_on_from_its_checkpoint(
    small_series: RelationalSeries, tmp_path: Path
) -> None:
    store = RunStore(tmp_path / "runs")
    recipe = SMALL.changed(**{"train.epochs": 60, "train.patience": None})
    runs = make_seeds(store, recipe, small_series, 2, "killed")

    def kill_one() -> None:
        while len(runs[0].history()) < 5:
            time.sleep(0.05)
        workers = [p for p in psutil.Process().children(recursive=True) if "spawn_main" in " ".join(p.cmdline())]
        os.kill(workers[0].pid, signal.SIGKILL)

    threading.Thread(target=kill_one, daemon=True).start()
    with open_executor(workers=2) as executor:
        results = train_seeds(store, runs, executor)
    assert [r["state"] for r in results] == ["finished", "finished"]
    other = RunStore(tmp_path / "other")
    for run in runs:
        alone = other.create(run.recipe, small_series, run_id=run.run_id, state="paused")
        train_run(other, alone)
        assert run.read_checked("weights.safetensors") == alone.read_checked("weights.safetensors")
        assert [r["epoch"] for r in run.history()] == list(range(1, 61))


def test_one_seed_is_no_ensemble(small_series: RelationalSeries, tmp_path: Path) -> None:
    with pytest.raises(TRNNError, match="from 2 to 1000"):
        make_seeds(RunStore(tmp_path), TINY, small_series, 1, "one")
