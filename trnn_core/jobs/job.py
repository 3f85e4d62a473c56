"""A job: long or torch-needing work in a folder of its own, done by a process of its own. No torch here.

The folder has the verb and its request, how it stands, a heartbeat while it runs, what somebody asks of it meanwhile,
and results named with their checksums. A training run is a job too (`trnn_core.runs.run.Run`). Whoever changes a job's
folder holds its lock.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from trnn_core.errors import TRNNError
from trnn_core.files import (
    Busy,
    is_locked,
    lock,
    read_bytes,
    read_sealed,
    sha256,
    write_sealed,
)
from trnn_core.jobs import queue
from trnn_core.jobs.folder import ASKED, HEARTBEAT, LOCK, REQUEST, RESULTS, STATUS
from trnn_core.jobs.processes import Watcher, read_beat

State = Literal[
    "queued",
    "running",
    "paused",
    "stopped",
    "finished",
    "done",
    "cancelled",
    "failed",
    "diverged",
    "interrupted",
    "damaged",
]
Request = Literal["stop", "pause", "cancel"]
OUTCOME_OF: dict[Request, Literal["stopped", "paused", "cancelled"]] = {
    "stop": "stopped",
    "pause": "paused",
    "cancel": "cancelled",
}


@dataclass(frozen=True)
class JobStatus:
    """Where a job stands: a sentence, the share done (0 to 1), and the seconds it may still take, where known."""

    state: State
    message: str = ""
    done: float = 0.0
    eta_seconds: float | None = None
    seconds: float = 0.0  # of work, waiting not counted
    updated: str = ""  # wall clock of the writer, for people only

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        known = {f.name for f in fields(cls)}
        return cls(**{k: v for k, v in found.items() if k in known})

    @property
    def is_live(self) -> bool:
        return self.state in ("queued", "running")


class Job:
    """One job folder; cheap to make, and every method looks at the disk."""

    status_class: type[JobStatus] = JobStatus
    requests: tuple[Request, ...] = ("stop",)  # what may be asked of it
    forced: State = "stopped"  # its state when it did not answer and was ended
    threads = 1  # of its process

    def __init__(self, folder: Path, watcher: Watcher | None = None):
        self.folder = Path(folder)
        self.job_id = self.folder.name
        self.watcher = watcher or Watcher()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.job_id!r}, {self.status().state})"

    @property
    def root(self) -> Path:
        """The store it is in."""
        return self.folder.parents[1]

    @cached_property
    def asked(self) -> dict[str, Any]:
        """What was asked for; older folders say it in other words."""
        found = read_sealed(self.folder / ASKED)
        for new, old in (("verb", "kind"), ("request", "arguments"), ("resources", "means")):
            found.setdefault(new, found.get(old, {}))
        return found

    @property
    def verb(self) -> str:
        return self.asked["verb"]

    @property
    def request(self) -> dict[str, Any]:
        return self.asked["request"]

    @property
    def resources(self) -> dict[str, Any]:
        """What it is done with and does not change the result."""
        return self.asked["resources"]

    @property
    def run_id(self) -> str | None:
        """The run it is about, if any."""
        return self.asked["run_id"]

    @property
    def created(self) -> str:
        """When it was last asked for."""
        return self.asked["created"]

    def status(self) -> JobStatus:
        """How it stands now; a job whose process is gone is 'interrupted', whatever its file still says."""
        try:
            found = self.status_class.from_json(read_sealed(self.folder / STATUS))
        except (TRNNError, TypeError) as e:
            return self.unreadable(e)
        if found.state == "queued":
            return replace(found, message=queue.why_waiting(self.root, self.job_id))
        if found.state != "running":
            return found
        if self.watcher.judge(self.folder / HEARTBEAT) == "dead":
            if self._said_more():
                return self.status()
            words = f"The process ended before the work was done; {self.way_on(found)}"
            return replace(found, state="interrupted", eta_seconds=None, message=words)
        return self.with_progress(found, (read_beat(self.folder / HEARTBEAT) or {}).get("progress") or {})

    def unreadable(self, error: Exception) -> JobStatus:
        return JobStatus("interrupted", f"The job cannot be read: {error} Start it again.")

    def way_on(self, found: JobStatus) -> str:
        """What to do about a job that did not come to its end."""
        return "start it again."

    def with_progress(self, found: JobStatus, progress: Mapping[str, Any]) -> JobStatus:
        """A status with what the last heartbeat says."""
        known = ("done", "message", "eta_seconds", "seconds")
        return replace(found, **{k: v for k, v in progress.items() if k in known})

    def _said_more(self) -> bool:
        """Whether the status has changed between two looks: a process writes its last word before it ends."""
        try:
            return read_sealed(self.folder / STATUS)["state"] != "running"
        except (TRNNError, KeyError):
            return False

    def write_status(self, status: JobStatus) -> None:
        write_sealed(self.folder / STATUS, asdict(replace(status, updated=stamp())))

    def ask(self, action: Request = "stop") -> JobStatus:
        """Ask it to end; a queued one does so at once, a running one at its next step."""
        if action not in self.requests:
            raise TRNNError(f"A job may be asked to {', '.join(self.requests)}. Got {action!r:.40} instead.")
        if self.status().state == "queued":
            try:
                with lock(self.folder / LOCK, "it is just starting"):
                    if (now := self.status()).state == "queued":
                        words = f"{OUTCOME_OF[action].capitalize()} while it was waiting."
                        self.write_status(replace(now, state=OUTCOME_OF[action], message=words))
                        queue.drop_tickets(self.root, self.job_id)
            except Busy:
                pass  # it has started: the request is for its process
        if self.status().is_live:
            write_sealed(self.folder / REQUEST, {"action": action})
        return self.status()

    def stop(self) -> JobStatus:
        return self.ask("stop")

    @property
    def is_asked_to_end(self) -> bool:
        return (self.folder / REQUEST).exists()

    def wait(self, seconds: float = 60.0) -> JobStatus:
        """Wait until it is neither queued nor running, and its process has left it."""
        deadline = time.monotonic() + seconds
        while ((status := self.status()).is_live or self.is_leaving()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return status

    def is_leaving(self) -> bool:
        """Whether the process of a job that has ended is still there for it."""
        return is_locked(self.folder / LOCK)

    def files(self) -> list[str]:
        """Names of its results so far."""
        return sorted(self._stored())

    def read(self, name: str) -> bytes:
        """A result, compared with its checksum."""
        path = self._stored().get(name)
        if path is None:
            raise TRNNError(f"Job {self.job_id} has no result {name!r}; it has {', '.join(self.files()) or 'none'}.")
        content = read_bytes(path)
        if sha256(content) != path.name.rpartition("~")[2]:
            raise TRNNError(f"{path} is damaged: its content does not match its checksum; start the job again.")
        return content

    def _stored(self) -> dict[str, Path]:
        folder = self.folder / RESULTS
        paths = [p for p in folder.iterdir() if "~" in p.name] if folder.is_dir() else []
        # A kill can leave an older one beside the newest.
        return {path.name.rpartition("~")[0]: path for path in sorted(paths, key=_changed)}


def stamp() -> str:
    return datetime.now().astimezone().isoformat(timespec="milliseconds")


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
