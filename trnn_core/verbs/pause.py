"""`pause RUN`: end runs for now; resume goes on exactly where they were."""

from __future__ import annotations

from trnn_core.jobs.context import Context
from trnn_core.verbs.ask import WishRequest, ask
from trnn_core.verbs.request import Result

HELP = "end runs for now; resume goes on exactly where they were"


class Request(WishRequest):
    pass


def run(request: Request, context: Context) -> Result:
    return ask(request, context, "pause")
