"""`worker`: take queued jobs and do each in a process beside this one."""

from __future__ import annotations

import logging
import sys
import time
from typing import Annotated, ClassVar

from trnn_core.errors import TRNNError
from trnn_core.files import is_locked
from trnn_core.jobs import queue
from trnn_core.jobs.context import Context
from trnn_core.jobs.processes import on_request_to_end
from trnn_core.jobs.worker import Worker, default_limit
from trnn_core.runs import layout
from trnn_core.runs.store import RunStore
from trnn_core.verbs import job_verbs
from trnn_core.verbs.common import store_of
from trnn_core.verbs.request import BaseRequest, Option, Result, Said

HELP = "do queued jobs until told to end (Ctrl-C or SIGTERM: running jobs go back to the queue)"
START_SECONDS = 15.0


class Request(BaseRequest):
    machines: ClassVar[bool] = False

    limit: Annotated[
        int | None, Option(f"runs at once (default: half the cores, here {default_limit()})", role="resources")
    ] = None
    idle_exit: Annotated[
        float | None, Option("end after so long without work", metavar="SECONDS", role="resources")
    ] = None
    detach: Annotated[bool, Option("start it in the background and return", role="here")] = False


def run(request: Request, context: Context) -> Result:
    if request.limit is not None and request.limit < 1:
        raise TRNNError(f"The limit must be at least 1. Got {request.limit} instead.")
    store = store_of(context)
    if request.detach:
        return _detach(store, request.limit, request.idle_exit)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s worker: %(message)s", stream=sys.stderr)
    worker = Worker(store, job_verbs(), request.limit, request.idle_exit)
    on_request_to_end(worker.end)
    worker.run()
    return Said("")


def _detach(store: RunStore, limit: int | None, idle_exit: float | None) -> Result:
    """Start one that outlives this process, and see that it is there."""
    queue.ensure_worker(store, limit, idle_exit)
    folder, deadline = queue.worker_folder(store.root), time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if is_locked(folder / "lock"):
            return Said("")  # ours, or one that somebody else started in the same instant
        if not queue.worker_is_alive(store.root):
            break
        time.sleep(0.05)
    raise TRNNError(f"The worker did not start; see {folder / layout.LOG}.")
