"""The run folder as a listener of the trainer: the one writer of a run, from lock to manifest."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from trnn_core.errors import TRNNError
from trnn_core.files import (
    append,
    explain_os_error,
    is_disk_full,
    lock,
    read_bytes,
    read_sealed,
    remove_folder,
    sha256,
    sweep_temporaries,
    with_no_error,
    write_atomic,
    write_sealed,
)
from trnn_core.jobs.job import State
from trnn_core.jobs.processes import Heartbeat, is_memory_error
from trnn_core.runs import layout
from trnn_core.runs.flusher import Flusher
from trnn_core.runs.run import Run, Status, parse_history
from trnn_core.training import checkpoints
from trnn_core.training.checkpoints import Snapshot
from trnn_core.training.config import TrainConfig
from trnn_core.training.events import EpochDone, Event, Request, Started, StepDone

RESERVE_BYTES = 64 * 1024  # given up when the disk is full, so that the run can still say so
LOOK_SECONDS = 0.1  # between two looks for a request


class Recorder:
    """Writes what the trainer tells into a run folder; made by `record`, which holds the run's lock."""

    def __init__(self, run: Run, heartbeat: Heartbeat):
        self.run, self.folder, self.heartbeat = run, run.folder, heartbeat
        self.train: TrainConfig = run.recipe.train
        self.history = b""
        self.snapshot_epoch = 0
        self.repairs: list[str] = list(run.config.get("notes", []))
        self.status = Status("running", epochs=self.train.epochs)
        self.flusher = Flusher(self.folder / layout.CHECKPOINTS)
        self._asked_at = -math.inf

    def __call__(self, event: Event) -> None:
        if isinstance(event, EpochDone):
            self._epoch(event)
        elif isinstance(event, StepDone):
            self.heartbeat.progress = {
                "epoch": event.epoch,
                "step": event.step,
                "n_steps": event.n_steps,
                "loss": event.loss,
            }
        elif isinstance(event, Started):
            self.write_status(state="running", message="; ".join(self.repairs), n_windows=event.n_windows)

    def _epoch(self, event: EpochDone) -> None:
        line = json.dumps(event.row, allow_nan=False).encode() + b"\n"
        self.history += line
        due = event.epoch % self.train.checkpoint_every == 0 or event.epoch in (event.best_epoch, event.epochs)
        if due:
            # The checkpoint first: it holds this row too, so that a kill in between loses nothing.
            checkpoints.save_checkpoint(self.folder / layout.CHECKPOINTS, event.snapshot(), self.history)
            self.flusher.submit(event.epoch)
        append(self.folder / layout.HISTORY, line)
        self.write_status(
            durable=False,
            epoch=event.epoch,
            best_epoch=event.best_epoch,
            best_val_loss=event.best_val_loss,
            eta_seconds=round(event.eta_seconds, 3),
            seconds=round(self.status.seconds + event.row["seconds"], 6),
        )

    def resume_state(self) -> Snapshot | None:
        """The newest whole checkpoint, with history.jsonl brought back to it; None for a run that has none."""
        folder = self.folder / layout.CHECKPOINTS
        for name in (layout.MANIFEST, layout.EXPLANATION):  # of an earlier end: what follows will differ
            with_no_error((self.folder / name).unlink)
        snapshot, self.history, problems = checkpoints.newest_good(folder)
        self.repairs += [f"A damaged checkpoint was left out ({p})" for p in problems]
        for epoch in checkpoints.list_epochs(folder):
            if snapshot is None or epoch > snapshot.epoch:
                remove_folder(folder / f"{epoch:06d}")
        path = self.folder / layout.HISTORY
        if not path.exists() or read_bytes(path) != self.history:
            write_atomic(path, self.history)
        if snapshot is None:
            return None
        rows = parse_history(self.history)
        state = snapshot.state
        self.status = replace(
            self.status,
            epoch=snapshot.epoch,
            best_epoch=state["best_epoch"],
            best_val_loss=state["best_val_loss"],
            seconds=round(sum(row["seconds"] for row in rows), 6),
        )
        return replace(snapshot, history=rows, best_weights=self._best_weights(snapshot))

    def _best_weights(self, snapshot: Snapshot) -> checkpoints.Arrays | None:
        if snapshot.best_epoch == snapshot.epoch:
            return None
        try:
            best, _ = checkpoints.load_checkpoint(self.folder / layout.CHECKPOINTS / f"{snapshot.best_epoch:06d}")
            return best.weights
        except TRNNError as e:
            self.repairs.append(
                f"The best checkpoint, of epoch {snapshot.best_epoch}, is lost ({e}); that of epoch {snapshot.epoch}"
                " stands in"
            )
            return None

    def control(self) -> Request | None:
        """What a page or a command has asked this run to do; looked up a few times a second."""
        if (now := time.monotonic()) - self._asked_at < LOOK_SECONDS:
            return None
        self._asked_at = now
        path = self.folder / layout.REQUEST
        if not path.exists():
            return None
        try:
            asked = read_sealed(path)["action"]
        except (TRNNError, KeyError):
            return None
        if asked not in self.run.requests:
            return None
        self.heartbeat.heard = True  # whoever asked knows now that it will end
        return asked

    def finishing(self, outcome: str) -> None:
        """The training is over, and what follows takes its time: whatever is asked of the run now has been heard."""
        self.heartbeat.heard = True
        words = "forecasting with the best weights."
        words = f"Stopping: {words}" if outcome == "stopped" else words.capitalize()
        self.write_status(message=words, eta_seconds=0.0)

    def write_status(self, *, durable: bool = True, **changes: Any) -> None:
        self.status = replace(self.status, **changes, updated=datetime.now().astimezone().isoformat(timespec="seconds"))
        write_sealed(self.folder / layout.STATUS, self.status.__dict__, durable=durable)

    def finish(self, state: State, message: str, files: Mapping[str, bytes]) -> None:
        """Write the results, then the checksums of all that must not rot, then the final word."""
        for name, content in files.items():
            write_atomic(self.folder / name, content)
        write_manifest(self.folder)
        words = ". ".join([message.rstrip("."), *self.repairs]).rstrip(".") + "."
        self.write_status(state=state, message=words, eta_seconds=None)

    def fail(self, state: State, message: str) -> None:
        """The last word of a run that cannot go on; room for it was kept aside."""
        with_no_error((self.folder / layout.RESERVE).unlink)
        try:
            self.write_status(state=state, message=message, eta_seconds=None)
        except TRNNError:
            return  # not even that: readers will see a process that is gone, and call it interrupted


