"""`worker`: take queued runs and train each in a process of its own."""

from __future__ import annotations

import argparse
import logging
import signal
import subprocess
import sys
import time

from trnn_core.cli.train import add_store
from trnn_core.errors import TRNNError
from trnn_core.files import is_locked
from trnn_core.runs import layout
from trnn_core.runs.jobs import code_root, plain_environment, worker_folder
from trnn_core.runs.store import RunStore
from trnn_core.runs.worker import Worker, default_limit

HELP = "train queued runs until told to end (Ctrl-C or SIGTERM: running jobs go back to the queue)"
START_SECONDS = 15.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=int, help=f"runs at once (default: half the cores, here {default_limit()})")
    parser.add_argument("--idle-exit", type=float, metavar="SECONDS", help="end after so long without work")
    parser.add_argument("--detach", action="store_true", help="start it in the background and return")
    add_store(parser)


def run(args: argparse.Namespace) -> int:
    if args.limit is not None and args.limit < 1:
        raise TRNNError(f"The limit must be at least 1. Got {args.limit} instead.")
    if args.detach:
        return _detach(args)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s worker: %(message)s", stream=sys.stderr)
    worker = Worker(RunStore(args.runs), args.limit, args.idle_exit)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: worker.end())
    worker.run()
    return 0


def _detach(args: argparse.Namespace) -> int:
    """A worker in a session of its own: it outlives this process, its terminal and the page that asked for it."""
    store = RunStore(args.runs)
    folder = worker_folder(store)
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "trnn_core", "worker", "--runs", str(store.root.resolve())]
    command += ["--limit", str(args.limit)] if args.limit else []
    command += ["--idle-exit", str(args.idle_exit)] if args.idle_exit else []
    with (folder / layout.LOG).open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=code_root(),
            env=plain_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if is_locked(folder / "lock"):
            return 0  # ours, or one that somebody else started in the same instant
        if process.poll() is not None and process.returncode != 0 and not is_locked(folder / "lock"):
            break
        time.sleep(0.05)
    raise TRNNError(f"The worker did not start; see {folder / 'log.txt'}.")
