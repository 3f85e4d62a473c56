"""Rot: a flipped bit or a lost end in any file of a run is noticed, or changes nothing that anybody reads."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from tests.training.small import SMALL
from trnn_core.errors import TRNNError
from trnn_core.training.execute import train_run
from trnn_core.training.runs import Run
from trnn_core.training.store import RunStore


@pytest.fixture(scope="module")
def folders(small_series, tmp_path_factory):
    """A finished run, and one that was left in the middle."""
    store = RunStore(tmp_path_factory.mktemp("rot"))
    whole = store.create(SMALL.changed(**{"train.epochs": 4}), small_series, run_id="whole")
    train_run(store, whole)
    half = store.create(SMALL, small_series, run_id="half")
    train_run(store, half, control=lambda: "pause" if half.status().epoch >= 4 else None)
    return [whole.folder, half.folder]


def reading(run: Run) -> str:
    """All that a page or a resume would learn from the run."""
    forecast = run.forecast()
    arrays = {k: v.tobytes() if isinstance(v, np.ndarray) else v for k, v in (forecast or {}).items()}
    weights = sorted((k, v.tobytes()) for k, v in (run.weights() or {}).items())
    return repr((run.config, run.labels(), run.status(), run.history(), run.summary(), arrays, weights))


def campaign(folders, tmp_path, n_cases: int, seed: int) -> dict[str, int]:
    rng = np.random.default_rng(seed)
    tally = {"noticed": 0, "harmless": 0}
    for case in range(n_cases):
        original = folders[case % 2]
        before = reading(Run(original))
        copy = tmp_path / original.name
        shutil.copytree(original, copy)
        files = sorted(p for p in copy.rglob("*") if p.is_file() and p.stat().st_size)
        victim = files[rng.integers(len(files))]
        content = bytearray(victim.read_bytes())
        if case % 6 == 5:
            content = content[: rng.integers(len(content))]
        else:
            content[rng.integers(len(content))] ^= 1 << rng.integers(8)
        victim.write_bytes(content)
        if Run(copy).verify():
            tally["noticed"] += 1
        else:
            assert reading(Run(copy)) == before, victim  # heartbeat, white space: nothing to notice
            tally["harmless"] += 1
        shutil.rmtree(copy)
    return tally


def test_rot_is_noticed_or_harmless(folders, tmp_path):
    tally = campaign(folders, tmp_path, 120, seed=0)
    assert tally["noticed"] > 80


@pytest.mark.slow
def test_rot_is_noticed_or_harmless_1200_times(folders, tmp_path):
    tally = campaign(folders, tmp_path, 1200, seed=1)
    print(tally)
    assert tally["noticed"] > 800


def test_planted_rot_that_no_checksum_covers_would_be_found(folders, tmp_path, monkeypatch):
    """The campaign can fail: with verification off, it does."""
    monkeypatch.setattr(Run, "verify", lambda self: [])
    with pytest.raises((AssertionError, TRNNError)):
        campaign(folders, tmp_path, 40, seed=0)


def test_others_are_untouched_by_a_damaged_run(folders, small_series, tmp_path):
    store = RunStore(tmp_path / "store")
    for name in ("good", "bad"):
        shutil.copytree(folders[0], store.root / name)
    for path in (store.root / "bad").glob("config*.json"):
        path.write_bytes(b"\xff")
    assert {run.run_id for run in store.runs()} == {"good", "bad"}
    assert store.get("good").verify() == [] and len(store.get("bad").verify()) >= 2
    assert store.get("bad").forecast() is not None  # what can be saved
