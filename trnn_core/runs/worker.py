"""The worker: takes queued runs and gives each a process of its own. No torch here.

Slots are files that a job's process keeps locked for as long as it lives, so that a new worker counts the jobs a killed
one left running, and never starts more than its limit.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from trnn_core.errors import TRNNError
from trnn_core.files import explain_os_error, is_locked, lock, sweep_temporaries, with_no_error, write_sealed
from trnn_core.jobs.processes import Heartbeat, is_memory_error, last_words, read_beat
from trnn_core.runs import layout
from trnn_core.runs.jobs import (
    add_ticket,
    code_root,
    drop_stale_tickets,
    drop_tickets,
    plain_environment,
    queued,
    tickets,
    worker_folder,
)
from trnn_core.runs.run import Run
from trnn_core.runs.store import RunStore

log = logging.getLogger(__name__)

POLL_SECONDS = 0.3
REPAIR_SECONDS = 30.0
REST_SECONDS = 3.0  # after a turn that failed
ROOM_BYTES = 65_536  # that must fit on the disk before a job is started
GRACE_SECONDS = 30.0  # between a request and being told with a signal, and again until being killed
# A job loads its libraries in some seconds of processor time. OpenBLAS, when it gets no memory, tries again for ever.
START_SECONDS = 30.0


def default_limit() -> int:
    """Jobs at once: half the cores, at least one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // 2)


@dataclass
class Job:
    """A child process and the run it trains."""

    run: Run
    process: subprocess.Popen
    tickets: set[str]  # those it was started for: a newer one means that the run was queued again
    asked_since: float | None = None  # when this worker first saw an unanswered request
    begun: bool = False  # has shown a heartbeat of its own
    stuck: bool = False  # was ended because it never began


