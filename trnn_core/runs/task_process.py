"""The process that does tasks of one kind: takes waiting ones, and stays warm for a while when there are none."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from trnn_core.errors import TRNNError
from trnn_core.files import (
    explain_os_error,
    lock,
    read_sealed,
    remove_folder,
    sha256,
    sweep_temporaries,
    with_no_error,
    write_atomic,
    write_sealed,
)
from trnn_core.jobs import tickets
from trnn_core.jobs.processes import Heartbeat, identify
from trnn_core.runs import layout
from trnn_core.runs.store import RunStore
from trnn_core.runs.tasks import (
    Task,
    TaskState,
    TaskStatus,
    check_name,
    list_tasks,
    process_folder,
    queue_folder,
    stamp,
)

log = logging.getLogger(__name__)

POLL_SECONDS = 0.05
GRACE_SECONDS = 30.0  # for a task to notice that it is asked to stop, before its process is ended
KEEP_TASKS, KEEP_DAYS, MOST_TASKS = 50, 7, 1000  # of each kind; the last bound holds whatever their age
LOG_BYTES = 2_000_000


class TaskContext:
    """What a task's `run(context)` is given."""

    def __init__(self, task: Task, heartbeat: Heartbeat, ending: threading.Event):
        self.arguments, self.means, self.store, self.run_id = task.arguments, task.means, task.store, task.run_id
        self.task_id, self.folder = task.task_id, task.folder
        self._heartbeat, self._ending = heartbeat, ending
        self._begun = time.monotonic()
        self._from: tuple[float, float] | None = (
            None  # share and time when work began to show: a resumed task starts late
        )
        self.heard = False  # whether the task was told to stop

    def progress(self, done: float, message: str, guess: float | None = None) -> None:
        """Tell the share done, 0 to 1, and what is being done; the time it may still take follows from the pace.

        guess    seconds it may still take, for as long as there is no pace to tell it from
        """
        now = time.monotonic()
        if self._from is None and done > 0:
            self._from = (done, now)
        gained, spent = (done - self._from[0], now - self._from[1]) if self._from else (0.0, 0.0)
        eta = round(spent * (1 - done) / gained, 1) if gained > 0 else guess
        self._heartbeat.progress = {
            "done": min(1.0, max(0.0, float(done))),
            "message": message,
            "eta_seconds": eta,
            "seconds": round(now - self._begun, 3),
        }

    def stopping(self) -> bool:
        """Whether to end now: somebody asked, or the machine is being shut down. Return soon after it says True."""
        self.heard = self.heard or self._ending.is_set() or (self.folder / layout.REQUEST).exists()
        return self.heard

    def write(self, name: str, content: bytes) -> None:
        """Keep a result, whole or not at all, under a name that carries its checksum; an older one gives way."""
        folder = self.folder / "files"
        try:
            folder.mkdir(exist_ok=True)
        except OSError as e:
            raise explain_os_error(e, folder) from e
        path = folder / f"{check_name(name)}~{sha256(content)}"
        write_atomic(path, content)
        for old in folder.glob(f"{name}~*"):
            if old != path:
                with_no_error(old.unlink)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._begun


