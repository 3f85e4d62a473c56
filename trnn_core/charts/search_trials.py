"""A search for settings, drawn: how good each trial was, and which settings mattered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from trnn_core.charts.bars import ranking
from trnn_core.charts.look import Look, finish
from trnn_core.charts.theme import fade, plain

WORDS = {"complete": "whole trial", "pruned": "ended early", "running": "at work", "failed": "failed"}


def trial_history(trials: Sequence[Mapping[str, Any]], look: Look) -> go.Figure:
    """The validation loss of every trial in order, and the best so far."""
    colours = look.colours
    figure = go.Figure()
    for i, state in enumerate(("complete", "pruned", "running")):
        some = [t for t in trials if t["state"] == state and t["value"] is not None]
        if not some:
            continue
        filled = state == "complete"
        colour = colours.lines[(0, 6, 4)[i]]
        figure.add_scatter(
            x=[t["number"] + 1 for t in some],
            y=[t["value"] for t in some],
            mode="markers",
            name=WORDS[state],
            marker={
                "size": 9,
                "color": colour if filled else fade(colour, 0.35),
                "symbol": "circle" if filled else "x" if state == "pruned" else "circle-open",
            },
            text=[settings_text(t["params"]) for t in some],
            hovertemplate="<b>trial %{x}</b>: %{y:.5g}<br>%{text}<extra></extra>",
        )
    whole = [t for t in trials if t["state"] == "complete"]
    if whole:
        best = np.minimum.accumulate([t["value"] for t in whole])
        figure.add_scatter(
            x=[t["number"] + 1 for t in whole],
            y=best,
            mode="lines",
            name="best so far",
            hoverinfo="skip",
            line={"shape": "hv", "width": 2, "color": colours.lines[1]},
        )
    else:
        figure.add_annotation(text="waiting for the first whole trial", showarrow=False, font={"color": colours.faint})
    figure.update_xaxes(title="trial", range=[0.5, max(len(trials), 1) + 0.5], dtick=1 if len(trials) <= 12 else None)
    figure.update_yaxes(
        title="validation loss", type="log" if whole else "linear", exponentformat="power", showticklabels=bool(whole)
    )
    look = look.or_else("Trials", subtitle="lower is better; validation periods", height=340)
    return finish(figure, look, margin=(64, 12, 66, 84), uirevision="trials")


def setting_importance(importance: Mapping[str, float], look: Look) -> go.Figure:
    """What share of the difference between good and other trials each setting accounts for."""
    names = [setting_name(n) for n in importance]
    shares = [100 * float(s) for s in importance.values()]
    look = look.or_else("What mattered", height=300)
    return ranking(names, shares, look, unit="share of the difference, %", axis="setting")


def setting_name(name: str) -> str:
    """
    >>> setting_name("train.learning_rate")
    'learning rate'
    """
    return name.rpartition(".")[2].replace("_", " ")


def settings_text(params: Mapping[str, Any]) -> str:
    return "<br>".join(
        f"{setting_name(n)}: {plain(f'{v:.4g}' if isinstance(v, float) else str(v))}" for n, v in params.items()
    )