class Worker:
    """Runs until told to end; `idle_exit` ends it after so many seconds without work."""

    def __init__(
        self, store: RunStore, limit: int | None = None, idle_exit: float | None = None, grace: float = GRACE_SECONDS
    ):
        self.store, self.limit, self.idle_exit, self.grace = store, limit or default_limit(), idle_exit, grace
        self.folder = worker_folder(store)
        self.jobs: dict[int, Job] = {}  # by slot
        self.ending = False

    def run(self) -> None:
        """Work; a second worker on the same store and machine is refused."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise explain_os_error(e, self.folder) from e
        while True:
            with lock(self.folder / "lock", f"A worker is already at work on {self.store.root}; one is enough."):
                with Heartbeat(self.folder / layout.HEARTBEAT):
                    self._work()
                with_no_error((self.folder / layout.HEARTBEAT).unlink)
            # Whoever queued a run while we were leaving saw the lock and started nobody: look once more.
            if self.ending or not queued(self.store):
                return

    def end(self) -> None:
        """Leave at the next turn; running jobs go back to the queue."""
        self.ending = True

    def _work(self) -> None:
        self._busy_at, self._repaired_at = time.monotonic(), float("-inf")
        while not self.ending:
            if not self.store.root.is_dir():
                raise TRNNError(f"The store {self.store.root} is gone; the worker ends.")
            try:
                if self._turn():
                    return
                time.sleep(POLL_SECONDS)
            except (OSError, TRNNError) as e:  # read-only, full, no memory for a process: may pass, and jobs go on
                log.warning("nothing can be started now, trying again: %s", e)
                time.sleep(REST_SECONDS)
        self._send_home()

    def _turn(self) -> bool:
        """Look after the jobs and start those that wait; True when there has been nothing to do for long enough."""
        if time.monotonic() - self._repaired_at > REPAIR_SECONDS:
            repair_queue(self.store)
            self._repaired_at = time.monotonic()
        self._reap()
        self._press()
        self._end_stuck()
        self._start_waiting()
        if self.jobs or queued(self.store) or self._taken_slots():
            self._busy_at = time.monotonic()
        return self.idle_exit is not None and time.monotonic() - self._busy_at > self.idle_exit

    def _slot(self, n: int) -> Path:
        return self.folder / f"slot-{n}"

    def _taken_slots(self) -> list[int]:
        return [n for n in range(self.limit) if n in self.jobs or is_locked(self._slot(n))]

    def _start_waiting(self) -> None:
        free = sorted(set(range(self.limit)) - set(self._taken_slots()))
        mine = {job.run.run_id for job in self.jobs.values()}
        for run_id in queued(self.store):
            if not free:
                return
            if run_id in mine:
                continue
            try:
                run = self.store.get(run_id)
                if run.status().state != "queued":
                    drop_stale_tickets(self.store, run)
                    continue
                slot, known = free.pop(0), tickets(self.store, run_id)
                self.jobs[slot] = Job(run, self._spawn(run, slot), known)
            except TRNNError as e:
                log.warning("ticket of %s dropped: %s", run_id, e)
                drop_tickets(self.store, run_id)

    def _check_room(self) -> None:
        """A job that can save nothing, not even that it failed, would be started again and again."""
        probe = self.folder / "room"
        try:
            probe.write_bytes(bytes(ROOM_BYTES))
        finally:
            with_no_error(probe.unlink)

    def _spawn(self, run: Run, slot: int) -> subprocess.Popen:
        self._check_room()
        self._slot(slot).touch()
        command = [
            sys.executable,
            "-m",
            "trnn_core.runs.job",
            str(self.store.root.resolve()),
            run.run_id,
            str(self._slot(slot).resolve()),
        ]
        with (run.folder / layout.LOG).open("ab") as output:
            log.info("run %s starts in slot %d", run.run_id, slot)
            return subprocess.Popen(
                command,
                cwd=code_root(),
                env=plain_environment(run.recipe.train.threads),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # signals to the worker's terminal are not for the job
            )

    def _reap(self) -> None:
        """Wait for ended children, so that none stays a zombie, and give silent ends their words."""
        for slot, job in list(self.jobs.items()):
            code = job.process.poll()
            if code is None:
                continue
            del self.jobs[slot]
            log.info("run %s ended with code %d", job.run.run_id, code)
            close_books(self.store, job, code)

    def _press(self) -> None:
        """A job that does not answer a request is told with a signal, then killed."""
        now = time.monotonic()
        for job in self.jobs.values():
            if not (job.run.folder / layout.REQUEST).exists():
                job.asked_since = None
                continue
            job.asked_since = job.asked_since or now
            if now - job.asked_since > 2 * self.grace:
                _signal(job, signal.SIGKILL)
            elif now - job.asked_since > self.grace:
                _signal(job, signal.SIGINT)

    def _end_stuck(self) -> None:
        """A job that computes and computes without beginning never will."""
        for job in self.jobs.values():
            job.begun = job.begun or _has_begun(job)
            if not job.begun and _cpu_seconds(job) > START_SECONDS:
                job.stuck = True
                _signal(job, signal.SIGKILL)

    def _send_home(self) -> None:
        """The worker ends: jobs save nothing new, go back to the queue, and none is left behind."""
        for job in self.jobs.values():
            _signal(job, signal.SIGTERM)
        deadline = time.monotonic() + self.grace
        while self.jobs and time.monotonic() < deadline:
            self._reap()
            time.sleep(0.1)
        for job in self.jobs.values():
            _signal(job, signal.SIGKILL)
            job.process.wait()
        self._reap()


def _signal(job: Job, number: int) -> None:
    try:
        os.killpg(job.process.pid, number)
    except ProcessLookupError:
        return


def _has_begun(job: Job) -> bool:
    beat = read_beat(job.run.folder / layout.HEARTBEAT)
    return beat is not None and beat["process"]["pid"] == job.process.pid


def _cpu_seconds(job: Job) -> float:
    try:
        return sum(psutil.Process(job.process.pid).cpu_times()[:2])
    except psutil.Error:
        return 0.0


def close_books(store: RunStore, job: Job, code: int) -> None:
    """Say in the status what the job could not say itself; a run that was queued again meanwhile is left alone."""
    run = job.run
    try:
        with lock(run.folder / layout.LOCK, "busy"):
            status = run.status()
            if status.state == "queued" and tickets(store, run.run_id) <= job.tickets:
                words = f"The job could not start: {_false_start(job, code)}"
                write_sealed(run.folder / layout.STATUS, replace(status, state="failed", message=words).__dict__)
                drop_tickets(store, run.run_id)
            elif status.state == "interrupted":
                words = (
                    f"{_death(code)} {status.epoch} of {status.epochs} epochs are safe; resume to go on exactly from"
                    " there."
                )
                write_sealed(run.folder / layout.STATUS, replace(status, message=words).__dict__)
    except TRNNError as e:
        log.warning("status of %s not closed: %s", run.run_id, e)


def _false_start(job: Job, code: int) -> str:
    if job.stuck:
        return "it computed for half a minute without beginning, as libraries do when memory ran out."
    said = last_words(job.run.folder / layout.LOG)
    if is_memory_error(said) and code != -signal.SIGKILL:
        return f"memory ran out while its libraries were loaded ({said}). End other jobs or allow it more, then resume."
    return said if code >= 0 else _death(code)


def _death(code: int) -> str:
    if code == -signal.SIGKILL:
        return "The job was killed by the system or a person, most often because memory ran out."
    if code < 0:
        return f"The job was ended by signal {signal.Signals(-code).name}."
    return f"The job ended unexpectedly with code {code}."


def repair_queue(store: RunStore) -> None:
    """Give queued runs whose ticket was lost (a kill between the two) a new one; sweep what killed writers left."""
    sweep_temporaries(store.root, spare=("",))  # anybody's: those of the last hour may be at work
    have = set(queued(store))
    for run in store.runs(state="queued"):
        if run.run_id not in have:
            add_ticket(store, run.run_id)
