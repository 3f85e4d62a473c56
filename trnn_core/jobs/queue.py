"""The queue: tickets in a folder, and a worker that is there when one is needed. No torch here.

A ticket is an empty file in store/.queue, `<time>~<verb>~<job>`, whose name orders it. It only says where to look:
whoever takes the work locks the job and reads its status first, so that a doubled ticket does no harm and a lost one
is found again.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple, Protocol

from trnn_core.files import explain_os_error, is_locked, with_no_error, write_sealed
from trnn_core.jobs.folder import LOG, QUEUE, WORKER
from trnn_core.jobs.processes import Watcher, identify, machine_name, pulse, read_beat, start_detached

PROGRAM = "trnn_core"  # `python -m PROGRAM worker`, `... job`: a test has kinds of jobs of its own
IDLE_SECONDS = 600.0  # after which a worker that nobody has asked for by name leaves
ROOM_BYTES = 65_536  # that must be free on the disk before a job is started
STARTED, TROUBLE = "started.json", "trouble.json"  # of a worker: its process when just started; why it cannot work


class Store(Protocol):
    """A folder that holds jobs, and who watches their hearts."""

    root: Path
    watcher: Watcher


class Ticket(NamedTuple):
    verb: str
    job_id: str


def add_ticket(root: Path, verb: str, job_id: str) -> None:
    """Queue a job behind all that wait already."""
    folder = root / QUEUE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{time.time_ns():020d}~{verb}~{job_id}").touch()
    except OSError as e:
        raise explain_os_error(e, folder) from e


def tickets_of(root: Path, job_id: str) -> set[str]:
    return {ticket.name for ticket in (root / QUEUE).glob(f"*~{job_id}")}


def drop_tickets(root: Path, job_id: str) -> None:
    for ticket in tickets_of(root, job_id):
        with_no_error((root / QUEUE / ticket).unlink)


def waiting(root: Path, verbs: Collection[str] | None = None) -> list[Ticket]:
    """Who waits, first come first; of these verbs only, if given."""
    folder = root / QUEUE
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    found = [Ticket(*name.split("~")[1:]) for name in names if name.count("~") == 2]
    return [ticket for ticket in dict.fromkeys(found) if verbs is None or ticket.verb in verbs]


def queued(store: Store, verb: str) -> list[str]:
    """Ids of the jobs of a verb that wait, first come first."""
    return [ticket.job_id for ticket in waiting(store.root, (verb,))]


def worker_folder(root: Path) -> Path:
    """Lock, heartbeat, slots and log of this machine's worker; each machine on a shared store has its own."""
    return root / WORKER / machine_name()


def worker_is_alive(root: Path) -> bool:
    """Whether this machine's worker is at work, or was started and is about to be."""
    folder = worker_folder(root)
    return is_locked(folder / "lock") or pulse(read_beat(folder / STARTED)) == "alive"


def command(root: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", PROGRAM, *words, "--runs", str(root.resolve())]


def ensure_worker(store: Store, limit: int | None = None, idle_exit: float | None = IDLE_SECONDS) -> bool:
    """Start a worker of its own, detached from this process, unless one is alive; True when one was started.

    Call it after queueing: a worker about to end for want of work looks at the queue once more. It is not waited for:
    what is queued is on the disk.
    """
    folder = worker_folder(store.root)
    if worker_is_alive(store.root):
        return False
    options = {"--limit": limit, "--idle-exit": idle_exit}
    words = [word for name, value in options.items() if value for word in (name, str(value))]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        process = start_detached(command(store.root, "worker", *words), folder / LOG)
    except OSError as e:
        raise explain_os_error(e, folder) from e
    write_sealed(folder / STARTED, identify(process.pid).to_json(), durable=False)
    threading.Thread(target=process.wait, daemon=True, name="reaper").start()  # else it would stay as a zombie
    return True


def why_waiting(root: Path, job_id: str) -> str:
    """Why a queued job does not run yet, for whoever looks: what anybody can see first, then what the worker says."""
    try:
        if shutil.disk_usage(root).free < ROOM_BYTES:
            return "Waiting: the disk is full; it begins when there is room again."
    except OSError:
        return "Waiting: the folder of runs cannot be reached."
    if not os.access(root, os.W_OK):
        return "Waiting: the folder of runs cannot be written to; it begins when it can."
    if trouble := (read_beat(worker_folder(root) / TROUBLE) or {}).get("message"):
        return f"Waiting: {trouble}"
    tickets = waiting(root)
    mine = next((n for n, ticket in enumerate(tickets) if ticket.job_id == job_id), None)
    if mine is None or not worker_is_alive(root):
        return "Waiting for a worker to take it."
    ahead = sum(ticket.verb == tickets[mine].verb for ticket in tickets[:mine])
    return f"Waiting for its turn, with {ahead} before it." if ahead else "Waiting for its turn, next in the queue."
