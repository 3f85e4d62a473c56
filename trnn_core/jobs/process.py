"""The process that does jobs: takes waiting ones of its verbs, and stays warm for a while when there are none."""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from trnn_core.errors import TRNNError
from trnn_core.files import (
    Busy,
    explain_os_error,
    lock,
    read_sealed,
    sha256,
    sweep_temporaries,
    with_no_error,
    write_atomic,
    write_sealed,
)
from trnn_core.jobs.context import Context, Stopped
from trnn_core.jobs.folder import HEARTBEAT, LOCK, REQUEST, RESULTS, STATUS
from trnn_core.jobs.job import Job, JobStatus, State
from trnn_core.jobs.processes import Heartbeat, identify, is_memory_error
from trnn_core.jobs.queue import Store, Ticket, add_ticket, drop_tickets, waiting
from trnn_core.jobs.requests import find_job, sweep

log = logging.getLogger(__name__)

POLL_SECONDS = 0.05
LOG_BYTES = 2_000_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

Run = Callable[["JobContext"], None]  # the work of a verb
Take = Callable[[Any, str, threading.Event], None]  # does a queued job of a store, unless another does it or has


class JobContext(Context):
    """What a verb's work is given in a job."""

    live = True

    def __init__(self, store: Any, job: Job, heartbeat: Heartbeat, ending: threading.Event):
        super().__init__(store.root)
        self.store, self.job_id, self.folder, self.run_id = store, job.job_id, job.folder, job.run_id
        self.verb, self.request, self.resources = job.verb, job.request, job.resources
        self.ending, self._heartbeat = ending, heartbeat
        self._begun = time.monotonic()
        self._first: tuple[float, float] | None = None  # share and time when work began to show: some start late
        self._expected: float | None = None

    def expect(self, seconds: float) -> None:
        self._expected = seconds

    def progress(self, done: float, message: str) -> None:
        """Tell the share done, 0 to 1, and what is being done; the time it may still take follows from the pace."""
        now = time.monotonic()
        if self._first is None and done > 0:
            self._first = (done, now)
        gained, spent = (done - self._first[0], now - self._first[1]) if self._first else (0.0, 0.0)
        eta = round(spent * (1 - done) / gained, 1) if gained > 0 else self._expected
        self._heartbeat.progress = {
            "done": min(1.0, max(0.0, float(done))),
            "message": message,
            "eta_seconds": eta,
            "seconds": self.seconds,
        }

    def stopping(self) -> bool:
        """Whether to end now: somebody asked, or the worker ends. Return, or raise `Stopped`, soon after."""
        if not self.heard and (self.ending.is_set() or (self.folder / REQUEST).exists()):
            self._heartbeat.heard = True
        return self.heard

    @property
    def heard(self) -> bool:
        """Whether the work was told to stop."""
        return self._heartbeat.heard

    def write(self, name: str, content: bytes) -> None:
        """Keep a result, whole or not at all, under a name that carries its checksum; an older one gives way."""
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise TRNNError(f"A result's name must be letters, digits, '.', '_' or '-'. Got {name!r:.80} instead.")
        folder = self.folder / RESULTS
        try:
            folder.mkdir(exist_ok=True)
        except OSError as e:
            raise explain_os_error(e, folder) from e
        path = folder / f"{name}~{sha256(content)}"
        write_atomic(path, content)
        for old in folder.glob(f"{name}~*"):
            if old != path:
                with_no_error(old.unlink)

    @property
    def seconds(self) -> float:
        return round(time.monotonic() - self._begun, 3)


