"""`impulse RUN`: how a push to one relation spreads over the weeks that follow."""

from __future__ import annotations

from typing import Annotated

import pandas as pd

from trnn_core.jobs.context import Context
from trnn_core.verbs.base import Option, Result
from trnn_core.verbs.common import ANSWER, Answer, RelationQuestion, Told, open_run, relation

HELP = "say how a push to one relation spreads over the following periods"
LINE = ""


class Request(RelationQuestion):
    size: Annotated[
        float | None, Option("events added to one period (default: an unusual one, two usual variations)")
    ] = None
    horizon: Annotated[int, Option("periods ahead (default: 8)")] = 8


def run(request: Request, context: Context) -> Result:
    from trnn_core.insight.answers import pack
    from trnn_core.insight.impulse import impulse_response, typical_size
    from trnn_core.insight.words import NOT_CAUSE, say_impulse

    found, view = open_run(request, context)
    cell, series = relation(request, view), view.series
    answer = impulse_response(view, cell, request.size or typical_size(view, cell), request.horizon)
    context.write(ANSWER, pack(answer))

    def told() -> Told:
        rows = [
            {
                "source": series.actors[i],
                "target": series.actors[j],
                "action": series.actions[k],
                "ahead": h + 1,
                "answer": float(answer.mean[h, i, j, k]),
                "lower": float(answer.lower[h, i, j, k]),
                "upper": float(answer.upper[h, i, j, k]),
            }
            for i, j, k in answer.strongest(20)
            for h in range(len(answer.mean))
        ]
        sentences = [say_impulse(answer, series.actors, series.actions, series.period), NOT_CAUSE]
        about = {"run": found.run_id, "simulated": series.source.simulated, "size": answer.size}
        return sentences, pd.DataFrame(rows), about

    return Answer(request.out, told, 5 * request.horizon, answer)
