"""Things over time: activity, one dyad with its forecast fan, the loss of a training, a sparkline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from trnn_core.charts.look import Look, finish
from trnn_core.charts.theme import fade, number, plain
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.words import percent


@dataclass(frozen=True)
class Fan:
    """A forecast of one dyad and action: dates (H,), its middle, and its interval at the level given."""

    dates: np.ndarray
    middle: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    level: float = 0.9


def unit_of(series: RelationalSeries) -> str:
    return f"events per {series.period}" if series.source.kind == "count" else "value"


def _time_title(series: RelationalSeries) -> str:
    return "day" if series.period == "day" else f"{series.period} (its first day)"


def activity(series: RelationalSeries, look: Look, *, mark: int | None = None) -> go.Figure:
    """All events of each action, period by period; `mark` draws a line at one period."""
    colours = look.colours
    figure = go.Figure()
    for k, action in enumerate(series.actions):
        total = np.nansum(series.values[..., k], axis=(1, 2))
        seen = series.observed[..., k].any(axis=(1, 2))
        figure.add_scatter(
            x=series.dates,
            y=np.where(seen, total, np.nan),
            name=plain(action),
            mode="lines",
            line={"width": 1.5, "color": colours.lines[k % len(colours.lines)]},
            hovertemplate="%{x|%d %b %Y}: %{y:,.0f}<extra>" + plain(action) + "</extra>",
        )
    if mark is not None:
        figure.add_vline(x=str(series.dates[mark]), line={"color": colours.faint, "width": 1, "dash": "dot"})
    figure.update_yaxes(title=unit_of(series), rangemode="tozero")
    figure.update_xaxes(title=_time_title(series))
    return finish(figure, look.or_else("Activity over time", height=330), margin=(60, 12, 66, 84))


def dyad_history(
    series: RelationalSeries,
    place: tuple[int, int, int],
    look: Look,
    *,
    fan: Fan | None = None,
    last: int | None = 52,
    origin: int | None = None,
) -> go.Figure:
    """What one actor did to another, and, as a fan, what is expected next.

    place   sender, receiver and action
    origin  the last period the forecast knew; what came after it is drawn as what happened
    """
    source, target, action = place
    colours = look.colours
    end = len(series) if origin is None else origin + 1
    cut = slice(max(end - last, 0) if last else 0, end)
    dates, values = series.dates[cut], np.asarray(series.values[(cut, *place)], dtype=float)
    figure = go.Figure()
    figure.add_scatter(
        x=dates,
        y=values,
        mode="lines+markers" if len(dates) <= 120 else "lines",
        name="observed",
        line={"color": colours.node, "width": 1.5, "shape": "linear"},
        marker={"size": 3.5},
        hovertemplate="%{x|%d %b %Y}: %{y:,.3~g}<extra>observed</extra>",
    )
    if fan is not None:
        _add_fan(figure, fan, dates[-1], float(values[-1]), colours.lines[1])
        after = slice(end, end + len(fan.dates))
        if len(series.dates[after]):
            figure.add_scatter(
                x=series.dates[after],
                y=np.asarray(series.values[(after, *place)], dtype=float),
                mode="markers",
                name="what happened",
                marker={"symbol": "diamond-open", "size": 9, "color": colours.ink, "line": {"width": 2}},
                hovertemplate="%{x|%d %b %Y}: %{y:,.3~g}<extra>what happened</extra>",
            )
    note = series.actions[action] + ("" if fan is None else f"; shaded: {percent(fan.level)} interval")
    return finish(
        figure,
        look.or_else(f"{series.actors[source]} → {series.actors[target]}", subtitle=note, height=380),
        margin=(60, 16, 66, 84),
        xaxis={"title": {"text": _time_title(series)}},
        yaxis={
            "title": {"text": unit_of(series)},
            "rangemode": "tozero" if series.source.kind == "count" else "normal",
        },
    )


def _add_fan(figure: go.Figure, fan: Fan, last_date: np.datetime64, last_value: float, colour: str) -> None:
    anchor = last_value if np.isfinite(last_value) else float(fan.middle[0])
    dates = np.concatenate([[last_date], fan.dates])
    lower, upper, middle = (np.concatenate([[anchor], part]) for part in (fan.lower, fan.upper, fan.middle))
    add_band(figure, dates, lower, upper, fade(colour, 0.22), name=f"{percent(fan.level)} interval")
    figure.add_scatter(
        x=dates,
        y=middle,
        mode="lines",
        line={"color": colour, "width": 2, "dash": "dot"},
        hoverinfo="skip",
        showlegend=False,
    )
    figure.add_scatter(
        x=fan.dates,
        y=fan.middle,
        mode="markers",
        name="forecast",
        marker={"size": 6, "color": colour},
        text=with_interval(fan.middle, fan.lower, fan.upper),
        hovertemplate="%{x|%d %b %Y}: %{text}<extra>forecast</extra>",
        error_y={
            "type": "data",
            "symmetric": False,
            "array": fan.upper - fan.middle,
            "arrayminus": fan.middle - fan.lower,
            "color": colour,
            "thickness": 1.5,
            "width": 5,
            "visible": len(fan.dates) == 1,
        },
    )


def add_band(
    figure: go.Figure, x: np.ndarray | Sequence[Any], lower: np.ndarray, upper: np.ndarray, colour: str, **parts: Any
) -> None:
    """What lies between two lines, filled."""
    figure.add_scatter(
        x=np.concatenate([x, x[::-1]]) if isinstance(x, np.ndarray) else [*x, *reversed(x)],
        y=np.concatenate([upper, lower[::-1]]),
        fill="toself",
        mode="lines",
        fillcolor=colour,
        line={"width": 0},
        hoverinfo="skip",
        **parts,
    )


def with_interval(middle: np.ndarray, lower: np.ndarray, upper: np.ndarray, signed: bool = False) -> list[str]:
    """Each figure with its interval in brackets, for the pointer."""
    return [
        f"{number(m, signed)} ({number(a, signed)} to {number(b, signed)})"
        for m, a, b in zip(middle, lower, upper, strict=True)
    ]


def loss_curve(
    history: pd.DataFrame,
    look: Look,
    *,
    log: bool = True,
    smoothing: float = 0.0,
    others: Sequence[tuple[str, pd.DataFrame]] = (),
) -> go.Figure:
    """Training and validation loss by epoch, the best epoch marked; earlier runs faintly behind."""
    if not 0 <= smoothing < 1:
        raise TRNNError(f"Smoothing must be from 0 (none) to below 1. Got {smoothing} instead.")
    colours = look.colours
    figure = go.Figure()
    for name, other in others:
        figure.add_scatter(
            x=other["epoch"],
            y=other["val_loss"],
            mode="lines",
            name=plain(name),
            line={"width": 1, "color": fade(colours.faint, 0.6)},
        )
    for i, (column, name) in enumerate((("train_loss", "training"), ("val_loss", "validation"))):
        values = history[column].astype(float) if column in history else pd.Series(dtype=float)
        if values.notna().any():
            shown = values.ewm(alpha=1 - smoothing).mean() if smoothing else values
            figure.add_scatter(
                x=history["epoch"],
                y=shown,
                mode="lines+markers" if len(history) < 40 else "lines",
                name=name,
                line={"width": 2, "color": colours.lines[i]},
                marker={"size": 4},
                hovertemplate="epoch %{x}: %{y:.5g}<extra>" + name + "</extra>",
            )
    best = best_epoch(history)
    if best is not None:
        figure.add_scatter(
            x=[best[0]],
            y=[best[1]],
            mode="markers",
            name=f"best, epoch {best[0]}",
            marker={
                "symbol": "star",
                "size": 13,
                "color": colours.lines[4],
                "line": {"width": 1, "color": colours.ink},
            },
        )
    figure.update_yaxes(
        type="log" if log else "linear",
        title="loss (l)" + (", log scale" if log else ""),
        exponentformat="power",
    )
    figure.update_xaxes(title="epoch", rangemode="tozero")
    if not len(history):
        figure.add_annotation(text="waiting for the first epoch", showarrow=False, font={"color": colours.faint})
        figure.update_yaxes(type="linear", showticklabels=False)
        figure.update_xaxes(showticklabels=False)
    return finish(figure, look.or_else("Loss", height=380), margin=(60, 12, 66, 84), uirevision="loss")


def best_epoch(history: pd.DataFrame) -> tuple[int, float] | None:
    """The epoch of lowest validation loss, and that loss; NaN is never the best.

    >>> best_epoch(pd.DataFrame({"epoch": [1, 2, 3], "val_loss": [0.4, 0.3, float("nan")]}))
    (2, 0.3)
    """
    if "val_loss" not in history:
        return None
    losses = history["val_loss"].to_numpy(dtype=float)
    if not np.isfinite(losses).any():
        return None
    row = int(np.where(np.isfinite(losses), losses, np.inf).argmin())
    return int(history["epoch"].iloc[row]), float(losses[row])
