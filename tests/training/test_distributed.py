"""Several processes train as one: the same curve up to the order of additions, checkpoints that either can go on from."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.jobs.dask_cluster import ROOT, free_port
from tests.training.small import SMALL
from trnn_core.data.readers.npz import write_npz
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.runs.run import parse_history
from trnn_core.training import checkpoints
from trnn_core.training.distributed import own_share
from trnn_core.training.networks import learn
from trnn_core.training.prepare import make_batches, prepare
from trnn_core.training.shared_learner import own_windows
from trnn_core.training.tensor_learner import TensorLearner
from trnn_core.training.trainer import fit
from trnn_core.training.trials import Watch

# Double precision, so that "up to the order of additions" can be told from "nearly"; batches that do not divide evenly.
RECIPE = SMALL.changed(
    **{"train.epochs": 4, "train.precision": "float64", "model.dropout": 0.0, "train.batch_size": 15}
)


def torchrun(*arguments: str, n: int = 2, module: bool = False) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        str(n),
        "--master-port",
        str(free_port()),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*command, *(["-m"] if module else []), *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )


def curve(rows: list[dict]) -> np.ndarray:
    return np.array([[r["train_loss"], r["val_loss"], r["grad_norm"], r["regulariser"]] for r in rows])


def test_the_shares_of_a_batch_give_its_whole_gradient(small_series: RelationalSeries) -> None:
    from trnn_core.training.networks import build_network

    prepared = prepare(small_series, RECIPE)
    network = build_network(prepared, RECIPE)
    batch = next(iter(make_batches(prepared, "train", 15)))
    learn(network, batch)
    whole = [p.grad.clone() for p in network.parameters() if p.grad is not None]
    network.zero_grad()
    total, n = [torch.zeros_like(g) for g in whole], 0
    for rank in range(4):
        mine = own_windows(batch, own_share(batch.n_windows, rank, 4))
        assert mine is not None
        network.zero_grad()
        learn(network, mine)
        n += mine.n_entries
        total = [
            t + mine.n_entries * p.grad for t, p in zip(total, network.parameters(), strict=True) if p.grad is not None
        ]
    assert n == batch.n_entries
    for a, b in zip(total, whole, strict=True):
        torch.testing.assert_close(a / n, b, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(("n", "size"), [(5, 2), (1, 3), (64, 4), (0, 2)])
def test_every_window_has_one_process(n: int, size: int) -> None:
    assert [i for rank in range(size) for i in own_share(n, rank, size)] == list(range(n))


def test_two_processes_have_the_curve_of_one_and_one_goes_on_from_their_checkpoint(
    small_series: RelationalSeries, tmp_path: Path
) -> None:
    write_npz(small_series, tmp_path / "x.npz")
    (tmp_path / "checkpoints").mkdir()
    done = torchrun(
        "tests/training/together.py",
        str(tmp_path / "x.npz"),
        str(tmp_path / "checkpoints"),
        str(tmp_path / "h.json"),
        "2",
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads((tmp_path / "h.json").read_text())
    assert told["size"] == 2 and told["outcome"] == "paused" and len(told["history"]) == 2
    alone = fit(small_series, RECIPE)
    np.testing.assert_allclose(curve(told["history"]), curve(alone.history[:2]), rtol=1e-9)
    snapshot, rows, _ = checkpoints.newest_good(tmp_path / "checkpoints")
    assert snapshot is not None
    resumed = fit(small_series, RECIPE, resume=replace(snapshot, history=parse_history(rows)))
    np.testing.assert_allclose(curve(resumed.history), curve(alone.history), rtol=1e-9)


def test_a_process_without_windows_and_a_parameter_without_a_gradient_change_nothing(
    small_series: RelationalSeries, tmp_path: Path
) -> None:
    write_npz(small_series, tmp_path / "x.npz")
    done = torchrun("tests/training/one_step.py", str(tmp_path / "x.npz"), str(tmp_path))
    assert done.returncode == 0, done.stderr[-3000:]
    alone = gradients_of_one_window(TensorLearner(small_series, RECIPE))
    for rank in (0, 1):
        told = load_file(tmp_path / f"{rank}.safetensors")
        assert told.keys() == alone.keys() and "idle" not in told
        for name, gradient in alone.items():
            torch.testing.assert_close(told[name], gradient, rtol=1e-12, atol=1e-15)


def gradients_of_one_window(learner: TensorLearner) -> dict[str, torch.Tensor]:
    """The gradient of a batch that is too small for two, of a network with a parameter that nothing depends on."""
    torch.manual_seed(0)
    learner.network.reset_parameters()
    batch = learner.batches(1, 0)[0]
    found = learner.gradient(own_windows(batch, range(1)))  # type: ignore[arg-type]
    assert found.n_windows == 1 and found.n_entries
    return {name: p.grad.clone() for name, p in learner.network.named_parameters() if p.grad is not None}


@pytest.mark.slow
def test_three_processes_go_on_from_the_checkpoint_of_one(small_series: RelationalSeries, tmp_path: Path) -> None:
    from tests.training.together import keep

    write_npz(small_series, tmp_path / "x.npz")
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    watch = Watch(2)
    fit(small_series, RECIPE, listeners=[watch], control=watch.control)
    keep(watch, folder)
    done = torchrun(
        "tests/training/together.py", str(tmp_path / "x.npz"), str(folder), str(tmp_path / "h.json"), "4", n=3
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads((tmp_path / "h.json").read_text())
    np.testing.assert_allclose(curve(told["history"]), curve(fit(small_series, RECIPE).history), rtol=1e-9)


@pytest.mark.slow
def test_the_command_under_torchrun_writes_one_run_and_tells_bad_input(
    small_series: RelationalSeries, tmp_path: Path
) -> None:
    write_npz(small_series, tmp_path / "x.npz")
    settings = [
        "--preset",
        "quick",
        "--set",
        "train.epochs=2",
        "--set",
        "model.hidden_shape=3,3,2",
        "--runs",
        str(tmp_path / "runs"),
    ]
    done = torchrun("trnn_core", "train", "--data", str(tmp_path / "x.npz"), *settings, "--run-id", "both", module=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("All 2 epochs done") == 1
    assert [p.name for p in (tmp_path / "runs").iterdir() if not p.name.startswith(".")] == ["both"]
    wrong = torchrun("trnn_core", "train", "--data", str(tmp_path / "none.npz"), *settings, module=True)
    assert wrong.returncode != 0 and "Nothing is there" in wrong.stderr


def test_what_cannot_be_shared_out_is_told(small_series: RelationalSeries) -> None:
    from trnn_core.training.learners import make_learner
    from trnn_core.training.recipes import preset

    with pytest.raises(TRNNError, match="read in order and cannot be shared"):
        make_learner(small_series, RECIPE.changed(**{"data.design": "single-series"}), object())  # type: ignore[arg-type]
    with pytest.raises(TRNNError, match="dyad network under torchrun"):
        make_learner(small_series, preset("recommended"), object())  # type: ignore[arg-type]
