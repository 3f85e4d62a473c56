"""How each verb's jobs are done: in which lane, by which module; and keeping the queue in order. No torch here.

Jobs of a lane share a process, which stays warm for the next one. A training has a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

from trnn_core.errors import TRNNError
from trnn_core.files import lock, sweep_temporaries, with_no_error
from trnn_core.jobs import queue
from trnn_core.jobs.folder import LOCK, QUEUE
from trnn_core.jobs.job import Job
from trnn_core.jobs.process import JobContext, Take, take_job
from trnn_core.jobs.queue import Store, worker_folder
from trnn_core.jobs.requests import find_job, list_jobs, sweep


@dataclass(frozen=True)
class Verb:
    """Where a verb is, and how it runs as a job; without a lane it is never one."""

    module: str  # with `class Request` and `run(request, context)`
    lane: str = ""  # jobs of a lane share a process, and so wait for one another
    warm: float = 0.0  # seconds that its process stays for the next one
    keep: int = 0  # at most so many ended jobs of it are kept; 0: as many as usual
    typed: bool = True  # whether it is a command, too

    alone = False  # whether each job has a process of its own, as many at once as the worker's limit

    def take(self) -> Take:
        """What does one job of this verb."""
        return partial(take_job, lambda: self.work)

    def work(self, context: JobContext) -> None:
        """One job: its request as it was stored, done here. Torch and the like are loaded only now."""
        module = import_module(self.module)
        owner = {} if context.run_id is None else {"run": context.run_id}
        module.run(module.Request(**context.request, **context.resources, **owner), context)
        if self.keep:
            sweep(context.store, context.verb, most=self.keep)

    def find(self, store: Store, job_id: str) -> Job:
        return find_job(store, job_id)

    def queued(self, store: Store, verb: str) -> Iterable[Job]:
        return [job for job in reversed(list_jobs(store, verb)) if job.status().state == "queued"]


Verbs = Mapping[str, Verb]


def slot_path(root: Path, lane: str, n: int = 0) -> Path:
    """The file that the n-th process of a lane on this machine keeps locked."""
    return worker_folder(root) / f"slot-{lane}-{n}"


def lane_log(root: Path, lane: str) -> Path:
    """What the warm process of a lane prints."""
    return worker_folder(root) / f"{lane}.txt"


def drop_stale_tickets(job: Job) -> None:
    """Drop the tickets of a job that is not queued; looked at under its lock, so that none just written is lost."""
    try:
        with lock(job.folder / LOCK, "at work", patience=0.0):
            if job.status().state != "queued":
                queue.drop_tickets(job.root, job.job_id)
    except TRNNError:
        return  # at work: its own process drops them


def repair_queue(store: Store, verbs: Verbs) -> None:
    """Give queued jobs whose ticket was lost (a kill between the two) a new one; sweep what killed writers left."""
    sweep_temporaries(store.root, spare=("",))  # anybody's: those of the last hour may be at work
    have = {ticket.job_id for ticket in queue.waiting(store.root)}
    for name, verb in verbs.items():
        for job in verb.queued(store, name):
            if job.job_id not in have:
                queue.add_ticket(store.root, name, job.job_id)
    for old in (store.root / QUEUE).glob("*"):
        if old.name.count("~") == 1:  # a ticket of an earlier version, which did not name its verb
            with_no_error(old.unlink)
