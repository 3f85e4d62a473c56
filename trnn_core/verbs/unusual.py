"""`unusual RUN`: weeks in which the relations behaved unlike their past, and what moved."""

from __future__ import annotations

import pandas as pd

from trnn_core.jobs.context import Context
from trnn_core.verbs.common import ANSWER, Answer, Question, Told, open_run
from trnn_core.verbs.request import Result

HELP = "name the periods in which the relations behaved unlike what their past led the network to expect"
LINE = ""


class Request(Question):
    pass


def run(request: Request, context: Context) -> Result:
    from trnn_core.insight.answers import pack
    from trnn_core.insight.sentences import moved, say_unusual
    from trnn_core.insight.surprise import find_unusual

    found, view = open_run(request, context)
    answer, series = find_unusual(view), view.series
    context.write(ANSWER, pack(answer))

    def told() -> Told:
        rows = []
        for t in answer.surprise.argsort()[::-1]:
            first = moved(answer, int(t), series.actors, series.actions).iloc[0]
            what = (
                f"{first['source']} → {first['target']}, {first['action']}: {first['observed']:.3g}, expected"
                f" {first['expected']:.3g}"
            )
            rows.append(
                {
                    "date": answer.dates[t],
                    "surprise": float(answer.surprise[t]),
                    "learnt": bool(answer.learnt[t]),
                    "furthest": what,
                }
            )
        about = {
            "run": found.run_id,
            "simulated": series.source.simulated,
            "flagged": [answer.dates[t] for t in answer.flagged],
        }
        return [say_unusual(answer, series.period)], pd.DataFrame(rows), about

    return Answer(request.out, told, value=answer)
