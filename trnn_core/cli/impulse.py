"""`impulse RUN`: how a push to one relation spreads over the weeks that follow."""

from __future__ import annotations

import argparse

from trnn_core.cli.questions import add_question, cell_of, open_run, tell

HELP = "say how a push to one relation spreads over the following periods"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_question(parser, cell=True)
    parser.add_argument(
        "--size", type=float, help="events added to one period (default: an unusual one, two usual variations)"
    )
    parser.add_argument("--horizon", type=int, default=8, help="periods ahead (default: 8)")


def run(args: argparse.Namespace) -> int:
    from trnn_core.insight.responses import impulse_response, typical_size
    from trnn_core.insight.sentences import NOT_CAUSE, answers, say_impulse

    _, found, view = open_run(args)
    cell, series = cell_of(args, view), view.series
    answer = impulse_response(view, cell, args.size or typical_size(view, cell), args.horizon)
    table = answers(answer, series.actors, series.actions, 20)
    sentences = [say_impulse(answer, series.actors, series.actions, series.period), NOT_CAUSE]
    about = {"run": found.run_id, "simulated": series.source.simulated, "size": answer.size}
    return tell(args, sentences, table, about, n=5 * args.horizon)
