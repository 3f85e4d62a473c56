"""`worker`: take queued runs and train each in a process of its own."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import time
from typing import Annotated, ClassVar

from trnn_core.errors import TRNNError
from trnn_core.files import is_locked
from trnn_core.jobs.context import Context
from trnn_core.runs import layout
from trnn_core.runs.jobs import code_root, plain_environment, worker_folder
from trnn_core.runs.store import RunStore
from trnn_core.runs.worker import Worker, default_limit
from trnn_core.verbs.base import BaseRequest, Option, Result, Said
from trnn_core.verbs.common import store_of

HELP = "train queued runs until told to end (Ctrl-C or SIGTERM: running jobs go back to the queue)"
START_SECONDS = 15.0


class Request(BaseRequest):
    machines: ClassVar[bool] = False

    limit: Annotated[
        int | None, Option(f"runs at once (default: half the cores, here {default_limit()})", role="means")
    ] = None
    idle_exit: Annotated[float | None, Option("end after so long without work", metavar="SECONDS", role="means")] = None
    detach: Annotated[bool, Option("start it in the background and return", role="here")] = False


def run(request: Request, context: Context) -> Result:
    if request.limit is not None and request.limit < 1:
        raise TRNNError(f"The limit must be at least 1. Got {request.limit} instead.")
    if request.detach:
        return _detach(request, store_of(context))
    logging.basicConfig(level=logging.INFO, format="%(asctime)s worker: %(message)s", stream=sys.stderr)
    worker = Worker(store_of(context), request.limit, request.idle_exit)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: worker.end())
    worker.run()
    return Said("")


def _detach(request: Request, store: RunStore) -> Result:
    """A worker in a session of its own: it outlives this process, its terminal and the page that asked for it."""
    folder = worker_folder(store)
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "trnn_core", "worker", "--runs", str(store.root.resolve())]
    command += ["--limit", str(request.limit)] if request.limit else []
    command += ["--idle-exit", str(request.idle_exit)] if request.idle_exit else []
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
            return Said("")  # ours, or one that somebody else started in the same instant
        if process.poll() is not None and process.returncode != 0 and not is_locked(folder / "lock"):
            break
        time.sleep(0.05)
    raise TRNNError(f"The worker did not start; see {folder / 'log.txt'}.")
