"""`explain RUN`: which past weeks, senders, receivers and actions drove one forecast."""

from __future__ import annotations

from typing import Annotated

from trnn_core.jobs.context import Context
from trnn_core.verbs.common import ANSWER, Answer, RelationQuestion, Told, open_run, relation
from trnn_core.verbs.request import Option, Result

HELP = "say what of the recent past drove the forecast of one relation, contribution by contribution"
LINE = ""


class Request(RelationQuestion):
    step: Annotated[int, Option("periods ahead, from 1 (default: 1)")] = 1


def run(request: Request, context: Context) -> Result:
    from trnn_core.insight.answers import pack
    from trnn_core.insight.attribution import attribute
    from trnn_core.insight.sentences import NOT_CAUSE, drivers, say_attribution, say_completeness

    found, view = open_run(request, context)
    answer = attribute(view, relation(request, view), request.step)
    context.write(ANSWER, pack(answer))
    series = view.series

    def told() -> Told:
        sentences = [
            say_attribution(answer, series.actors, series.actions, series.period, view.unit),
            say_completeness(answer),
            NOT_CAUSE,
        ]
        about = {
            "run": found.run_id,
            "simulated": series.source.simulated,
            "value": answer.value,
            "usual": answer.usual_value,
            "gap": answer.gap,
            "complete": answer.complete,
        }
        return sentences, drivers(answer, series.actors, series.actions), about

    return Answer(request.out, told, value=answer)
