"""A lock between processes that the operating system releases when its holder dies, however it dies."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def locked(path: Path, waiting: str = "") -> Iterator[None]:
    """Hold the lock file; `waiting` is said once when somebody else has it."""
    with path.open("a") as handle:
        told = False
        while not _try(handle):
            if waiting and not told:
                sys.stdout.write(f"{waiting}\n")
                sys.stdout.flush()
                told = True
            time.sleep(0.2)
        try:
            yield
        finally:
            _release(handle)


if os.name == "nt":
    import msvcrt

    def _try(handle: IO[str]) -> bool:
        try:
            handle.seek(0)
            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            return True
        except OSError:
            return False

    def _release(handle: IO[str]) -> None:
        handle.seek(0)
        msvcrt.locking(handle.fileno(), msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]

else:
    import fcntl

    def _try(handle: IO[str]) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            return False

    def _release(handle: IO[str]) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)
