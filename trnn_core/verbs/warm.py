"""Load a run's network beside the page, so that the first question need not wait for it. Pages ask for it."""

from __future__ import annotations

import json

from trnn_core.jobs.context import Context
from trnn_core.verbs.common import ANSWER, Question, open_run
from trnn_core.verbs.request import Result, Said

HELP = "load a run's network, so that the next question is answered at once"


class Request(Question):
    """`spread`: learn the spread around forecasts too, so that the first scenario need not wait for it."""

    spread: bool = False


def run(request: Request, context: Context) -> Result:
    from trnn_core.insight.counterfactual import HORIZON

    _, view = open_run(request, context)
    if request.spread:
        view.forecaster.forecast(view.series, HORIZON)
    facts = {"reach": view.reach}
    context.write(ANSWER, json.dumps(facts).encode())
    return Said("The network is loaded.", facts)
