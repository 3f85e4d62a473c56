"""What work is given to tell how far it is, to hear that it should end, and to keep what it has found.

The same work runs in four places: called from Python it is given this quiet context, on the command line one that
draws a bar, in a job one that writes into the job's folder, in a test whatever the test wants to see.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

Progress = Callable[[float, str], None]  # the share done, 0 to 1, and what is being done


class Stopped(Exception):
    """Work that was asked to end leaves by this; it is no failure."""


def quiet(done: float, message: str) -> None:
    """Progress that nobody watches."""


def within(progress: Progress, low: float, high: float) -> Progress:
    """Progress of a part of the work, told as progress of the whole: from `low` to `high` of it."""
    return lambda done, message: progress(low + (high - low) * done, message)


class Context:
    """Tells nobody, is never asked to stop, keeps nothing; `runs` is the folder of runs that the work is about."""

    live = False  # whether words give way to the next ones, so that they may be said many times a second

    def __init__(self, runs: str | Path | None = None):
        self.runs = Path(runs or os.environ.get("TRNN_RUNS", "runs"))

    def progress(self, done: float, message: str) -> None:
        """The share done, 0 to 1, and what is being done."""

    def expect(self, seconds: float) -> None:
        """About how long the rest will take, for as long as the pace does not tell it."""

    def asked(self) -> Literal["stop", "pause", "cancel"] | None:
        """What somebody wants of work that can do more than stop."""
        return "stop" if self.stopping() else None

    def stopping(self) -> bool:
        """Whether to end now; return, or raise `Stopped`, soon after it says True."""
        return False

    def write(self, name: str, content: bytes) -> None:
        """Keep a result under a plain file name; an older one of that name gives way."""

    def check(self) -> None:
        """Leave by `Stopped` when asked to end."""
        if self.stopping():
            raise Stopped
