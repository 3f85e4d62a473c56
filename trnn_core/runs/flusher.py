"""Flushing to the disk beside the training: a thread makes checkpoints safe from a power cut, and clears away old ones.

A checkpoint is written before the next epoch begins, which is enough to survive the end of the process; the flush
that also survives the end of the machine takes longer and need not hold the loop up. The newest flushed checkpoint is
kept until a newer one is flushed, and a torn one is recognised by its checksums.
"""

from __future__ import annotations

import threading
from pathlib import Path

from trnn_core.files import explain_os_error, sync
from trnn_core.training import checkpoints

REST_SECONDS = 1.0  # between two flushes


class Flusher:
    """Flushes the newest checkpoint of a folder about once a second; an error is raised at the next call here."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._newest: int | None = None
        self._flushed: int | None = None
        self._wake = threading.Condition()
        self._closing = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name="flusher")
        self._thread.start()

    def submit(self, epoch: int) -> None:
        """The checkpoint of that epoch is written."""
        with self._wake:
            self._raise()
            self._newest = epoch
            self._wake.notify_all()

    def close(self) -> None:
        """Flush what is newest and end the thread."""
        with self._wake:
            self._closing = True
            self._wake.notify_all()
        self._thread.join()
        self._raise()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            while (epoch := self._next()) is not None:
                self._flush(epoch)
                with self._wake:
                    self._wake.wait_for(lambda: self._closing, REST_SECONDS)
        except BaseException as e:  # told to the training at its next word
            self._error = e

    def _next(self) -> int | None:
        """The newest checkpoint that is not flushed yet; None at the end."""
        with self._wake:
            self._wake.wait_for(lambda: self._closing or self._newest != self._flushed)
            return self._newest if self._newest != self._flushed else None

    def _flush(self, epoch: int) -> None:
        path = self.folder / f"{epoch:06d}"
        try:
            for file in (*path.iterdir(), path, self.folder):
                sync(file)
        except OSError as e:
            raise explain_os_error(e, path) from e
        self._flushed = epoch
        checkpoints.prune(self.folder, spare=epoch)
