"""The task kinds "explain" (a warm process that answers questions at once) and "influence" (which takes a while)."""

from __future__ import annotations

import json
from typing import Any

import torch

from trnn_core.errors import TRNNError
from trnn_core.insight.answers import pack
from trnn_core.insight.attribution import attribute
from trnn_core.insight.counterfactual import HORIZON, run_scenario
from trnn_core.insight.loading import explain_run, load_view
from trnn_core.insight.responses import impulse_response
from trnn_core.insight.shocks import Shock
from trnn_core.insight.surprise import find_unusual
from trnn_core.insight.view import View
from trnn_core.jobs.process import JobContext

ANSWER = "answer.npz"


def run(context: JobContext) -> None:
    """Do one task; its arguments name the question."""
    torch.set_num_threads(1)
    if context.run_id is None:
        raise TRNNError("A question must be about a run. Got none instead.")
    asked = dict(context.request)
    question = asked.pop("question", "")
    if question in ("influence", "retrain"):
        try:
            found = explain_run(
                context.store,
                context.store.get(context.run_id),
                context.progress,
                question == "retrain",
                context.stopping,
            )
        except TRNNError:
            if context.heard:  # somebody asked for it
                return
            raise
        context.write(ANSWER, found.to_npz())
        return
    context.progress(0.05, "Loading the network.")
    view = load_view(context.store, context.run_id)
    context.progress(0.2, "Computing.")
    context.write(ANSWER, answer(view, question, asked))


def answer(view: View, question: str, asked: dict[str, Any]) -> bytes:
    """One question to a view; the answer packed."""
    if question == "warm":
        return json.dumps({"reach": view.reach}).encode()
    if question == "ready":  # learn the spread around forecasts, so that the first scenario need not wait for it
        view.forecaster.forecast(view.series, HORIZON)
        return b"{}"
    if question == "attribution":
        return pack(attribute(view, _cell(view, asked), int(asked["step"])))
    if question == "scenario":
        return pack(run_scenario(view, [Shock(**s) for s in asked["shocks"]], int(asked["horizon"])))
    if question == "impulse":
        return pack(impulse_response(view, _cell(view, asked), float(asked["size"]), int(asked["horizon"])))
    if question == "unusual":
        return pack(find_unusual(view))
    raise TRNNError(
        "A question must be warm, ready, attribution, scenario, impulse, unusual, influence or retrain. Got"
        f" {question!r:.40} instead."
    )


def _cell(view: View, asked: dict[str, Any]) -> tuple[int, int, int]:
    series = view.series
    return (
        series.actors.index(asked["source"]),
        series.actors.index(asked["target"]),
        series.actions.index(asked["action"]),
    )
