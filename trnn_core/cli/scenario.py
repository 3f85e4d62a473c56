"""`scenario RUN --shock ...`: the forecast with and without changes to recent weeks; keep, list, compare, delete."""

from __future__ import annotations

import argparse
import json

from trnn_core.cli.questions import add_question, open_run, tell
from trnn_core.errors import TRNNError
from trnn_core.runs.store import RunStore

HELP = 'ask what if: forecast with and without shocks such as "China,Japan,material conflict,+20"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_question(parser)
    parser.add_argument(
        "--shock",
        action="append",
        metavar="SENDER,RECEIVER,ACTION,AMOUNT[,DATE]",
        help=(
            "a change to a recent week: +20, -5, =3 or x2; no date means the last week known; may be given several"
            " times"
        ),
    )
    parser.add_argument("--horizon", type=int, default=8, help="periods ahead (default: 8)")
    parser.add_argument("--save", metavar="NAME", help="keep the scenario with the run")
    parser.add_argument("--list", action="store_true", help="list the scenarios kept with the run")
    parser.add_argument("--delete", metavar="ID", help="delete a kept scenario")
    parser.add_argument("--compare", nargs=2, metavar="ID", help="two kept scenarios side by side")


def run(args: argparse.Namespace) -> int:
    from trnn_core.insight import library

    found = RunStore(args.runs).get(args.name)
    if args.delete:
        library.delete_scenario(found, args.delete)
        print(json.dumps({"deleted": args.delete}) if args.json else f"Scenario {args.delete} is deleted.")
        return 0
    if args.list:
        rows = [
            {"id": s.scenario_id, "name": s.name, "changes": s.words, "created": s.created}
            for s in library.list_scenarios(found)
        ]
        print(
            json.dumps(rows, indent=1)
            if args.json
            else "\n".join(f"{r['id']}  {r['name']}: {r['changes']}" for r in rows)
            or "No scenarios are kept with this run."
        )
        return 0
    if args.compare:
        return compare(args)
    if not args.shock:
        raise TRNNError('A scenario needs --shock "SENDER,RECEIVER,ACTION,AMOUNT", or --list, --compare or --delete.')
    return ask(args)


def ask(args: argparse.Namespace) -> int:
    from trnn_core.insight import library
    from trnn_core.insight.counterfactual import run_scenario
    from trnn_core.insight.sentences import NOT_CAUSE, effects, say_effect
    from trnn_core.insight.shocks import parse_shock

    _, found, view = open_run(args)
    series = view.series
    shocks = [parse_shock(text, series) for text in args.shock]
    outcome = run_scenario(view, shocks, args.horizon)
    kept = library.save_scenario(found, args.save, shocks, outcome).scenario_id if args.save else None
    sentences = [
        *(f"What if: {s}." for s in shocks),
        say_effect(outcome, series.actors, series.actions, 0, series.period, view.unit),
        f"Interval: {outcome.interval_words}.",
        NOT_CAUSE,
    ]
    about = {
        "run": found.run_id,
        "simulated": series.source.simulated,
        "shocks": [s.to_json() for s in shocks],
        "saved": kept,
    }
    return tell(args, sentences, effects(outcome, series.actors, series.actions), about)


def compare(args: argparse.Namespace) -> int:
    from trnn_core.insight import library
    from trnn_core.insight.sentences import apart

    found = RunStore(args.runs).get(args.name)
    data = found.config["data"]
    actors, actions = found.recipe.data.actors or data["actors"], found.recipe.data.actions or data["actions"]
    both = [library.get_scenario(found, i) for i in args.compare]
    table = apart(both[0].outcome(), both[1].outcome(), actors, actions)
    return tell(
        args,
        [f"{word}: {s.name} ({s.words})." for word, s in zip(("first", "second"), both, strict=True)],
        table,
        {"run": found.run_id},
    )
