"""`resume RUN`: queue runs again; they go on exactly where they were."""

from __future__ import annotations

from trnn_core.jobs.context import Context
from trnn_core.jobs.queue import ensure_worker
from trnn_core.verbs.ask import RunsRequest, told
from trnn_core.verbs.common import store_of
from trnn_core.verbs.request import Result

HELP = "queue runs again; they go on exactly where they were"


class Request(RunsRequest):
    pass


def run(request: Request, context: Context) -> Result:
    store = store_of(context)
    found = {name: store.get(name).resume() for name in request.names}
    ensure_worker(store)
    return told({name: run.status() for name, run in found.items()})
