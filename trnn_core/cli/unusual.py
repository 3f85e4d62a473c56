"""`unusual RUN`: weeks in which the relations behaved unlike their past, and what moved."""

from __future__ import annotations

import argparse

import pandas as pd

from trnn_core.cli.questions import add_question, open_run, tell

HELP = "name the periods in which the relations behaved unlike what their past led the network to expect"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_question(parser)


def run(args: argparse.Namespace) -> int:
    from trnn_core.insight.sentences import moved, say_unusual
    from trnn_core.insight.surprise import find_unusual

    _, found, view = open_run(args)
    answer, series = find_unusual(view), view.series
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
    return tell(args, [say_unusual(answer, series.period)], pd.DataFrame(rows), about)
