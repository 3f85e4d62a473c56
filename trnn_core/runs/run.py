"""Runs: what is known of a training, read from its folder without torch and without disturbing its writer.

Every reader tolerates a run in the middle of being written. What changes while a run lives: status.json, history.jsonl,
heartbeat.json, checkpoints/. What must not rot is listed with its SHA-256 in manifest.json once the run has ended.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trnn_core.errors import TRNNError
from trnn_core.files import lock, read_bytes, read_sealed, sha256, with_no_error
from trnn_core.jobs import queue
from trnn_core.jobs.job import Job, JobStatus, Request, State
from trnn_core.jobs.processes import Watcher, pulse, read_beat
from trnn_core.runs import layout
from trnn_core.runs.checkup import Checkup, find_damage
from trnn_core.training import checkpoints
from trnn_core.training.config import Recipe

if TYPE_CHECKING:
    import pandas as pd

    from trnn_core.models.forecast import Forecast
    from trnn_core.models.hindcast import Hindcast

ENDED = ("stopped", "finished", "cancelled", "failed", "diverged")
RESUMABLE = ("paused", "stopped", "cancelled", "failed", "interrupted", "damaged")
HISTORY_COLUMNS = ("epoch", "train_loss", "val_loss", "regulariser", "lr", "grad_norm", "seconds")
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")


def check_run_id(run_id: str) -> str:
    """A run's id is also its folder's name: letters, digits, '-' and '_' only, so that it can never lead elsewhere."""
    if not isinstance(run_id, str) or not _RUN_ID.fullmatch(run_id):
        raise TRNNError(
            "A run id must be 1 to 80 letters, digits, '-' or '_', beginning with a letter or digit. Got"
            f" {run_id!r:.100} instead."
        )
    return run_id


@dataclass(frozen=True)
class Status(JobStatus):
    """Where a run stands, with a sentence on why; `seconds` are those of training, pauses not counted."""

    epoch: int = 0
    epochs: int = 0
    best_epoch: int | None = None
    best_val_loss: float | None = None
    n_windows: int = 0  # training windows per epoch, for examples per second

    @property
    def can_resume(self) -> bool:
        return self.state in RESUMABLE


class Run(Job):
    """One run folder: a training job, which can also be paused and resumed. Cheap to make again at every look."""

    status_class = Status
    requests = ("stop", "pause", "cancel")
    forced: State = "interrupted"

    def __init__(self, folder: Path, watcher: Watcher | None = None):
        super().__init__(folder, watcher)
        self.checkup: Checkup | None = None  # set by a store: then a damaged run says so in its status

    @property
    def run_id(self) -> str:
        return self.job_id

    @property
    def root(self) -> Path:
        return self.folder.parent

    @property
    def threads(self) -> int:  # type: ignore[override]
        return self.recipe.train.threads

    @cached_property
    def config(self) -> dict[str, Any]:
        """What was asked for: recipe, data in words, versions. Written once, in two copies."""
        try:
            return read_sealed(self.folder / layout.CONFIG)
        except TRNNError:
            if not (self.folder / layout.CONFIG_COPY).exists():
                raise
            return read_sealed(self.folder / layout.CONFIG_COPY)

    @cached_property
    def recipe(self) -> Recipe:
        return Recipe(**self.config["recipe"])

    def labels(self) -> dict[str, Any]:
        """The name and tags a person gave the run."""
        try:
            return {"name": self.run_id, "tags": [], **read_sealed(self.folder / layout.LABELS)}
        except TRNNError:
            return {"name": self.run_id, "tags": []}

    @property
    def name(self) -> str:
        return self.labels()["name"]

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(self.labels()["tags"])

    def status(self) -> Status:
        """Where the run stands now; a run whose process is gone is 'interrupted', whatever its file still says."""
        found = super().status()
        assert isinstance(found, Status)
        if self.checkup is not None and not found.is_live and (damage := self.checkup.damage(self)):
            return replace(found, state="damaged", message=damage)
        return replace(found, done=max(found.done, min(found.epoch / max(found.epochs, 1), 1.0)))

    def unreadable(self, error: Exception) -> Status:
        epochs = checkpoints.list_epochs(self.folder / layout.CHECKPOINTS)
        return Status("damaged", f"The status cannot be read: {error}", epoch=epochs[-1] if epochs else 0)

    def way_on(self, found: JobStatus) -> str:
        assert isinstance(found, Status)
        return f"{found.epoch} of {found.epochs} epochs are safe. Resume to go on exactly from there."

    def with_progress(self, found: JobStatus, progress: Mapping[str, Any]) -> JobStatus:
        """The epoch that it is in counts by its batches."""
        assert isinstance(found, Status)
        if not progress.get("n_steps") or not found.epochs:
            return found
        share = max(progress["epoch"] - 1, 0) + progress["step"] / progress["n_steps"]
        return replace(found, done=min(share / found.epochs, 1.0))

    def ask(self, action: Request = "stop") -> Status:
        """Stop (keeping the best weights), pause or cancel; what waits or can be resumed does so at once."""
        status = self.status()
        if action == "cancel" and status.can_resume:
            with lock(self.folder / layout.LOCK, f"Run {self.run_id} is being trained again; try once more."):
                words = f"Cancelled while it was {status.state}."
                self.write_status(replace(self.status(), state="cancelled", message=words))
        elif not status.is_live:
            raise TRNNError(
                f"Run {self.run_id} must be queued or running to {action} it. It is {status.state} instead."
            )
        else:
            super().ask(action)
        return self.status()

    def is_leaving(self) -> bool:
        process = (read_beat(self.folder / layout.HEARTBEAT) or {}).get("process")
        return process is not None and process["pid"] != os.getpid() and pulse(process) == "alive"

    def resume(self) -> Run:
        """Queue it again; it goes on exactly from its newest checkpoint."""
        with lock(self.folder / layout.LOCK, f"Run {self.run_id} is still being trained; nothing to resume."):
            status = self.check_resumable()
            with_no_error((self.folder / layout.REQUEST).unlink)
            self.add_ticket()  # before the lock is let go: whoever tells how the last job ended sees it
            self.write_status(replace(status, state="queued", message=""))
        return self

    def add_ticket(self) -> None:
        queue.add_ticket(self.root, layout.TRAIN, self.run_id)

    def check_resumable(self) -> Status:
        """How it stands; refused, in words, when it is at work or done."""
        status = self.status()
        if status.is_live:
            raise TRNNError(f"Run {self.run_id} is already {status.state}; nothing to resume.")
        if status.state == "finished":
            raise TRNNError(f"Run {self.run_id} is finished; start a new run with more epochs to train longer.")
        if status.state == "diverged":
            raise TRNNError(
                f"Run {self.run_id} diverged and would do so again; start a new run with a smaller learning rate."
            )
        return status

    def history(self) -> list[dict[str, Any]]:
        """A row per finished epoch; a torn last line is left out."""
        return parse_history(_read_if_there(self.folder / layout.HISTORY))

    def history_frame(self) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(self.history(), columns=list(HISTORY_COLUMNS))

    def summary(self) -> dict[str, Any] | None:
        """Figures of the trained network (losses, skill against persistence); None until the run has ended."""
        path = self.folder / layout.SUMMARY
        return read_sealed(path) if path.exists() else None

    def forecast(self) -> Forecast | None:
        """What is expected after the last period; None until the run has ended."""
        content = self.read_checked(layout.FORECAST)
        from trnn_core.models.forecast import Forecast  # a list of runs need not wait for it

        return None if content is None else Forecast.from_npz(content, self.folder / layout.FORECAST)

    def hindcast(self) -> Hindcast | None:
        """What the run would have forecast before each validation and test period; None for runs that kept none."""
        content = self.read_checked(layout.HINDCAST)
        from trnn_core.models.hindcast import Hindcast

        return None if content is None else Hindcast.from_npz(content, self.folder / layout.HINDCAST)

    def weights(self) -> dict[str, np.ndarray] | None:
        """The best weights so far; while training, those of the best checkpoint."""
        content = self.read_checked(layout.WEIGHTS)
        if content is not None:
            return checkpoints.bytes_to_arrays(content, self.folder / layout.WEIGHTS)
        return self.best_checkpoint_weights()

    def best_checkpoint_weights(self) -> dict[str, np.ndarray] | None:
        folder = self.folder / layout.CHECKPOINTS
        newest, _, _ = checkpoints.newest_good(folder)
        if newest is None:
            return None
        best = folder / f"{newest.best_epoch:06d}"
        if checkpoints.find_damage(best):
            return newest.weights
        return checkpoints.load_checkpoint(best)[0].weights

    def read_checked(self, name: str) -> bytes | None:
        """A file's content, compared with the manifest where there is one; None when there is no such file."""
        path = self.folder / name
        if not path.exists():
            return None
        content = read_bytes(path)
        expected = self.manifest().get(name)
        if expected is not None and sha256(content) != expected:
            raise TRNNError(f"{path} is damaged: its content does not match its checksum; train the run again.")
        return content

    def manifest(self) -> dict[str, str]:
        path = self.folder / layout.MANIFEST
        return read_sealed(path)["files"] if path.exists() else {}

    def verify(self) -> list[str]:
        """Every damage found by reading all files against their checksums; empty when the run is whole."""
        return find_damage(self)

    def disk_usage(self) -> int:
        """Bytes on disk."""
        return sum(p.stat().st_size for p in self.folder.rglob("*") if p.is_file())


def is_run_folder(folder: Path) -> bool:
    return any((folder / name).exists() for name in (layout.CONFIG, layout.CONFIG_COPY))


def load_run(run_id: str, store: str | Path = "runs") -> Run:
    """The run of that id in a store."""
    folder = Path(store) / check_run_id(run_id)
    if not is_run_folder(folder):
        raise TRNNError(
            f"There is no run {run_id!r} in {Path(store)}; `python -m trnn_core runs` lists those there are."
        )
    return Run(folder)


def parse_history(content: bytes) -> list[dict[str, Any]]:
    """Whole rows of a history file, in order, without the torn last line of a writer at work."""
    rows: list[dict[str, Any]] = []
    for line in content[: content.rfind(b"\n") + 1].splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            break
        if not isinstance(row, dict) or row.get("epoch") != len(rows) + 1:
            break
        rows.append(row)
    return rows


def _read_if_there(path: Path) -> bytes:
    return read_bytes(path) if path.exists() else b""