class TaskProcess:
    """Takes tasks of one kind until none has come for `idle` seconds.

    load    gives the function that does one task; called when the first one comes
    """

    def __init__(self, store: RunStore, kind: str, load: Callable[[], Callable[[TaskContext], None]], idle: float):
        self.store, self.kind, self.load, self.idle = store, kind, load, idle
        self.ending = threading.Event()
        self.folder = process_folder(store, kind)

    def run(self) -> None:
        """Work; leave at once when such a process is there already on this machine."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise explain_os_error(e, self.folder) from e
        while True:
            try:
                with lock(self.folder / "lock", "busy"):
                    write_sealed(self.folder / "process.json", identify().to_json(), durable=False)
                    self._work()
            except TRNNError as e:
                if str(e) == "busy":
                    return
                raise
            # Whoever queued a task while we were leaving saw the lock and started nobody: look once more.
            if self.ending.is_set() or not tickets.waiting(queue_folder(self.store, self.kind)):
                return

    def end(self) -> None:
        """Leave; the task at work is left unfinished and can be started again."""
        self.ending.set()

    def _work(self) -> None:
        repair_queue(self.store, self.kind)
        sweep(self.store, self.kind)
        busy_at = time.monotonic()
        while not self.ending.is_set():
            names = tickets.waiting(queue_folder(self.store, self.kind))
            for name in names:
                if not self.ending.is_set():
                    self.take(name)
            if names:
                busy_at = time.monotonic()
                sweep(self.store, self.kind)
            elif time.monotonic() - busy_at > self.idle or not self.store.root.is_dir():
                return
            self.ending.wait(POLL_SECONDS)

    def take(self, task_id: str) -> bool:
        """Do a task unless another process does it or has done it; its lock decides."""
        folder = self.store.root / layout.TASKS / task_id
        try:
            with lock(folder / layout.LOCK, "busy", patience=0.2):
                state = read_sealed(folder / layout.STATUS)["state"]
                tickets.drop_tickets(queue_folder(self.store, self.kind), task_id)
                if state != "queued":
                    return False
                do_task(Task(self.store, folder), self.load, self.ending)
                return True
        except TRNNError as e:
            if str(e) != "busy":
                log.warning("ticket of %s dropped: %s", task_id, e)
            tickets.drop_tickets(queue_folder(self.store, self.kind), task_id)
            return False


def do_task(task: Task, load: Callable[[], Callable[[TaskContext], None]], ending: threading.Event) -> None:
    """One task from queued to its last word; the caller holds its lock."""
    for folder in (task.folder, task.folder / "files"):
        sweep_temporaries(folder, spare=(layout.REQUEST, "expected.json"))
    with Heartbeat(task.folder / layout.HEARTBEAT) as heartbeat:
        context = TaskContext(task, heartbeat, ending)
        _say(task, "running", "Starting.", context)
        over = threading.Event()
        threading.Thread(target=_press, args=(task, context, over), daemon=True, name="press").start()
        state: TaskState
        try:
            load()(context)
            finished = heartbeat.progress.get("done") == 1.0
            state, words = "done", str(heartbeat.progress["message"]) if finished else "Done."
            if context.heard:
                state, words = (
                    ("interrupted", "The machine asked the process to end; start it again.")
                    if ending.is_set()
                    else ("stopped", "Stopped on request.")
                )
        except Exception as e:  # whatever it was, the task must say so
            state, words = "failed", failure(e, task.task_id)
        finally:
            over.set()
        with_no_error((task.folder / layout.REQUEST).unlink)
        _say(task, state, words, context)


def failure(error: Exception, task_id: str) -> str:
    """One sentence for the page; what was not foreseen gets a reference that is also in the log."""
    if isinstance(error, TRNNError):
        log.info("%s failed: %s", task_id, error)
        return str(error)
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error) or "not enough memory" in str(error):
        log.exception("%s ran out of memory", task_id)
        return "There was not enough memory; ask for less (fewer models, a shorter horizon, fewer countries)."
    reference = secrets.token_hex(4)
    log.exception("reference %s: %s failed", reference, task_id)
    return (
        f"Something unexpected went wrong ({type(error).__name__}). Try again; if it stays, whoever runs the server"
        f" finds the details in the log under reference {reference}."
    )


def _say(task: Task, state: TaskState, words: str, context: TaskContext) -> None:
    progress = context._heartbeat.progress
    done = 1.0 if state == "done" else float(progress.get("done", 0.0))
    status = TaskStatus(state, done, words, None, round(context.seconds, 3), stamp())
    write_sealed(task.folder / layout.STATUS, asdict(status))


def _press(task: Task, context: TaskContext, over: threading.Event) -> None:
    """A task that does not answer is ended with its process, and with all that the process has started."""
    asked_at: float | None = None
    while not over.wait(0.5):
        if (task.folder / layout.REQUEST).exists():
            asked_at = asked_at or time.monotonic()
            if time.monotonic() - asked_at > GRACE_SECONDS:
                with_no_error((task.folder / layout.REQUEST).unlink)
                _say(task, "stopped", "Stopped on request; it did not answer, so its process was ended.", context)
                os.killpg(os.getpgid(0), signal.SIGKILL)


def repair_queue(store: RunStore, kind: str) -> None:
    """Give queued tasks whose ticket was lost (a kill between the two) a new one."""
    have = set(tickets.waiting(queue_folder(store, kind)))
    for task in list_tasks(store, kind):
        if task.task_id not in have and _state(task) == "queued":
            tickets.add_ticket(queue_folder(store, kind), task.task_id)


def sweep(store: RunStore, kind: str, most: int | None = None) -> int:
    """Clear away ended tasks beyond the newest that are also old; returns how many."""
    keep, most = min(KEEP_TASKS, most or MOST_TASKS), most or MOST_TASKS
    count = 0
    for n, task in enumerate(list_tasks(store, kind)):
        age = abs(datetime.now().astimezone() - datetime.fromisoformat(task.created)).days
        if n < keep or (age < KEEP_DAYS and n < most):
            continue
        try:
            with lock(task.folder / layout.LOCK, "busy", patience=0.0):
                if _state(task) != "queued":
                    remove_folder(task.folder)
                    count += 1
        except TRNNError:
            continue  # at work
    return count


def shorten_log(path: Path) -> None:
    """Set a long log aside once; the one before that is dropped."""
    if path.exists() and path.stat().st_size > LOG_BYTES:
        shutil.copyfile(path, path.with_suffix(".old.txt"))
        os.truncate(path, 0)  # it is open for appending: the next line starts it anew


def _state(task: Task) -> Any:
    try:
        return read_sealed(task.folder / layout.STATUS)["state"]
    except TRNNError:
        return None
