"""`influence RUN`: who moves whom, beside Hoff's regression, with what may be believed of it."""

from __future__ import annotations

from typing import Annotated, Literal

from trnn_core.jobs.context import Context
from trnn_core.verbs.common import ANSWER, Answer, Question, Told, store_of
from trnn_core.verbs.request import Option, Result

HELP = "say whose acts move whose, with standard errors and Hoff's regression beside it; kept with the run"
LINE = "{percent:>5} {words}"
PARTS = ("sender", "receiver", "action")


class Request(Question):
    part: Annotated[
        Literal["sender", "receiver", "action"],
        Option("influence in sending, in receiving, or between actions (default: sender)", role="here"),
    ] = "sender"
    retrain: Annotated[
        bool,
        Option(
            "check by training three more networks, each without another third of the weeks; takes three times the"
            " training"
        ),
    ] = False


def run(request: Request, context: Context) -> Result:
    import torch

    from trnn_core.insight.loading import explain_run, load_view
    from trnn_core.insight.sentences import NOT_CAUSE, say_check, say_tie, ties

    torch.set_num_threads(1)
    store = store_of(context)
    owner, part = store.get(request.run), request.part
    answer = explain_run(store, owner, context.progress, request.retrain, context.stopping)
    context.write(ANSWER, answer.to_npz())

    def told() -> Told:
        series, table = load_view(store, owner).series, ties(answer, part)
        agreement = dict(zip(PARTS, answer.agreement(answer.regression), strict=True))
        n_solid = int(table["solid"].sum())
        sentences = [
            *(say_tie(row, part, series.period) for _, row in table[table["solid"]].head(3).iterrows()),
            *([say_check(answer, part)] if answer.retrained else []),
            f"{n_solid} of {len(table)} ties stand out from their errors ({answer.stability}).",
            f"Off the diagonal it correlates with Hoff's regression at {agreement[part]:.2f}.",
            NOT_CAUSE,
        ]
        about = {
            "run": owner.run_id,
            "simulated": series.source.simulated,
            "part": part,
            "method": answer.jacobian.method,
            "stability": answer.stability,
            "agreement": agreement,
            "solid": n_solid,
            "retrained": answer.retrained,
            "between": dict(zip(PARTS, answer.between, strict=True)) if answer.retrained else None,
        }
        return sentences, table, about

    return Answer(request.out, told, value=answer)
