"""The worker: takes tickets in order and gives each job a process. One for each machine and store. No torch here.

The process table is on the disk: a slot is a file that a job's process keeps locked for as long as it lives, with a
note beside it of which process it is and what it is at. So a new worker counts, and looks after, the jobs that a killed
one left running, and never starts more than its limit.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from trnn_core.errors import TRNNError
from trnn_core.files import explain_os_error, is_locked, lock, with_no_error, write_sealed
from trnn_core.jobs import queue
from trnn_core.jobs.folder import HEARTBEAT, LOCK, LOG, REQUEST
from trnn_core.jobs.job import Job
from trnn_core.jobs.lanes import Verb, Verbs, drop_stale_tickets, lane_log, repair_queue, slot_path
from trnn_core.jobs.processes import (
    Heartbeat,
    ask_to_end,
    is_memory_error,
    kill_with_children,
    last_words,
    pulse,
    read_beat,
    start_detached,
)
from trnn_core.jobs.queue import STARTED, TROUBLE, Store, worker_folder
from trnn_core.jobs.requests import find_job

log = logging.getLogger(__name__)

POLL_SECONDS = 0.15
REPAIR_SECONDS = 30.0
REST_SECONDS = 3.0  # after a turn that failed
GRACE_SECONDS = 60.0  # for a job to hear that it is asked to end, before it is made to
# A job loads its libraries in some seconds of processor time. OpenBLAS, when it gets no memory, tries again for ever.
START_SECONDS = 30.0
KILLED = -9  # the code of a process that kill -9 has ended


def default_limit() -> int:
    """Trainings at once: half the cores, at least one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // 2)


@dataclass
class Child:
    """A process that this worker has started, and the job it was started for."""

    process: subprocess.Popen
    job: Job
    tickets: set[str]  # those it was started for: a newer one means that the job was queued again
    log: Path
    alone: bool = True  # or the process of a lane, which goes on to other jobs
    begun: bool = False  # has shown a heartbeat of its own


