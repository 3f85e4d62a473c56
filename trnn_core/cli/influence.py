"""`influence RUN`: who moves whom, beside Hoff's regression, with what may be believed of it."""

from __future__ import annotations

import argparse

from trnn_core.cli.questions import add_question, open_run, tell

HELP = "say whose acts move whose, with standard errors and Hoff's regression beside it; kept with the run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_question(parser)
    parser.add_argument(
        "--part",
        choices=["sender", "receiver", "action"],
        default="sender",
        help="influence in sending, in receiving, or between actions (default: sender)",
    )
    parser.add_argument(
        "--retrain",
        action="store_true",
        help=(
            "check by training three more networks, each without another third of the weeks; takes three times the"
            " training"
        ),
    )


def run(args: argparse.Namespace) -> int:
    from trnn_core.cli.report import teller
    from trnn_core.insight.loading import explain_run
    from trnn_core.insight.sentences import NOT_CAUSE, say_check, say_tie, ties

    store, found, view = open_run(args)
    show = teller(args.json)
    answer = explain_run(store, found, lambda done, what: show(round(100 * done), 100, what), args.retrain)
    table = ties(answer, args.part)
    agreement = dict(zip(("sender", "receiver", "action"), answer.agreement(answer.regression), strict=True))
    between = dict(zip(("sender", "receiver", "action"), answer.between, strict=True))
    n_solid = int(table["solid"].sum())
    sentences = [
        *(say_tie(row, args.part, view.series.period) for _, row in table[table["solid"]].head(3).iterrows()),
        *([say_check(answer, args.part)] if answer.retrained else []),
        f"{n_solid} of {len(table)} ties stand out from their errors ({answer.stability}).",
        f"Off the diagonal it correlates with Hoff's regression at {agreement[args.part]:.2f}.",
        NOT_CAUSE,
    ]
    about = {
        "run": found.run_id,
        "simulated": view.series.source.simulated,
        "part": args.part,
        "method": answer.jacobian.method,
        "stability": answer.stability,
        "agreement": agreement,
        "solid": n_solid,
        "retrained": answer.retrained,
        "between": between if answer.retrained else None,
    }
    return tell(args, sentences, table, about)
