"""`impulse RUN`: how a push to one relation spreads over the weeks that follow."""

from __future__ import annotations

from typing import Annotated

from trnn_core.jobs.context import Context
from trnn_core.verbs.common import ANSWER, Answer, RelationQuestion, Told, open_run, relation
from trnn_core.verbs.request import Option, Result

HELP = "say how a push to one relation spreads over the following periods"
LINE = ""


class Request(RelationQuestion):
    size: Annotated[
        float | None, Option("events added to one period (default: an unusual one, two usual variations)")
    ] = None
    horizon: Annotated[int, Option("periods ahead (default: 8)")] = 8


def run(request: Request, context: Context) -> Result:
    from trnn_core.insight.answers import pack
    from trnn_core.insight.responses import impulse_response, typical_size
    from trnn_core.insight.sentences import NOT_CAUSE, answers, say_impulse

    found, view = open_run(request, context)
    cell, series = relation(request, view), view.series
    answer = impulse_response(view, cell, request.size or typical_size(view, cell), request.horizon)
    context.write(ANSWER, pack(answer))

    def told() -> Told:
        table = answers(answer, series.actors, series.actions, 20)
        sentences = [say_impulse(answer, series.actors, series.actions, series.period), NOT_CAUSE]
        about = {"run": found.run_id, "simulated": series.source.simulated, "size": answer.size}
        return sentences, table, about

    return Answer(request.out, told, 5 * request.horizon, answer)
