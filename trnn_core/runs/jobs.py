"""The queue: hand runs to the worker, and ask running ones to stop, pause or cancel. No torch here.

A ticket is an empty file in store/.queue whose name orders it; the run's own status says that it is queued, so that a
lost ticket is found again and a doubled one does no harm: a job's process takes the run's lock and looks first.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import trnn_core
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.files import is_locked, lock, with_no_error, write_sealed
from trnn_core.jobs import tickets as tickets_
from trnn_core.jobs.processes import Pulse, Watcher, pulse, read_beat
from trnn_core.runs import layout
from trnn_core.runs.run import Run, Status
from trnn_core.runs.store import RunStore
from trnn_core.training.config import Recipe
from trnn_core.training.events import OUTCOME_OF, Request


def submit(store: RunStore, recipe: Recipe, series: RelationalSeries, **labels: Any) -> Run:
    """Create a run and queue it; `labels` as in `RunStore.create`."""
    run = store.create(recipe, series, **labels)
    add_ticket(store, run.run_id)
    return run


def resume(store: RunStore, run_id: str) -> Run:
    """Queue a run again; it goes on exactly from its newest checkpoint."""
    run = store.get(run_id)
    with lock(run.folder / layout.LOCK, f"Run {run_id} is still being trained; nothing to resume."):
        status = run.status()
        check_resumable(run, status)
        with_no_error((run.folder / layout.REQUEST).unlink)
        words = f"Waiting to go on after epoch {status.epoch}."
        add_ticket(store, run_id)  # before the lock is let go: whoever closes the books of the last job sees it
        write_sealed(run.folder / layout.STATUS, replace(status, state="queued", message=words).__dict__)
    return run


def check_resumable(run: Run, status: Status) -> None:
    """Refuse, in words, to resume what is at work or done."""
    if status.state in ("running", "queued"):
        raise TRNNError(f"Run {run.run_id} is already {status.state}; nothing to resume.")
    if status.state == "finished":
        raise TRNNError(f"Run {run.run_id} is finished; start a new run with more epochs to train longer.")
    if status.state == "diverged":
        raise TRNNError(
            f"Run {run.run_id} diverged and would do so again; start a new run with a smaller learning rate."
        )


def ask(store: RunStore, run_id: str, action: Request) -> Status:
    """Ask a run to stop (keeping its best weights), pause or cancel; a queued one does so at once."""
    run = store.get(run_id)
    status = run.status()
    if status.state == "queued" or (action == "cancel" and status.can_resume):
        try:
            with lock(run.folder / layout.LOCK, "starting"):
                words = f"{OUTCOME_OF[action].capitalize()} while it was {status.state}."
                now = replace(run.status(), state=OUTCOME_OF[action], message=words)
                write_sealed(run.folder / layout.STATUS, now.__dict__)
                drop_tickets(store, run_id)
                return now
        except TRNNError as e:
            if str(e) != "starting":
                raise
    elif status.state != "running":
        raise TRNNError(f"Run {run_id} must be queued or running to {action} it. It is {status.state} instead.")
    write_sealed(run.folder / layout.REQUEST, {"action": action})
    return run.status()


def wait(store: RunStore, run_id: str, seconds: float = 60.0) -> Status:
    """Wait until a run is neither queued nor running, and its process is gone."""
    deadline = time.monotonic() + seconds
    run = store.get(run_id)
    while ((status := run.status()).is_live or _has_process(run)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return status


def _has_process(run: Run) -> bool:
    process = (read_beat(run.folder / layout.HEARTBEAT) or {}).get("process")
    return process is not None and process["pid"] != os.getpid() and pulse(process) == "alive"


def add_ticket(store: RunStore, run_id: str) -> None:
    tickets_.add_ticket(store.root / layout.QUEUE, run_id)


def tickets(store: RunStore, run_id: str) -> set[str]:
    return tickets_.tickets_of(store.root / layout.QUEUE, run_id)


def drop_tickets(store: RunStore, run_id: str) -> None:
    tickets_.drop_tickets(store.root / layout.QUEUE, run_id)


def drop_stale_tickets(store: RunStore, run: Run) -> None:
    """Drop the tickets of a run that is not queued; looked at under its lock, so that none just written is lost."""
    try:
        with lock(run.folder / layout.LOCK, "busy", patience=0.0):
            if run.status().state != "queued":
                drop_tickets(store, run.run_id)
    except TRNNError:
        return  # at work: its own process drops them


def queued(store: RunStore) -> list[str]:
    """Ids of the queued runs, first come first."""
    return tickets_.waiting(store.root / layout.QUEUE)


def worker_folder(store: RunStore) -> Path:
    """Lock, heartbeat, slots and log of this machine's worker; each machine on a shared store has its own."""
    return store.root / layout.WORKER / host_name()


def host_name() -> str:
    """This machine as part of a path."""
    return re.sub(r"[^A-Za-z0-9-]", "_", platform.node())[:60] or "host"


def worker_pulse(store: RunStore, watcher: Watcher | None = None) -> Pulse:
    """Whether this machine's worker is at work."""
    folder = worker_folder(store)
    if is_locked(folder / "lock"):
        return "alive"
    return (watcher or Watcher()).judge(folder / layout.HEARTBEAT) if read_beat(folder / layout.HEARTBEAT) else "dead"


def ensure_worker(store: RunStore, limit: int | None = None, idle_exit: float = 600.0) -> bool:
    """Start a worker of its own, detached from this process, unless one is alive; True when one was started.

    Call it after queueing: a worker about to end for want of work looks at the queue once more.
    """
    if is_locked(worker_folder(store) / "lock"):
        return False
    command = [
        sys.executable,
        "-m",
        "trnn_core",
        "worker",
        "--detach",
        "--runs",
        str(store.root.resolve()),
        "--idle-exit",
        str(idle_exit),
    ]
    if limit is not None:
        command += ["--limit", str(limit)]
    done = subprocess.run(
        command, cwd=code_root(), env=plain_environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise TRNNError(f"The worker could not be started: {words[-1] if words else 'no reason given'}.")
    return True


def code_root() -> Path:
    """The folder that holds the package, so that `python -m trnn_core` finds it from anywhere."""
    return Path(trnn_core.__file__).resolve().parents[1]


def plain_environment(threads: int = 1) -> dict[str, str]:
    """This process's environment with the number of threads set before any library is loaded."""
    return os.environ | {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
