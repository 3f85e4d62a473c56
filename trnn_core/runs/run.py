"""Runs: what is known of a training, read from its folder without torch and without disturbing its writer.

Every reader tolerates a run in the middle of being written. What changes while a run lives: status.json, history.jsonl,
heartbeat.json, checkpoints/. What must not rot is listed with its SHA-256 in manifest.json once the run has ended.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from trnn_core.errors import TRNNError
from trnn_core.files import read_bytes, read_sealed, sha256
from trnn_core.jobs.processes import Watcher
from trnn_core.models.forecast import Forecast
from trnn_core.models.hindcast import Hindcast
from trnn_core.runs import layout
from trnn_core.runs.checkup import Checkup
from trnn_core.training import checkpoints
from trnn_core.training.config import Recipe

if TYPE_CHECKING:
    import pandas as pd

State = Literal[
    "queued", "running", "paused", "stopped", "finished", "cancelled", "failed", "diverged", "interrupted", "damaged"
]
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
class Status:
    """Where a run stands, with a sentence on why."""

    state: State
    message: str = ""
    epoch: int = 0
    epochs: int = 0
    best_epoch: int | None = None
    best_val_loss: float | None = None
    eta_seconds: float | None = None
    seconds: float = 0.0  # training time so far, pauses not counted
    n_windows: int = 0  # training windows per epoch, for examples per second
    updated: str = ""  # wall clock of the writer, for people only

    @property
    def is_live(self) -> bool:
        return self.state in ("queued", "running")

    @property
    def can_resume(self) -> bool:
        return self.state in RESUMABLE


class Run:
    """One run folder. Reads only; cheap to make, and to make again at every look."""

    def __init__(self, folder: Path, watcher: Watcher | None = None):
        self.folder = Path(folder)
        self.run_id = self.folder.name
        self.watcher = watcher or Watcher()
        self.checkup: Checkup | None = None  # set by a store: then a damaged run says so in its status

    def __repr__(self) -> str:
        return f"Run({self.run_id!r}, {self.status().state})"

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
        try:
            found = read_sealed(self.folder / layout.STATUS)
            status = Status(**{k: v for k, v in found.items() if k in Status.__dataclass_fields__})
        except (TRNNError, TypeError) as e:
            epochs = checkpoints.list_epochs(self.folder / layout.CHECKPOINTS)
            return Status("damaged", f"The status cannot be read: {e}", epoch=epochs[-1] if epochs else 0)
        if status.state == "running" and self.watcher.judge(self.folder / layout.HEARTBEAT) == "dead":
            words = (
                f"The process ended without finishing; {status.epoch} of {status.epochs} epochs are safe. Resume to go"
                " on exactly from there."
            )
            return Status(**{**status.__dict__, "state": "interrupted", "message": words, "eta_seconds": None})
        if self.checkup is not None and not status.is_live and (damage := self.checkup.damage(self)):
            return Status(**{**status.__dict__, "state": "damaged", "message": damage})
        return status

    def progress(self) -> dict[str, Any]:
        """Epoch and batch the running job is at, as of its last heartbeat."""
        try:
            return read_sealed(self.folder / layout.HEARTBEAT)["progress"]
        except TRNNError:
            return {}

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
        return None if content is None else Forecast.from_npz(content, self.folder / layout.FORECAST)

    def hindcast(self) -> Hindcast | None:
        """What the run would have forecast before each validation and test period; None for runs that kept none."""
        content = self.read_checked(layout.HINDCAST)
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
        damage: list[str] = []
        for name in layout.SEALED:
            path = self.folder / name
            if path.exists() or name in (layout.CONFIG, layout.STATUS):
                damage += _problem(read_sealed, path)
        for epoch in checkpoints.list_epochs(self.folder / layout.CHECKPOINTS):
            damage += checkpoints.find_damage(self.folder / layout.CHECKPOINTS / f"{epoch:06d}")
        try:
            for name in self.manifest():
                if not (self.folder / name).exists():
                    damage.append(f"{self.folder / name} is missing")
                damage += _problem(self.read_checked, name)
        except TRNNError:
            pass  # told above
        return damage + self._verify_history()

    def _verify_history(self) -> list[str]:
        """Between checkpoint and manifest: the history must begin with, or be the beginning of, the checkpoint's
        copy."""
        try:
            _, kept, _ = checkpoints.newest_good(self.folder / layout.CHECKPOINTS)
        except TRNNError:
            return []
        found = _read_if_there(self.folder / layout.HISTORY)
        found = found[: found.rfind(b"\n") + 1]
        shared = min(len(found), len(kept))
        if found[:shared] != kept[:shared]:
            return [f"{self.folder / 'history.jsonl'} does not match the copy in its checkpoint"]
        return []

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


def _problem(read: Any, argument: Any) -> list[str]:
    try:
        read(argument)
        return []
    except TRNNError as e:
        return [str(e)]
