"""Full disk, read-only store, deleted store, no memory: a clear message, and nothing that was saved is lost."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.training.small import SMALL
from trnn_core.errors import TRNNError
from trnn_core.runs.execute import train_run
from trnn_core.runs.recorder import failure_words
from trnn_core.runs.store import RunStore
from trnn_core.training.checkpoints import newest_good
from trnn_core.training.events import EpochDone


@pytest.fixture
def small_disk(tmp_path):
    """A real file system of one megabyte; needs the right to mount."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("a small disk cannot be mounted here (no right to)")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill_up(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    with pytest.raises(OSError, match="No space"):
        while True:
            os.write(descriptor, b"x" * 4096)
    os.close(descriptor)


def test_a_full_disk_is_told_and_the_last_checkpoint_intact(small_disk, small_series):
    store = RunStore(small_disk / "runs")
    run = store.create(SMALL, small_series)
    hog = small_disk / "hog"

    def fill(event):
        if isinstance(event, EpochDone) and event.epoch == 5:
            fill_up(hog)

    with pytest.raises(TRNNError, match="the disk is full; free some space, then resume"):
        train_run(store, run, listeners=[fill])
    status = run.status()
    assert status.state == "failed" and "disk is full" in status.message and status.can_resume
    snapshot, _, problems = newest_good(run.folder / "checkpoints")
    assert snapshot.epoch == 5 and problems == [] and run.verify() == []
    hog.unlink()
    assert train_run(store, run).state == "finished" and run.verify() == []


def test_a_disk_too_full_to_begin_is_told(small_disk, small_series):
    fill_up(small_disk / "hog")
    with pytest.raises(TRNNError, match=r"disk is full|No space left"):
        RunStore(small_disk / "runs").create(SMALL, small_series)
    assert RunStore(small_disk / "runs").runs() == []


def test_a_read_only_store_is_told_and_still_readable(small_disk, small_series):
    store = RunStore(small_disk / "runs")
    run = store.create(SMALL.changed(**{"train.epochs": 2}), small_series, run_id="old")
    train_run(store, run)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for act in (
        lambda: store.create(SMALL, small_series),
        lambda: train_run(store, run),
        lambda: store.rename("old", "x"),
        lambda: store.delete("old"),
    ):
        with pytest.raises(TRNNError, match="read-only"):
            act()
    assert [r.run_id for r in store.runs()] == ["old"] and store.get("old").verify() == []
    assert store.get("old").forecast().mean.shape == (8, 6, 6, 4)


def test_a_size_limit_of_the_account_is_told(tmp_path, small_series):
    store = RunStore(tmp_path)
    run = store.create(SMALL, small_series, run_id="limited")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, before[1]))
    try:
        with pytest.raises(TRNNError, match="larger than this account may write"):
            train_run(store, run)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert run.verify() == [] and run.status().state in ("failed", "queued", "interrupted")
    assert train_run(store, run).state == "finished"


def test_a_store_deleted_under_a_training_ends_it_without_a_fuss(tmp_path, small_series):
    store = RunStore(tmp_path / "runs")
    run = store.create(SMALL, small_series)

    def delete(event):
        if isinstance(event, EpochDone) and event.epoch == 3:
            shutil.rmtree(store.root)

    with pytest.raises(TRNNError, match="not there; was it moved or deleted"):
        train_run(store, run, listeners=[delete])
    assert not store.root.exists()  # and nothing is put back in its place


def test_out_of_memory_has_a_reason(tmp_path, small_series):
    store = RunStore(tmp_path)
    run = store.create(SMALL, small_series)

    def exhaust(event):
        if isinstance(event, EpochDone):
            import torch

            torch.empty(2**60)

    with pytest.raises(RuntimeError):
        train_run(store, run, listeners=[exhaust])
    assert run.status().state == "failed" and "ran out of memory" in run.status().message
    assert "ran out of memory" in failure_words(MemoryError())
