"""The thread that makes checkpoints safe from a power cut: it flushes the newest, clears away old ones, and tells its errors."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from trnn_core.errors import TRNNError
from trnn_core.runs import flusher
from trnn_core.runs.flusher import Flusher
from trnn_core.training.checkpoints import Snapshot, list_epochs, newest_good, save_checkpoint


def save(folder, epoch, best_epoch):
    weights = {"w": np.full(3, float(epoch))}
    save_checkpoint(folder, Snapshot(epoch, weights, {}, {"best_epoch": best_epoch}), b"{}\n" * epoch)


def test_the_newest_is_flushed_and_the_last_two_the_best_and_the_flushed_are_kept(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(flusher, "sync", flushed.append)
    thread = Flusher(tmp_path)
    for epoch in range(1, 8):
        save(tmp_path, epoch, best_epoch=min(epoch, 3))
        thread.submit(epoch)
    thread.close()
    assert list_epochs(tmp_path) == [3, 6, 7]
    assert tmp_path / "000007" / "weights.safetensors" in flushed and flushed[-1] == tmp_path
    assert newest_good(tmp_path)[0].epoch == 7


def test_an_error_is_told_to_the_training_at_its_next_word(tmp_path, monkeypatch):
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    thread = Flusher(folder)
    shutil.rmtree(folder)
    thread.submit(1)
    with pytest.raises(TRNNError):
        thread.close()
    with pytest.raises(TRNNError):
        thread.submit(2)
