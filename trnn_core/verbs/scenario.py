"""`scenario RUN --shock ...`: the forecast with and without changes to recent weeks; keep, list, compare, delete."""

from __future__ import annotations

from typing import Annotated, Any

from trnn_core.errors import TRNNError
from trnn_core.insight.shocks import Shock, parse_shock
from trnn_core.jobs.context import Context
from trnn_core.runs.run import Run
from trnn_core.verbs.common import ANSWER, Answer, Question, Told, open_run, store_of
from trnn_core.verbs.request import Option, Result, Said

HELP = 'ask what if: forecast with and without shocks such as "China,Japan,material conflict,+20"'
LINE = ""


class Request(Question):
    """A shock is text as it is typed, or the fields of `Shock`."""

    shocks: Annotated[
        tuple[str | dict[str, Any], ...],
        Option(
            "a change to a recent week: +20, -5, =3 or x2; no date means the last week known; may be given several"
            " times",
            flag="--shock",
            metavar="SENDER,RECEIVER,ACTION,AMOUNT[,DATE]",
        ),
    ] = ()
    horizon: Annotated[int, Option("periods ahead (default: 8)")] = 8
    save: Annotated[str | None, Option("keep the scenario with the run", metavar="NAME", role="here")] = None
    shelf: Annotated[bool, Option("list the scenarios kept with the run", flag="--list", role="here")] = False
    delete: Annotated[str | None, Option("delete a kept scenario", metavar="ID", role="here")] = None
    compare: Annotated[tuple[str, str] | None, Option("two kept scenarios side by side", metavar="ID", role="here")] = (
        None
    )


def run(request: Request, context: Context) -> Result:
    from trnn_core.insight import library

    found = store_of(context).get(request.run)
    if request.delete:
        library.delete_scenario(found, request.delete)
        return Said(f"Scenario {request.delete} is deleted.", {"deleted": request.delete})
    if request.shelf:
        rows = [
            {"id": s.scenario_id, "name": s.name, "changes": s.words, "created": s.created}
            for s in library.list_scenarios(found)
        ]
        words = "\n".join(f"{r['id']}  {r['name']}: {r['changes']}" for r in rows)
        return Said(words or "No scenarios are kept with this run.", rows)
    if request.compare:
        return _compare(request, found)
    if not request.shocks:
        raise TRNNError('A scenario needs --shock "SENDER,RECEIVER,ACTION,AMOUNT", or --list, --compare or --delete.')
    return _ask(request, context)


def _ask(request: Request, context: Context) -> Result:
    from trnn_core.insight import library
    from trnn_core.insight.answers import pack
    from trnn_core.insight.counterfactual import run_scenario
    from trnn_core.insight.sentences import NOT_CAUSE, effects, say_effect

    found, view = open_run(request, context)
    series = view.series
    shocks = [parse_shock(s, series) if isinstance(s, str) else Shock(**s) for s in request.shocks]
    outcome = run_scenario(view, shocks, request.horizon)
    context.write(ANSWER, pack(outcome))
    kept = library.save_scenario(found, request.save, shocks, outcome).scenario_id if request.save else None

    def told() -> Told:
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
        return sentences, effects(outcome, series.actors, series.actions), about

    return Answer(request.out, told, value=outcome)


def _compare(request: Request, found: Run) -> Result:
    from trnn_core.insight import library
    from trnn_core.insight.sentences import apart

    data = found.config["data"]
    actors, actions = found.recipe.data.actors or data["actors"], found.recipe.data.actions or data["actions"]
    both = [library.get_scenario(found, i) for i in request.compare or ()]

    def told() -> Told:
        table = apart(both[0].outcome(), both[1].outcome(), actors, actions)
        words = [f"{word}: {s.name} ({s.words})." for word, s in zip(("first", "second"), both, strict=True)]
        return words, table, {"run": found.run_id}

    return Answer(request.out, told)
