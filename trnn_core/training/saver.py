"""Saving beside the training: a thread that writes finished epochs, one save at a time, without holding the loop up.

What has piled up since the last save is written together; of the snapshots only the newest is needed, and that of the best
epoch if it is not on the disk yet. Saving takes at most a fortieth of the time: after a save that cost 5 ms of processor time
the next one begins 0.2 s later. An epoch counts as finished once it is saved; a kill repeats what came after.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from trnn_core.training.checkpoints import Snapshot

REST = 40  # times the processor time of a save before the next one begins
LONGEST_REST = 2.0  # seconds


@dataclass(frozen=True)
class Finished:
    """A finished epoch: its line of the history, how the run stands, and its state if that is to be kept."""

    epoch: int
    best_epoch: int
    line: bytes
    status: dict[str, Any]
    snapshot: Snapshot | None
    history: bytes  # all lines up to this one


class Saver:
    """Hands finished epochs to `write` in a thread of its own; an error there is raised at the next call here."""

    def __init__(self, write: Callable[[list[Finished]], None]):
        self._write = write
        self._waiting: list[Finished] = []
        self._wake = threading.Condition()
        self._busy = self._hurry = self._closing = False
        self._not_before = 0.0
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name="saver")
        self._thread.start()

    def submit(self, finished: Finished) -> None:
        with self._wake:
            self._raise()
            kept = [f if f.epoch == finished.best_epoch or finished.snapshot is None else replace(f, snapshot=None) for f in self._waiting]  # fmt: skip
            self._waiting = [*kept, finished]
            self._wake.notify_all()

    def flush(self) -> None:
        """Return once everything handed over is on the disk."""
        with self._wake:
            self._hurry = True
            self._wake.notify_all()
            self._wake.wait_for(lambda: self._error is not None or not (self._waiting or self._busy))
            self._hurry = False
            self._raise()

    def close(self) -> None:
        """Write what is left and end the thread; after an error what is left is given up."""
        with self._wake:
            self._closing = self._hurry = True
            self._wake.notify_all()
        self._thread.join()
        self._raise()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        while (todo := self._next()) is not None:
            begun = time.thread_time()
            try:
                self._write(todo)
            except BaseException as e:  # told to the training at its next word
                self._error = e
            rest = min(REST * (time.thread_time() - begun), LONGEST_REST)
            with self._wake:
                self._busy, self._not_before = False, time.monotonic() + rest
                self._wake.notify_all()
            if self._error is not None:
                return

    def _next(self) -> list[Finished] | None:
        """What is to be saved, once there is something and the rest is over; None at the end."""
        with self._wake:
            while True:
                left = self._not_before - time.monotonic()
                if self._waiting and (self._hurry or left <= 0):
                    todo, self._waiting, self._busy = self._waiting, [], True
                    return todo
                if self._closing:
                    return None
                self._wake.wait(left if self._waiting else None)
