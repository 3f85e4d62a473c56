"""`cancel RUN`: end runs without a forecast, or take them out of the queue."""

from __future__ import annotations

from trnn_core.jobs.context import Context
from trnn_core.verbs.ask import WishRequest, ask
from trnn_core.verbs.request import Result

HELP = "end runs without a forecast, or take them out of the queue"


class Request(WishRequest):
    pass


def run(request: Request, context: Context) -> Result:
    return ask(request, context, "cancel")
