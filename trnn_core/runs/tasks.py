"""Tasks: long or torch-needing work that a page asks for and reads later. No torch here.

    task = start_task(store, "backtest", {"horizon": 4}, run_id=run.run_id)
    task.status()                 # TaskStatus(state="running", done=0.4, message="...", eta_seconds=12.0)
    task.read("scores.parquet")

    store/.tasks/<task_id>/task.json                 what was asked for
                           status.json               how it stands; heartbeat.json while it runs
                           files/<name>~<sha256>     results, each named with its checksum
    store/.tasks/.queue/<kind>/                      tickets
    store/.tasks/.process/<machine>/<kind>/          lock and log of the process that takes tasks of that kind

A task's id is made of its kind, run and arguments, so that two pages that ask for the same share one task. Whoever
changes a task's folder holds its lock; the process that does the work is `trnn_core.runs.task_process`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from trnn_core.errors import TRNNError
from trnn_core.files import (
    explain_os_error,
    is_locked,
    lock,
    read_bytes,
    read_sealed,
    remove_folder,
    sha256,
    temporary_name,
    with_no_error,
    write_sealed,
)
from trnn_core.jobs import tickets
from trnn_core.jobs.processes import identify, last_words, pulse, read_beat
from trnn_core.runs import layout
from trnn_core.runs.jobs import code_root, host_name, plain_environment
from trnn_core.runs.store import RunStore

TaskState = Literal["queued", "running", "done", "failed", "stopped", "interrupted"]
KEPT = ("queued", "running", "done")  # asked for again, these are not done twice
_KIND = re.compile(r"[a-z][a-z0-9_]{0,39}")
_TASK_ID = re.compile(r"[a-z][a-z0-9_]{0,39}-[0-9a-f]{16}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class TaskStatus:
    """Where a task stands: the share done (0 to 1), a sentence, and the seconds it may still take, where known."""

    state: TaskState
    done: float = 0.0
    message: str = ""
    eta_seconds: float | None = None
    seconds: float = 0.0  # of work, waiting not counted
    updated: str = ""  # wall clock of the writer, for people only

    @property
    def is_live(self) -> bool:
        return self.state in ("queued", "running")


class Task:
    """One task folder; cheap to make, and every method looks at the disk."""

    def __init__(self, store: RunStore, folder: Path):
        self.store, self.folder, self.task_id = store, folder, folder.name
        asked = read_sealed(folder / "task.json")
        self.kind: str = asked["kind"]
        self.arguments: dict[str, Any] = asked["arguments"]
        self.means: dict[str, Any] = asked.get("means", {})
        self.run_id: str | None = asked["run_id"]
        self.created: str = asked["created"]  # when it was last asked for
        self._host: str = asked["host"]

    def __repr__(self) -> str:
        return f"Task({self.task_id!r}, {self.status().state})"

    def status(self) -> TaskStatus:
        """How it stands now; a task whose process is gone is 'interrupted', whatever its file still says."""
        try:
            found = TaskStatus(**read_sealed(self.folder / layout.STATUS))
        except (TRNNError, TypeError) as e:
            return TaskStatus("interrupted", message=f"The task cannot be read: {e} Start it again.")
        if found.state == "queued":
            return self._waiting(found)
        if found.state != "running":
            return found
        beat = self.folder / layout.HEARTBEAT
        if self.store.watcher.judge(beat) == "dead" and not self._said_more(found):
            return replace(
                found,
                state="interrupted",
                eta_seconds=None,
                message="The process ended before the work was done; start it again.",
            )
        progress = (read_beat(beat) or {}).get("progress") or {}
        return replace(
            found, **{k: v for k, v in progress.items() if k in ("done", "message", "eta_seconds", "seconds")}
        )

    def _said_more(self, found: TaskStatus) -> bool:
        """Whether the status changed between two looks: an ended process writes its last word before it goes."""
        try:
            return TaskStatus(**read_sealed(self.folder / layout.STATUS)).state != found.state
        except (TRNNError, TypeError):
            return False

    def _waiting(self, found: TaskStatus) -> TaskStatus:
        """A queued task is lost when the process that was to take it is gone and no other has come."""
        folder = self.store.root / layout.TASKS / ".process" / self._host / self.kind
        expected = read_beat(self.folder / "expected.json")
        gone = expected is not None and pulse(expected) == "dead" and not is_locked(folder / "lock")
        if not gone or self._said_more(found):
            return found
        words = f"The process that was to do it ended first ({last_words(folder / 'log.txt')}); start it again."
        return replace(found, state="interrupted", message=words)

    def stop(self) -> TaskStatus:
        """Ask it to end; a queued one does so at once, a running one at its next step."""
        status = self.status()
        if status.state == "queued":
            try:
                with lock(self.folder / layout.LOCK, "starting"):
                    if self.status().state == "queued":
                        now = TaskStatus("stopped", message="Stopped while it was waiting.", updated=stamp())
                        write_sealed(self.folder / layout.STATUS, asdict(now))
                        tickets.drop_tickets(queue_folder(self.store, self.kind), self.task_id)
            except TRNNError as e:
                if str(e) != "starting":
                    raise
        if self.status().is_live:
            write_sealed(self.folder / layout.REQUEST, {"action": "stop"})
        return self.status()

    def files(self) -> list[str]:
        """Names of its results so far."""
        return sorted(self._stored())

    def read(self, name: str) -> bytes:
        """A result, compared with its checksum."""
        path = self._stored().get(name)
        if path is None:
            raise TRNNError(f"Task {self.task_id} has no result {name!r}; it has {', '.join(self.files()) or 'none'}.")
        content = read_bytes(path)
        if sha256(content) != path.name.rpartition("~")[2]:
            raise TRNNError(f"{path} is damaged: its content does not match its checksum; start the task again.")
        return content

    def _stored(self) -> dict[str, Path]:
        found: dict[str, Path] = {}
        folder = self.folder / "files"
        paths = [p for p in folder.iterdir() if "~" in p.name] if folder.is_dir() else []
        for path in sorted(paths, key=_changed):  # a kill can leave an older one beside the newest
            found[path.name.rpartition("~")[0]] = path
        return found


def start_task(
    store: RunStore,
    kind: str,
    arguments: dict[str, Any],
    *,
    run_id: str | None = None,
    fresh: bool = False,
    means: dict[str, Any] | None = None,
) -> Task:
    """Ask for work of a kind. One that waits, runs or is done with equal arguments is returned, not done twice.

    A stopped, failed or interrupted one is queued again in its old folder, so that it may go on where it was.
    arguments  plain JSON values, and all that determines the result (the checksum of a run's weights, if it matters)
    fresh      do it again from the start even if it is done
    means      what it is done with and does not change the result (workers, whether on the operator's cluster): no
               part of the task's id
    """
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise TRNNError(f"A task's kind must be a short word in small letters. Got {kind!r:.80} instead.")
    task_id = f"{kind}-{_digest(kind, arguments, run_id)}"
    folder = store.root / layout.TASKS / task_id
    asked = {
        "kind": kind,
        "arguments": arguments,
        "means": means or {},
        "run_id": run_id,
        "created": stamp(),
        "host": host_name(),
    }
    for _ in range(3):  # an old task may be swept away between two looks
        try:
            if not (folder / "task.json").exists():
                _create(folder, asked)
            task = Task(store, folder)
            if fresh or task.status().state not in KEPT:
                _queue_again(task, asked, fresh)
            break
        except TRNNError:
            if folder.exists():
                raise
    if task.status().state == "queued":
        if not tickets.tickets_of(queue_folder(store, kind), task_id):
            tickets.add_ticket(queue_folder(store, kind), task_id)
        _ensure_process(task)
    return Task(store, folder)


def list_tasks(store: RunStore, kind: str | None = None, run_id: str | None = None) -> list[Task]:
    """Tasks of a kind and run, newest first; a damaged one is left out."""
    folder, found = store.root / layout.TASKS, []
    for place in folder.iterdir() if folder.is_dir() else ():
        if _TASK_ID.fullmatch(place.name) and (kind is None or place.name.rpartition("-")[0] == kind):
            try:
                found.append(Task(store, place))
            except (TRNNError, KeyError):
                continue
    chosen = [t for t in found if run_id is None or t.run_id == run_id]
    return sorted(chosen, key=lambda t: (t.created, t.task_id), reverse=True)


def find_task(store: RunStore, task_id: str) -> Task:
    if not isinstance(task_id, str) or not _TASK_ID.fullmatch(task_id):
        raise TRNNError(f"A task id must look like 'backtest-0123456789abcdef'. Got {task_id!r:.80} instead.")
    folder = store.root / layout.TASKS / task_id
    if not (folder / "task.json").exists():
        raise TRNNError(f"There is no task {task_id!r} in {store.root}; it may have been cleared away. Start it again.")
    return Task(store, folder)


def check_name(name: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise TRNNError(f"A result's name must be letters, digits, '.', '_' or '-'. Got {name!r:.80} instead.")
    return name


def queue_folder(store: RunStore, kind: str) -> Path:
    return store.root / layout.TASKS / layout.QUEUE / kind


def process_folder(store: RunStore, kind: str) -> Path:
    return store.root / layout.TASKS / ".process" / host_name() / kind


def stamp() -> str:
    return datetime.now().astimezone().isoformat(timespec="milliseconds")


def _digest(kind: str, arguments: dict[str, Any], run_id: str | None) -> str:
    try:
        return sha256(json.dumps([kind, arguments, run_id], sort_keys=True, allow_nan=False).encode())[:16]
    except (TypeError, ValueError) as e:
        raise TRNNError(
            f"A task's arguments must be plain text, finite numbers, lists and tables of them ({e})."
        ) from e


def _create(folder: Path, asked: dict[str, Any]) -> None:
    """The folder in one step: of two that ask at once, one makes it and the other finds it."""
    new = temporary_name(folder)
    try:
        new.mkdir(parents=True)
        write_sealed(new / "task.json", asked)
        write_sealed(
            new / layout.STATUS, asdict(TaskStatus("queued", message="Waiting to be started.", updated=stamp()))
        )
        (new / layout.LOCK).touch()
        new.rename(folder)
    except OSError as e:
        remove_folder(new)
        if not (folder / "task.json").exists():
            raise explain_os_error(e, folder) from e


def _queue_again(task: Task, asked: dict[str, Any], fresh: bool) -> None:
    try:
        with lock(task.folder / layout.LOCK, "busy"):
            if not fresh and task.status().state in KEPT:
                return  # somebody else was faster
            for name in (layout.REQUEST, "expected.json"):
                with_no_error((task.folder / name).unlink)
            if fresh:
                remove_folder(task.folder / "files")
            write_sealed(task.folder / "task.json", asked)
            waiting = TaskStatus("queued", message="Waiting to be started.", updated=stamp())
            write_sealed(task.folder / layout.STATUS, asdict(waiting))
    except TRNNError as e:
        if str(e) != "busy":  # it is being done at this moment
            raise


def process_command(store: RunStore, kind: str) -> list[str]:
    return [sys.executable, "-m", "trnn_core", "task", kind, "--runs", str(store.root.resolve())]


def _ensure_process(task: Task) -> None:
    """See to it that a process for this kind of task is there, and note in the task which one it is."""
    folder = process_folder(task.store, task.kind)
    if is_locked(folder / "lock"):
        present = read_beat(folder / "process.json")
        if present is not None:
            write_sealed(task.folder / "expected.json", present, durable=False)
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / layout.LOG).open("ab") as output:
            process = subprocess.Popen(
                process_command(task.store, task.kind),
                cwd=code_root(),
                env=plain_environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
    except OSError as e:
        raise explain_os_error(e, folder) from e
    write_sealed(task.folder / "expected.json", identify(process.pid).to_json(), durable=False)
    threading.Thread(target=process.wait, daemon=True, name="reaper").start()  # else it would stay as a zombie


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
