"""`worker`: take queued jobs and do each in a process beside this one."""

from __future__ import annotations

import argparse
import logging
import sys
import time

from trnn_core.cli.job import JOBS
from trnn_core.cli.train import add_store
from trnn_core.errors import TRNNError
from trnn_core.files import is_locked
from trnn_core.jobs import queue
from trnn_core.jobs.processes import on_request_to_end
from trnn_core.jobs.worker import Worker, default_limit
from trnn_core.runs import layout
from trnn_core.runs.store import RunStore

HELP = "do queued jobs until told to end (Ctrl-C or SIGTERM: running jobs go back to the queue)"
START_SECONDS = 15.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=int, help=f"runs at once (default: half the cores, here {default_limit()})")
    parser.add_argument("--idle-exit", type=float, metavar="SECONDS", help="end after so long without work")
    parser.add_argument("--detach", action="store_true", help="start it in the background and return")
    add_store(parser)


def run(args: argparse.Namespace) -> int:
    if args.limit is not None and args.limit < 1:
        raise TRNNError(f"The limit must be at least 1. Got {args.limit} instead.")
    store = RunStore(args.runs)
    if args.detach:
        return _detach(store, args.limit, args.idle_exit)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s worker: %(message)s", stream=sys.stderr)
    worker = Worker(store, JOBS, args.limit, args.idle_exit)
    on_request_to_end(worker.end)
    worker.run()
    return 0


def _detach(store: RunStore, limit: int | None, idle_exit: float | None) -> int:
    """Start one that outlives this process, and see that it is there."""
    queue.ensure_worker(store, limit, idle_exit)
    folder, deadline = queue.worker_folder(store.root), time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if is_locked(folder / "lock"):
            return 0  # ours, or one that somebody else started in the same instant
        if not queue.worker_is_alive(store.root):
            break
        time.sleep(0.05)
    raise TRNNError(f"The worker did not start; see {folder / layout.LOG}.")