class Worker:
    """Runs until told to end; `idle_exit` ends it after so many seconds without work."""

    def __init__(
        self,
        store: Store,
        verbs: Verbs,
        limit: int | None = None,
        idle_exit: float | None = None,
    ):
        self.store, self.root, self.verbs = store, store.root, verbs
        self.limit, self.idle_exit = limit or default_limit(), idle_exit
        self.folder = worker_folder(store.root)
        self.children: dict[Path, Child] = {}  # by slot
        self.asked: dict[str, float] = {}  # when a request that no job has heard yet was first seen
        self.ending = False

    def run(self) -> None:
        """Work; a second worker on the same store and machine is refused."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise explain_os_error(e, self.folder) from e
        while True:
            with lock(self.folder / "lock", f"A worker is already at work on {self.root}; one is enough."):
                with Heartbeat(self.folder / HEARTBEAT):
                    self._work()
                for name in (HEARTBEAT, STARTED, TROUBLE):
                    with_no_error((self.folder / name).unlink)
            # Whoever queued a job while we were leaving saw the lock and started nobody: look once more.
            if self.ending or not queue.waiting(self.root):
                return

    def end(self) -> None:
        """Leave at the next turn; running jobs go back to the queue."""
        self.ending = True

    def _work(self) -> None:
        self._busy_at, self._repaired_at = time.monotonic(), float("-inf")
        while not self.ending:
            if not self.root.is_dir():
                raise TRNNError(f"The store {self.root} is gone; the worker ends.")
            try:
                if self._turn():
                    return
                with_no_error((self.folder / TROUBLE).unlink)
                time.sleep(POLL_SECONDS)
            except (OSError, TRNNError) as e:  # read-only, full, no memory for a process: may pass, and jobs go on
                self._tell_trouble(e)
                time.sleep(REST_SECONDS)
        self._requeue()

    def _tell_trouble(self, error: Exception) -> None:
        words = explain_os_error(error, self.root) if isinstance(error, OSError) else error
        log.warning("nothing can be started now, trying again: %s", words)
        try:
            write_sealed(self.folder / TROUBLE, {"message": str(words)}, durable=False)
        except TRNNError:
            return  # then readers can see for themselves

    def _turn(self) -> bool:
        """Look after the jobs and start those that wait; True when there has been nothing to do for long enough."""
        if time.monotonic() - self._repaired_at > REPAIR_SECONDS:
            repair_queue(self.store, self.verbs)
            self._repaired_at = time.monotonic()
        self._reap()
        self._press()
        self._end_stuck()
        self._start_waiting()
        if self.children or queue.waiting(self.root) or any(map(is_locked, self._known_slots())):
            self._busy_at = time.monotonic()
        return self.idle_exit is not None and time.monotonic() - self._busy_at > self.idle_exit

    def _known_slots(self) -> list[Path]:
        return sorted(p for p in self.folder.glob("slot-*") if p.suffix != ".json")

    def _free_slot(self, verb: Verb) -> Path | None:
        for n in range(self.limit if verb.alone else 1):
            slot = slot_path(self.root, verb.lane, n)
            if slot not in self.children and not is_locked(slot):
                return slot
        return None

    def _start_waiting(self) -> None:
        mine = {child.job.job_id for child in self.children.values()}
        for name, job_id in queue.waiting(self.root):
            verb = self.verbs.get(name)
            if job_id in mine or (verb is not None and self._free_slot(verb) is None):
                continue  # a process of that lane is there, and takes the next ticket itself
            try:
                job = find_job(self.store, job_id) if verb is None else verb.find(self.store, job_id)
                if job.status().state != "queued":
                    drop_stale_tickets(job)
                elif verb is None:
                    words = f"a job must be one of {', '.join(self.verbs)}. Got {name!r:.40} instead."
                    finish(job, words, queue.tickets_of(self.root, job_id))
                else:
                    self._start(name, verb, job)
            except TRNNError as e:
                log.warning("ticket of %s dropped: %s", job_id, e)
                queue.drop_tickets(self.root, job_id)

    def _start(self, name: str, verb: Verb, job: Job) -> None:
        self._check_room()
        slot = self._free_slot(verb)
        assert slot is not None
        slot.touch()
        only = ["--only", job.job_id] if verb.alone else []
        output = job.folder / LOG if verb.alone else lane_log(self.root, verb.lane)
        words = queue.command(self.root, "job", name, "--slot", str(slot.resolve()), *only)
        log.info("job %s starts in %s", job.job_id, slot.name)
        known = queue.tickets_of(self.root, job.job_id)
        self.children[slot] = Child(start_detached(words, output, job.threads), job, known, output, verb.alone)

    def _check_room(self) -> None:
        """A job that can save nothing, not even that it failed, would be started again and again."""
        probe = self.folder / "room"
        try:
            probe.write_bytes(bytes(queue.ROOM_BYTES))
        finally:
            with_no_error(probe.unlink)

    def _reap(self) -> None:
        """Wait for ended children, so that none stays a zombie, and give silent ends their words."""
        for slot, child in list(self.children.items()):
            code = child.process.poll()
            if code is not None:
                log.info("%s, started for %s, ended with code %d", slot.name, child.job.job_id, code)
                del self.children[slot]
                if code:
                    finish(child.job, _false_start(child, code), child.tickets)
                    if (job := self._job_in(slot)) is not None:
                        finish(job, _death(code))

    def _job_in(self, slot: Path) -> Job | None:
        """The job that the process in a slot is at, by its own note."""
        job_id = (read_beat(slot.with_suffix(".json")) or {}).get("job_id")
        for verb in self.verbs.values() if job_id else ():
            if slot.name.startswith(f"slot-{verb.lane}-"):
                try:
                    return verb.find(self.store, str(job_id))
                except TRNNError:
                    return None
        return None

    def _press(self) -> None:
        """A job that does not hear a request is ended; one that has heard is left alone while its heart beats."""
        now, before, self.asked = time.monotonic(), self.asked, {}
        for slot in self._known_slots():
            job = self._job_in(slot)
            if job is None or not job.is_asked_to_end or not is_locked(slot):
                continue
            beat = read_beat(job.folder / HEARTBEAT) or {}
            if beat.get("heard") and self.store.watcher.judge(job.folder / HEARTBEAT) != "dead":
                continue
            since = self.asked[job.job_id] = before.get(job.job_id, now)
            if now - since > GRACE_SECONDS:
                self._end(slot, job)

    def _end(self, slot: Path, job: Job) -> None:
        """End a job that does not answer, with its process, and say so."""
        process, status = (read_beat(slot.with_suffix(".json")) or {}).get("process"), job.status()
        if process is None or pulse(process) != "alive" or not status.is_live:
            return
        log.warning("job %s does not answer; its process is ended", job.job_id)
        words = "It did not answer when it was asked to end, so its process was ended"
        with suppress(psutil.Error):
            psutil.Process(process["pid"]).suspend()  # or it might write over what is said of it next
        job.write_status(replace(status, state=job.forced, message=f"{words}; {job.way_on(status)}"))
        self._kill(slot, process["pid"])
        with_no_error((job.folder / REQUEST).unlink)
        finish(job, words, forced=True)  # once more, should it have had a last word

    def _end_stuck(self) -> None:
        """A job that computes and computes without beginning never will."""
        for slot, child in list(self.children.items()):
            child.begun = child.begun or _has_begun(child, slot)
            if not child.begun and _cpu_seconds(child) > START_SECONDS:
                self._kill(slot, child.process.pid)
                words = "it computed for half a minute without beginning, as libraries do when memory ran out."
                finish(child.job, words, child.tickets)

    def _kill(self, slot: Path, pid: int) -> None:
        kill_with_children(pid)
        if slot in self.children:
            self.children.pop(slot).process.wait()

    def _requeue(self) -> None:
        """The worker ends: its jobs go back to the queue, and none of its processes is left behind."""
        for child in self.children.values():
            ask_to_end(child.process.pid)
        deadline = time.monotonic() + GRACE_SECONDS
        while self.children and time.monotonic() < deadline:
            self._reap()
            time.sleep(0.1)
        for slot, child in list(self.children.items()):
            self._kill(slot, child.process.pid)


def _has_begun(child: Child, slot: Path) -> bool:
    """By the heartbeat of its run; a lane's process, which may have begun with another job, by its note."""
    found = read_beat(child.job.folder / HEARTBEAT if child.alone else slot.with_suffix(".json"))
    return found is not None and found["process"]["pid"] == child.process.pid


