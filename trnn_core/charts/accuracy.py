"""How good forecasts were: errors by model, over time, by action, step and country; calibration. Less is better."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from trnn_core.charts.look import Look, finish
from trnn_core.charts.theme import colour_at, fade, plain
from trnn_core.words import SIGN


def errors_by_model(names: Sequence[str], errors: Sequence[float], accent: str, look: Look, *, unit: str) -> go.Figure:
    """Horizontal bars, the best on top, the model in hand in its own colour."""
    colours = look.colours
    figure = go.Figure(
        go.Bar(
            x=list(errors)[::-1],
            y=[plain(n) for n in names][::-1],
            orientation="h",
            marker={
                "color": [
                    colours.lines[1] if n == accent else colour_at((colours.ground, colours.lines[0]), 0.65)
                    for n in names
                ][::-1]
            },
            text=[f"{e:.4g}" for e in errors][::-1],
            textposition="outside",
            cliponaxis=False,
            textfont={"color": colours.ink},
            hovertemplate="%{y}: %{x:.5g}<extra></extra>",
        )
    )
    largest = max([e for e in errors if np.isfinite(e)], default=1.0)
    figure.update_xaxes(title=f"{unit}, less is better", range=[0, 1.14 * largest or 1.0])
    figure.update_yaxes(title="model", showgrid=False)
    look = look.or_else("Error of each model", height=130 + 28 * len(names))
    return finish(figure, look, margin=(10, 20, 66, 46))


def errors_over_time(table: pd.DataFrame, models: Sequence[str], look: Look, *, unit: str, period: str) -> go.Figure:
    """A line per model over the periods that were forecast; `table` has a column per model."""
    figure = go.Figure()
    for n, model in enumerate(models):
        figure.add_scatter(
            x=list(table.index),
            y=table[model],
            mode="lines+markers" if len(table) <= 80 else "lines",
            name=plain(model),
            marker={"size": 4},
            line={
                "width": 2 if n == 0 else 1.3,
                "color": look.colours.lines[n % 8],
                "dash": "solid" if n == 0 else ("dash", "dot", "dashdot")[(n - 1) % 3],
            },
            hovertemplate="%{x|%d %b %Y}: %{y:.4g}<extra>" + plain(model) + "</extra>",
        )
    figure.update_yaxes(title=unit, rangemode="tozero")
    figure.update_xaxes(title=f"{period} that was forecast", type="date")
    return finish(figure, look.or_else("Error over time", height=400), margin=(60, 12, 66, 90))


def errors_by_group(table: pd.DataFrame, models: Sequence[str], look: Look, *, unit: str, axis: str) -> go.Figure:
    """Bars side by side: a group per row of `table` (an action, a step), a bar per model."""
    figure = go.Figure()
    for n, model in enumerate(models):
        figure.add_bar(
            x=[plain(str(row)).replace(" ", "<br>") for row in table.index],
            y=table[model],
            name=plain(model),
            marker={"color": look.colours.lines[n % 8]},
            hovertemplate="%{x}: %{y:.4g}<extra>" + plain(model) + "</extra>",
        )
    figure.update_layout(barmode="group", bargap=0.25)
    figure.update_yaxes(title=unit, rangemode="tozero")
    figure.update_xaxes(title=axis, type="category", tickangle=0)
    look = look.or_else(height=396)
    return finish(figure, look, margin=(60, 12, 66, 120), legend={"y": -72 / (look.height - 186)})


def errors_by_country(table: pd.DataFrame, look: Look, *, unit: str, most: int = 30) -> go.Figure:
    """Two dots per country, as sender and as receiver, the hardest on top."""
    colours, shown = look.colours, table.head(most).iloc[::-1]
    names = [plain(c) for c in shown["country"]]
    figure = go.Figure()
    for x0, x1, name in zip(shown["sent"], shown["received"], names, strict=True):
        figure.add_scatter(
            x=[x0, x1],
            y=[name, name],
            mode="lines",
            line={"color": colours.grid, "width": 3},
            hoverinfo="skip",
            showlegend=False,
        )
    for column, words, colour, symbol in (
        ("sent", "what it does", colours.lines[0], "circle"),
        ("received", "what is done to it", colours.lines[1], "diamond"),
    ):
        figure.add_scatter(
            x=shown[column],
            y=names,
            mode="markers",
            name=words,
            marker={"size": 9, "color": colour, "symbol": symbol},
            hovertemplate="%{y}: %{x:.4g}<extra>" + words + "</extra>",
        )
    figure.update_xaxes(title=f"{unit}, mean over partners", rangemode="tozero")
    figure.update_yaxes(title="country", tickfont={"size": 11})
    return finish(figure, look.or_else("Error by country", height=190 + 18 * len(shown)), margin=(10, 16, 66, 92))


def pit_histogram(bars: np.ndarray, look: Look) -> go.Figure:
    """Where what came fell within the forecast: ten bars that should all be as high as the line."""
    colours, n = look.colours, len(bars)
    names = [f"{100 * i // n}–{100 * (i + 1) // n}" for i in range(n)]
    figure = go.Figure(
        go.Bar(
            x=[100 * (i + 0.5) / n for i in range(n)],
            y=100 * bars,
            text=names,
            textposition="none",
            marker={"color": colours.node},
            hovertemplate="%{text}: %{y:.1f}" + SIGN + "<extra></extra>",
        )
    )
    figure.add_hline(y=100 / n, line={"dash": "dash", "color": colours.lines[1], "width": 2})
    figure.update_layout(bargap=0.06, showlegend=False)
    figure.update_yaxes(
        title="share of what came", ticksuffix=SIGN, range=[0, max(15.0, float(np.nanmax(bars, initial=0.0)) * 110)]
    )
    figure.update_xaxes(
        title="percentiles of the forecast (randomised PIT)", range=[-1, 101], dtick=20, tickangle=0, showgrid=False
    )
    look = look.or_else("Where in its forecast what came fell", subtitle="dashed: as it should be", height=360)
    return finish(figure, look, margin=(60, 12, 66, 60))


def coverage_by_group(table: pd.DataFrame, models: Sequence[str], groups: Sequence[str], look: Look) -> go.Figure:
    """How often the 90 % interval held, for quiet to active pairs; the band is 88 to 92 %."""
    colours = look.colours
    figure = go.Figure()
    figure.add_hrect(y0=88, y1=92, fillcolor=fade(colours.lines[2], 0.18), line={"width": 0})
    figure.add_hline(y=90, line={"dash": "dash", "color": colours.lines[2], "width": 1.5})
    symbols = ("circle", "diamond", "square", "triangle-up", "cross", "x", "star", "hexagon")
    for n, model in enumerate(models):
        mine = table[table["model"] == model].set_index("group")["coverage90"].reindex(list(groups)) * 100
        figure.add_scatter(
            x=list(groups),
            y=mine.to_numpy(),
            mode="markers",
            name=plain(model),
            marker={"size": 11 if n == 0 else 9, "color": colours.lines[n % 8], "symbol": symbols[n % 8]},
            hovertemplate="%{x}: %{y:.1f}" + SIGN + "<extra>" + plain(model) + "</extra>",
        )
    figure.update_layout(scattermode="group", scattergap=0.6)  # side by side: good models agree
    low = 100 * float(table["coverage90"].min()) if len(table) else 80.0
    figure.update_yaxes(title="share inside the 90\u00a0% interval", ticksuffix=SIGN, range=[min(80.0, low - 2), 100.5])
    figure.update_xaxes(title="pairs by how active they were before the test", type="category")
    look = look.or_else("How often the 90\u00a0% interval held", subtitle="band: 88 to 92\u00a0%", height=360)
    return finish(figure, look, margin=(60, 12, 66, 90))
