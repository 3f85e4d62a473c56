"""Asking for work, and finding what was asked for. No torch here.

    job = start_job(store, "backtest", {"horizon": 4}, run_id=run.run_id)
    job.status()                 # JobStatus(state="running", done=0.4, message="...", eta_seconds=12.0)
    job.read("scores.parquet")

Jobs are in store/.tasks/<verb>-<digest of what was asked for>, so that two who ask the same share one.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from trnn_core.errors import TRNNError
from trnn_core.files import (
    Busy,
    explain_os_error,
    lock,
    remove_folder,
    sha256,
    temporary_name,
    with_no_error,
    write_sealed,
)
from trnn_core.jobs import queue
from trnn_core.jobs.folder import ASKED, LOCK, REQUEST, RESULTS, STATUS, TASKS
from trnn_core.jobs.job import Job, JobStatus, stamp

KEPT = ("queued", "running", "done")  # asked for again, these are not done twice
KEEP_JOBS, KEEP_DAYS, MOST_JOBS = 50, 7, 1000  # of each verb; the last bound holds whatever their age
_VERB = re.compile(r"[a-z][a-z0-9_]{0,39}")
_JOB_ID = re.compile(r"[a-z][a-z0-9_]{0,39}-[0-9a-f]{16}")


def start_job(
    store: queue.Store,
    verb: str,
    request: dict[str, Any],
    *,
    run_id: str | None = None,
    fresh: bool = False,
    resources: dict[str, Any] | None = None,
) -> Job:
    """Ask for work. What waits, runs or is done with an equal request is returned, not done twice.

    A stopped, failed or interrupted job is queued again in its old folder, so that it may go on where it was.
    request    plain JSON values, and all that determines the result (the checksum of a run's weights, if it matters)
    fresh      do it again from the start even if it is done
    resources  what it is done with and does not change the result (workers, a cluster's address): no part of its id
    """
    if not isinstance(verb, str) or not _VERB.fullmatch(verb):
        raise TRNNError(f"A verb must be a short word in small letters. Got {verb!r:.80} instead.")
    job_id = f"{verb}-{_digest(verb, request, run_id)}"
    folder = store.root / TASKS / job_id
    asked = {"verb": verb, "request": request, "resources": resources or {}, "run_id": run_id, "created": stamp()}
    for _ in range(3):  # an old job may be swept away between two looks
        try:
            if not (folder / ASKED).exists():
                _create(folder, asked)
            job = Job(folder, store.watcher)
            if fresh or job.status().state not in KEPT:
                _queue_again(job, asked, fresh)
            break
        except TRNNError:
            if folder.exists():
                raise
    if job.status().state == "queued":
        if not queue.tickets_of(store.root, job_id):
            queue.add_ticket(store.root, verb, job_id)
        queue.ensure_worker(store)
    return Job(folder, store.watcher)


def list_jobs(store: queue.Store, verb: str | None = None, run_id: str | None = None) -> list[Job]:
    """Jobs of a verb and about a run, newest first; a damaged one is left out."""
    folder, found = store.root / TASKS, []
    for place in folder.iterdir() if folder.is_dir() else ():
        if _JOB_ID.fullmatch(place.name) and (verb is None or place.name.rpartition("-")[0] == verb):
            job = Job(place, store.watcher)
            try:
                if job.created and (run_id is None or job.run_id == run_id):
                    found.append(job)
            except (TRNNError, KeyError):
                continue
    return sorted(found, key=lambda job: (job.created, job.job_id), reverse=True)


def find_job(store: queue.Store, job_id: str) -> Job:
    if not isinstance(job_id, str) or not _JOB_ID.fullmatch(job_id):
        raise TRNNError(f"A job's id must look like 'backtest-0123456789abcdef'. Got {job_id!r:.80} instead.")
    folder = store.root / TASKS / job_id
    if not (folder / ASKED).exists():
        raise TRNNError(f"There is no job {job_id!r} in {store.root}; it may have been cleared away. Start it again.")
    return Job(folder, store.watcher)


def sweep(store: queue.Store, verb: str, most: int | None = None) -> int:
    """Clear away ended jobs of a verb beyond the newest that are also old; returns how many."""
    keep, most = min(KEEP_JOBS, most or MOST_JOBS), most or MOST_JOBS
    count = 0
    for n, job in enumerate(list_jobs(store, verb)):
        age = abs(datetime.now().astimezone() - datetime.fromisoformat(job.created)).days
        if n < keep or (age < KEEP_DAYS and n < most):
            continue
        try:
            with lock(job.folder / LOCK, "at work", patience=0.0):
                if job.status().state != "queued":
                    remove_folder(job.folder)
                    count += 1
        except TRNNError:
            continue
    return count


def _digest(verb: str, request: dict[str, Any], run_id: str | None) -> str:
    try:
        return sha256(json.dumps([verb, request, run_id], sort_keys=True, allow_nan=False).encode())[:16]
    except (TypeError, ValueError) as e:
        raise TRNNError(f"A request must be plain text, finite numbers, lists and tables of them ({e}).") from e


def _create(folder: Path, asked: dict[str, Any]) -> None:
    """The folder in one step: of two that ask at once, one makes it and the other finds it."""
    new = temporary_name(folder)
    try:
        new.mkdir(parents=True)
        write_sealed(new / ASKED, asked)
        write_sealed(new / STATUS, asdict(JobStatus("queued", updated=stamp())))
        (new / LOCK).touch()
        new.rename(folder)
    except OSError as e:
        remove_folder(new)
        if not (folder / ASKED).exists():
            raise explain_os_error(e, folder) from e


def _queue_again(job: Job, asked: dict[str, Any], fresh: bool) -> None:
    try:
        with lock(job.folder / LOCK, "it is being done at this moment"):
            if not fresh and job.status().state in KEPT:
                return  # somebody else was faster
            with_no_error((job.folder / REQUEST).unlink)
            if fresh:
                remove_folder(job.folder / RESULTS)
            write_sealed(job.folder / ASKED, asked)
            job.write_status(JobStatus("queued"))
    except Busy:
        return
