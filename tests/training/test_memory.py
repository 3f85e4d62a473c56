"""Batches that fit into memory: the estimate holds against what a training really takes, limits of a container count."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jobs.dask_cluster import ROOT
from tests.training.small import TINY
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.runs.execute import train_run
from trnn_core.runs.store import RunStore
from trnn_core.training import memory
from trnn_core.training.config import Recipe


def group(root: Path, name: str, limit: str, used: int) -> Path:
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    return folder


def test_the_tightest_limit_of_all_groups_above_holds(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("0::/lab.slice/app.service\n")
    group(tmp_path / "groups", "lab.slice", "3000000", 1_000_000)
    group(tmp_path / "groups", "lab.slice/app.service", "max", 500_000)
    assert memory.available_memory(tmp_path / "groups", own) == 2_000_000
    assert memory.available_memory(tmp_path / "groups", tmp_path / "none") > 2_000_000


def test_a_training_that_cannot_fit_is_refused_with_the_figures() -> None:
    with pytest.raises(TRNNError, match=r"needs about \d+\.\d GB and 1\.0 GB are free"):
        memory.fit_to_memory(Recipe(), (5000, 250, 250, 20), free=10**9)


def test_a_smaller_batch_is_taken_written_into_the_recipe_and_said(
    small_series: RelationalSeries, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = small_series.shape
    free = memory.series_bytes(TINY, shape) + int(memory.batch_bytes(TINY, shape, 5) / memory.SHARE) + 2
    monkeypatch.setattr(memory, "available_memory", lambda: free)
    store = RunStore(tmp_path)
    run = store.create(TINY, small_series, run_id="x", state="paused")
    assert run.recipe.train.batch_size == 5
    status = train_run(store, run)
    assert status.state == "finished" and "Batches of 5 windows instead of 16" in status.message


# The peak of this process alone: what getrusage tells begins with the size of the process that started it.
MEASURE = """
import json, sys
from pathlib import Path
import numpy as np, torch
from trnn_core.models.network import TensorNetwork
from trnn_core.training.config import Recipe
torch.set_num_threads(1)
def peak():
    return next(int(l.split()[1]) * 1024 for l in Path("/proc/self/status").read_text().splitlines() if l.startswith("VmHWM"))
shape, size = (70, 80, 80, 8), int(sys.argv[1])
recipe = Recipe(model={"cell": "gru", "hidden_shape": (48, 48, 6)})
network = TensorNetwork(recipe.model, shape[1:], shape[1:])
weeks = torch.randn(size + 6, *shape[1:]); targets = torch.randn(size + 6, *shape[1:])
mask = torch.ones_like(targets, dtype=torch.bool)
network.accumulate(weeks[:8], targets[:8], 7, False, mask[:8])
before = peak()
network.accumulate(weeks, targets, 7, False, mask)
print(json.dumps(peak() - before))
"""


@pytest.mark.slow
def test_the_estimate_is_that_of_a_real_step_within_a_factor_of_three() -> None:
    recipe = Recipe(model={"cell": "gru", "hidden_shape": (48, 48, 6)})
    done = subprocess.run([sys.executable, "-c", MEASURE, "60"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    grown = memory.batch_bytes(recipe, (70, 80, 80, 8), 60) - memory.batch_bytes(recipe, (70, 80, 80, 8), 2)
    assert 1 / 3 < json.loads(done.stdout) / grown < 3
