"""`explain RUN`: which past weeks, senders, receivers and actions drove one forecast."""

from __future__ import annotations

import argparse

from trnn_core.cli.questions import add_question, cell_of, open_run, tell

HELP = "say what of the recent past drove the forecast of one relation, contribution by contribution"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_question(parser, cell=True)
    parser.add_argument("--step", type=int, default=1, help="periods ahead, from 1 (default: 1)")


def run(args: argparse.Namespace) -> int:
    from trnn_core.insight.attribution import attribute
    from trnn_core.insight.sentences import NOT_CAUSE, drivers, say_attribution, say_completeness

    _, found, view = open_run(args)
    answer = attribute(view, cell_of(args, view), args.step)
    series = view.series
    table = drivers(answer, series.actors, series.actions)
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
    return tell(args, sentences, table, about)