@contextmanager
def record(run: Run) -> Iterator[Recorder]:
    """Become the one writer of a run: lock, clean up after a killed writer, heartbeat; any error becomes its status."""
    busy = f"Run {run.run_id} is already being trained by another process; wait for it, or stop it first."
    with lock(run.folder / layout.LOCK, busy):
        for folder in (run.folder, run.folder / layout.CHECKPOINTS):
            sweep_temporaries(folder, spare=layout.SHARED)
        _make_reserve(run.folder)
        with Heartbeat(run.folder / layout.HEARTBEAT) as heartbeat:
            recorder = Recorder(run, heartbeat)
            try:
                yield recorder
                recorder.flusher.close()
            except BaseException as e:
                with suppress(BaseException):  # its own error, if any, is the one being told
                    recorder.flusher.close()
                recorder.fail("failed", failure_words(e))
                raise
            finally:
                with_no_error((run.folder / layout.RESERVE).unlink)
                with_no_error((run.folder / layout.REQUEST).unlink)


def write_manifest(folder: Path) -> None:
    """The SHA-256 of every result in a run folder; what changes, or carries its own checksum, is left out."""
    names = sorted(p.name for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    files = {name: sha256(read_bytes(folder / name)) for name in names if name not in layout.UNLISTED}
    write_sealed(folder / layout.MANIFEST, {"files": files})


def add_results(run: Run, files: Mapping[str, bytes]) -> None:
    """Put further results (a backtest, an explanation) into a run that has ended, each whole and with its checksum."""
    busy = f"Run {run.run_id} is being trained; results can be added when it has ended."
    with lock(run.folder / layout.LOCK, busy):
        if damage := run.verify():
            raise TRNNError(f"Results are added to whole runs only. Run {run.run_id} is damaged: {damage[0]}.")
        for name, content in files.items():
            if Path(name).name != name or name.startswith(".") or name in layout.UNLISTED:
                raise TRNNError(f"A result must be a plain file name of its own. Got {name!r} instead.")
            write_atomic(run.folder / name, content)
        write_manifest(run.folder)


def failure_words(error: BaseException) -> str:
    """Why a job ended, for its status."""
    if isinstance(error, TRNNError):
        return str(error)
    if isinstance(error, MemoryError) or is_memory_error(str(error)):
        return "The job ran out of memory; choose a smaller hidden shape, batch size or set of countries, then resume."
    if isinstance(error, KeyboardInterrupt):
        return "The job was interrupted from the keyboard; resume to go on from the last finished epoch."
    return f"The job failed unexpectedly ({type(error).__name__}: {error}); the job's log has the details."


def _make_reserve(folder: Path) -> None:
    path = folder / layout.RESERVE
    try:
        with path.open("wb") as file:
            file.write(bytes(RESERVE_BYTES))
            file.flush()
            os.fsync(file.fileno())  # some file systems find out only now that there is no room
    except OSError as e:
        with_no_error(path.unlink)
        if is_disk_full(e):
            raise explain_os_error(e, folder) from e
