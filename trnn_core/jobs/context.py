"""What work is given to tell how far it is, to hear that it should end, and to keep what it has found.

The same work runs in four places: called from Python it is given this quiet context, on the command line one that
draws a bar, in a job one that writes into the job's folder, in a test whatever the test wants to see.
"""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, str], None]  # the share done, 0 to 1, and what is being done


class Stopped(Exception):
    """Work that was asked to end leaves by this; it is no failure."""


def quiet(done: float, message: str) -> None:
    """Progress that nobody watches."""


class Context:
    """Tells nobody, is never asked to stop, keeps nothing."""

    def progress(self, done: float, message: str) -> None:
        """The share done, 0 to 1, and what is being done."""

    def stopping(self) -> bool:
        """Whether to end now; return, or raise `Stopped`, soon after it says True."""
        return False

    def write(self, name: str, content: bytes) -> None:
        """Keep a result under a plain file name; an older one of that name gives way."""

    def check(self) -> None:
        """Leave by `Stopped` when asked to end."""
        if self.stopping():
            raise Stopped
