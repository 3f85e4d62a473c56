"""Tasks for the tests of executors: importable by every worker process."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np

from trnn_core.errors import TRNNError


def tally(folder: str, number: int, seconds: float = 0.0) -> tuple[int, float]:
    """A task that says when it began and ended (one file each), and answers with bits that depend on its number only."""
    (Path(folder) / f"began-{number}-{os.getpid()}-{time.time_ns()}").touch()
    time.sleep(seconds)
    value = float(np.random.default_rng(number).standard_normal(1000).sum())
    (Path(folder) / f"ended-{number}-{os.getpid()}-{time.time_ns()}").touch()
    return number, value


def die_once(folder: str, number: int) -> tuple[int, float]:
    """The first process that takes it is killed, as by a machine without memory; the next one answers."""
    mark = Path(folder) / f"died-{number}"
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return tally(folder, number)


def die(number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(number: int) -> None:
    raise TRNNError(f"The task must be even. Got {number} instead.")


def threads() -> tuple[str | None, int]:
    import torch

    return os.environ.get("OMP_NUM_THREADS"), torch.get_num_threads()


def wrong_kind() -> int:
    return "no number"  # type: ignore[return-value]


def own_class(folder: Path) -> str:
    return str(folder)
