"""`stop RUN`: end runs now; the best weights so far are kept and forecast with."""

from __future__ import annotations

from trnn_core.jobs.context import Context
from trnn_core.verbs.ask import WishRequest, ask
from trnn_core.verbs.request import Result

HELP = "end runs now; the best weights so far are kept and forecast with"


class Request(WishRequest):
    pass


def run(request: Request, context: Context) -> Result:
    return ask(request, context, "stop")
