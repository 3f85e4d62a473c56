"""`job VERB`: do the jobs of a verb that pages and commands have asked for; the worker starts it in the background."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Annotated, ClassVar

from trnn_core import verbs
from trnn_core.errors import TRNNError
from trnn_core.jobs.context import Context
from trnn_core.jobs.lanes import lane_log, slot_path
from trnn_core.jobs.process import JobProcess, shorten_log
from trnn_core.jobs.processes import on_request_to_end, yield_to_others
from trnn_core.verbs.common import store_of
from trnn_core.verbs.request import BaseRequest, Option, Result, Said

HELP = "do waiting jobs of a verb (backtests, explanations, reports), then stay for a while in case more come"


class Request(BaseRequest):
    machines: ClassVar[bool] = False

    verb: Annotated[str, Option(f"one of {', '.join(verbs.job_verbs())}", positional=True)]
    only: Annotated[str | None, Option("do this one and leave", metavar="JOB")] = None
    slot: Annotated[Path | None, Option("the file to keep locked meanwhile (default: the lane's own)")] = None
    idle_exit: Annotated[
        float | None, Option("end after so long without work", metavar="SECONDS", role="resources")
    ] = None


def run(request: Request, context: Context) -> Result:
    known = verbs.job_verbs()
    if request.verb not in known:
        raise TRNNError(f"A job must be one of {', '.join(known)}. Got {request.verb!r} instead.")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    store, lane = store_of(context), known[request.verb].lane
    mine = {name: verb for name, verb in known.items() if verb.lane == lane}
    process = JobProcess(
        store,
        request.slot or slot_path(store.root, lane),
        list(mine),
        lambda name: mine[name].take(),
        max(verb.warm for verb in mine.values()) if request.idle_exit is None else request.idle_exit,
        request.only,
    )
    on_request_to_end(process.end)
    yield_to_others()
    shorten_log(lane_log(store.root, lane))
    process.run()
    return Said("")
