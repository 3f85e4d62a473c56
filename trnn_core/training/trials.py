"""One trial of a search, a few epochs at a time: the task that an executor runs. Its state goes in and comes out, so
that any worker may do the next part, and a part that was lost is done again with the same result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trnn_core.data.series import RelationalSeries
from trnn_core.training.checkpoints import Snapshot
from trnn_core.training.config import Recipe
from trnn_core.training.events import EpochDone, Event, Outcome, Request


@dataclass(frozen=True)
class Part:
    """What some epochs of a trial gave."""

    losses: dict[int, float]  # validation loss of each epoch of this part
    seconds: float
    outcome: Outcome  # paused: there are more epochs to go
    message: str
    snapshot: Snapshot | None


class Watch:
    """Notes the epochs of a part, and asks for a pause after its last one."""

    def __init__(self, until: int) -> None:
        self.until, self.snapshot = until, None
        self.losses: dict[int, float] = {}
        self.seconds = 0.0
        self.due = False

    snapshot: Snapshot | None

    def __call__(self, event: Event) -> None:
        if isinstance(event, EpochDone):
            self.losses[event.epoch] = event.row["val_loss"]
            self.seconds += event.row["seconds"]
            if event.epoch >= self.until:
                self.due, self.snapshot = True, event.snapshot()

    def control(self) -> Request | None:
        return "pause" if self.due else None


def train_part(series: RelationalSeries, settings: dict[str, Any], snapshot: Snapshot | None, until: int) -> Part:
    """Train on to the end of epoch `until`, exactly as without the break."""
    from trnn_core.training.trainer import fit

    watch = Watch(until)
    fitted = fit(series, Recipe(**settings), listeners=[watch], control=watch.control, resume=snapshot)
    return Part(watch.losses, watch.seconds, fitted.outcome, fitted.message, watch.snapshot)
