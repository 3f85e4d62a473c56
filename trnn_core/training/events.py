"""What a training tells whoever listens: run folder, progress bar, page, test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from trnn_core.jobs.job import Request
from trnn_core.training.checkpoints import Snapshot

Outcome = Literal["finished", "stopped", "paused", "cancelled", "diverged"]


@dataclass(frozen=True)
class Started:
    """The network is built and the data are cut."""

    epochs: int
    n_parameters: int
    n_windows: int
    loss_scale: str  # what one unit of the losses means


@dataclass(frozen=True)
class StepDone:
    """One batch has been learnt from."""

    epoch: int
    step: int
    n_steps: int
    n_windows: int
    loss: float


@dataclass(frozen=True)
class EpochDone:
    """An epoch is over; `snapshot()` copies the whole state for a checkpoint."""

    row: dict[str, Any]  # the row of history.jsonl
    epochs: int
    best_epoch: int
    best_val_loss: float | None
    eta_seconds: float
    snapshot: Callable[[], Snapshot]

    @property
    def epoch(self) -> int:
        return int(self.row["epoch"])


@dataclass(frozen=True)
class Ended:
    """The loop is over, for better or worse."""

    outcome: Outcome
    message: str
    epoch: int


Event = Started | StepDone | EpochDone | Ended
Listener = Callable[[Event], None]
Control = Callable[[], Request | None]