def _cpu_seconds(child: Child) -> float:
    try:
        return sum(psutil.Process(child.process.pid).cpu_times()[:2])
    except psutil.Error:
        return 0.0


def finish(job: Job, words: str, tickets: set[str] | None = None, forced: bool = False) -> None:
    """Say in the status what the job could not say itself; one that was queued again meanwhile is left alone.

    tickets    those that its process was started for: still queued with no other, it never began
    forced     the worker itself has ended it
    """
    try:
        with lock(job.folder / LOCK, "at work again"):
            status = job.status()
            if status.state == "queued" and tickets is not None and queue.tickets_of(job.root, job.job_id) <= tickets:
                job.write_status(replace(status, state="failed", message=f"The job could not start: {words}"))
                queue.drop_tickets(job.root, job.job_id)
            elif status.state == "interrupted" and (forced or tickets is None):
                message = f"{words.rstrip('.')}; {job.way_on(status)}"
                job.write_status(replace(status, state=job.forced if forced else "interrupted", message=message))
    except TRNNError as e:
        log.warning("status of %s not told: %s", job.job_id, e)


def _false_start(child: Child, code: int) -> str:
    said = last_words(child.log)
    if is_memory_error(said) and code != KILLED:
        return f"memory ran out while its libraries were loaded ({said}). End other jobs or allow it more, then resume."
    return said if code >= 0 else _death(code)


def _death(code: int) -> str:
    if code == KILLED:
        return "The job was killed by the system or a person, most often because memory ran out."
    if code < 0:
        return f"The job was ended by signal {signal.Signals(-code).name}."
    return f"The job ended unexpectedly with code {code}."
