"""Rankings and distributions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from trnn_core.charts.look import Look, finish
from trnn_core.charts.theme import number, plain


def ranking(names: Sequence[str], values: Sequence[float], look: Look, *, unit: str, axis: str) -> go.Figure:
    """Horizontal bars, the largest on top, each with its figure; `axis` says what is ranked."""
    order = np.argsort(values, kind="stable")
    figure = go.Figure(
        go.Bar(
            x=[float(values[i]) for i in order],
            y=[plain(names[i]) for i in order],
            orientation="h",
            marker={"color": look.colours.node},
            text=[number(float(values[i])) for i in order],
            textposition="auto",
            hoverinfo="skip",
            cliponaxis=False,
        )
    )
    figure.update_xaxes(title=unit, rangemode="tozero")
    figure.update_yaxes(title=axis, showgrid=False)
    return finish(figure, look.or_else(height=340), margin=(10, 20, 60, 40))


def before_after(before: np.ndarray, after: np.ndarray, transform: str, look: Look) -> go.Figure:
    """Two histograms side by side: the values as they came, and as the network sees them."""
    from plotly.subplots import make_subplots

    colours = look.colours
    figure = make_subplots(rows=1, cols=2, horizontal_spacing=0.1)
    for column, (values, colour, title) in enumerate(
        ((before, colours.lines[6], "value as observed"), (after, colours.node, f"after {transform}")), start=1
    ):
        shown = np.asarray(values, dtype=float).ravel()
        shown = shown[np.isfinite(shown)]
        heights, edges = np.histogram(shown, bins=40)
        figure.add_bar(
            x=(edges[1:] + edges[:-1]) / 2,
            y=heights,
            width=np.diff(edges),
            marker={"color": colour, "line": {"width": 0}},
            row=1,
            col=column,
            hovertemplate="%{x:.3g}: %{y:,} cells<extra></extra>",
        )
        figure.update_xaxes(title=plain(title), row=1, col=column)
        ends = [np.log10(0.6), np.log10(2 * max(heights.max(initial=1), 1))]  # a single cell is seen, none is nothing
        figure.update_yaxes(title="cells, log scale", type="log", range=ends, dtick=1, row=1, col=column)
    note = f"distribution of all cells before and after {transform}"
    look = look.or_else("What the network sees", subtitle=note, height=320)
    return finish(figure, look, margin=(60, 12, 60, 44), showlegend=False)