class JobProcess:
    """Takes jobs until none has come for `idle` seconds.

    slot    the file that it keeps locked while it lives; beside it stands which process it is and what it is at
    taker   gives what does a job of a verb
    only    do this job and leave
    """

    def __init__(
        self,
        store: Store,
        slot: Path,
        verbs: Collection[str],
        taker: Callable[[str], Take],
        idle: float = 0.0,
        only: str | None = None,
    ):
        self.store, self.slot, self.verbs, self.taker, self.idle, self.only = store, slot, verbs, taker, idle, only
        self.ending = threading.Event()

    def run(self) -> None:
        """Work; leave at once when the slot is taken."""
        try:
            self.slot.parent.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise explain_os_error(e, self.slot) from e
        with ExitStack() as held:
            try:
                held.enter_context(lock(self.slot, "taken"))
            except Busy:
                return log.info("%s is taken by another process", self.slot.name)
            self._work()

    def end(self) -> None:
        """Leave; the job at work goes back to the queue."""
        self.ending.set()

    def _work(self) -> None:
        self._note(None)
        for verb in self.verbs:
            sweep(self.store, verb)
        busy_at = time.monotonic()
        while not self.ending.is_set():
            tickets = [t for t in waiting(self.store.root, self.verbs) if self.only in (None, t.job_id)]
            for ticket in tickets:
                if not self.ending.is_set():
                    self._take(ticket)
            if self.only is not None:
                return
            if tickets:
                self._note(None)
                for verb in {ticket.verb for ticket in tickets}:
                    sweep(self.store, verb)
                busy_at = time.monotonic()
            elif time.monotonic() - busy_at > self.idle or not self.store.root.is_dir():
                return
            self.ending.wait(POLL_SECONDS)

    def _take(self, ticket: Ticket) -> None:
        self._note(ticket.job_id)
        try:
            self.taker(ticket.verb)(self.store, ticket.job_id, self.ending)
        except TRNNError:
            raise
        except Exception:
            log.exception("%s failed", ticket.job_id)
            raise

    def _note(self, job_id: str | None) -> None:
        record = {"process": identify().to_json(), "job_id": job_id}
        write_sealed(self.slot.with_suffix(".json"), record, durable=False)


def take_job(load: Callable[[], Run], store: Store, job_id: str, ending: threading.Event) -> None:
    """Do a job unless another process does it or has done it; its lock decides."""
    try:
        job = find_job(store, job_id)
        with lock(job.folder / LOCK, "at work elsewhere", patience=0.2):
            state = read_sealed(job.folder / STATUS)["state"]
            drop_tickets(store.root, job_id)
            if state == "queued":
                do_job(load, store, job, ending)
    except Busy:
        drop_tickets(store.root, job_id)
    except TRNNError as e:
        log.warning("ticket of %s dropped: %s", job_id, e)
        drop_tickets(store.root, job_id)


def do_job(load: Callable[[], Run], store: Store, job: Job, ending: threading.Event) -> None:
    """One job from queued to its last word; the caller holds its lock."""
    for folder in (job.folder, job.folder / RESULTS):
        sweep_temporaries(folder, spare=(REQUEST,))
    with Heartbeat(job.folder / HEARTBEAT) as heartbeat:
        context = JobContext(store, job, heartbeat, ending)
        status = JobStatus("running", "Starting.")
        job.write_status(status)
        state: State = "done"
        words = "Done."
        try:
            load()(context)  # torch and the like are loaded only now
            if heartbeat.progress.get("done") == 1.0:
                words = str(heartbeat.progress["message"])
        except Stopped:
            heartbeat.heard = True
        except Exception as e:  # whatever it was, the job must say so
            state, words = "failed", failure(e, job.job_id)
        if context.heard and state != "failed":
            state, words = ("queued", "") if ending.is_set() else ("stopped", "Stopped on request.")
        done = 1.0 if state == "done" else float(heartbeat.progress.get("done", 0.0))
        with_no_error((job.folder / REQUEST).unlink)
        if state == "queued":
            add_ticket(store.root, job.verb, job.job_id)
        job.write_status(replace(status, state=state, message=words, done=done, seconds=context.seconds))


def failure(error: Exception, job_id: str) -> str:
    """One sentence for the page; what was not foreseen gets a reference that is also in the log."""
    if isinstance(error, TRNNError):
        log.info("%s failed: %s", job_id, error)
        return str(error)
    if isinstance(error, MemoryError) or is_memory_error(str(error)):
        log.exception("%s ran out of memory", job_id)
        return "There was not enough memory; ask for less (fewer models, a shorter horizon, fewer countries)."
    reference = secrets.token_hex(4)
    log.exception("reference %s: %s failed", reference, job_id)
    return (
        f"Something unexpected went wrong ({type(error).__name__}). Try again; if it stays, whoever runs the server"
        f" finds the details in the log under reference {reference}."
    )


def shorten_log(path: Path) -> None:
    """Set a long log aside once; the one before that is dropped."""
    if path.exists() and path.stat().st_size > LOG_BYTES:
        shutil.copyfile(path, path.with_suffix(".old.txt"))
        os.truncate(path, 0)  # it is open for appending: the next line starts it anew
