"""Pictures of why and what if: influence with doubtful ties in grey, contributions, two forecasts side by side,
surprise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from trnn_core.charts.heatmap import colour_bar
from trnn_core.charts.lines import add_band, with_interval
from trnn_core.charts.look import Look, finish
from trnn_core.charts.theme import LESS, MORE, fade, number, plain, scale
from trnn_core.errors import TRNNError

Band = Sequence[np.ndarray]  # middle, lower, upper


def influence_matrix(
    matrix: np.ndarray,
    names: Sequence[str],
    look: Look,
    *,
    solid: np.ndarray | None = None,
    order: Sequence[int] | None = None,
    largest: float = 1.0,
) -> go.Figure:
    """Rows are moved, columns move. Ties that are not `solid` are grey; continuation (the diagonal) is left blank."""
    n = len(names)
    if matrix.shape != (n, n):
        raise TRNNError(f"The matrix must be {n} x {n}, one row and column per name. Got {matrix.shape} instead.")
    places = np.arange(n) if order is None else np.asarray(order)
    cut = np.ix_(places, places)
    values, own = np.asarray(matrix, dtype=float)[cut], np.eye(n, dtype=bool)
    firm = np.ones((n, n), dtype=bool) if solid is None else np.asarray(solid, dtype=bool)[cut]
    shown = [plain(names[int(i)]) for i in places]
    colours = look.colours
    hover = [[_tie(shown[c], shown[r], values[r, c], firm[r, c]) for c in range(n)] for r in range(n)]
    cells = {"xgap": 1, "ygap": 1, "hoverinfo": "text", "text": hover}
    figure = go.Figure()
    grey = np.where(own | firm, np.nan, np.minimum(np.abs(values) / largest, 1.0))
    figure.add_heatmap(
        z=grey,
        zmin=0,
        zmax=1,
        showscale=False,
        colorscale=[[0, fade(colours.faint, 0.06)], [1, fade(colours.faint, 0.45)]],
        **cells,
    )
    figure.add_heatmap(
        z=np.where(own | ~firm, np.nan, values),
        zmin=-largest,
        zmax=largest,
        colorscale=scale(colours.changes),
        colorbar=colour_bar("1: own continuation"),
        **cells,
    )
    ticks = {
        "tickvals": list(range(n)),
        "ticktext": [s if len(s) <= 20 else s[:19] + "…" for s in shown],
        "tickfont": {"size": 11 if n <= 30 else 8},
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "fixedrange": True,
    }
    figure.update_xaxes(**ticks, tickangle=-60, range=[-0.5, n - 0.5], title="who moves")
    figure.update_yaxes(**ticks, range=[n - 0.5, -0.5], title="who is moved")
    look = look.or_else(height=min(max(17 * n + 210, 330), 760))
    return finish(figure, look, margin=(90, 10, 74, 90), wide=True)


def _tie(mover: str, moved: str, value: float, firm: bool) -> str:
    doubt = "" if firm or mover == moved else "<br>not to be told from noise"
    return f"<b>{mover}</b> moves <b>{moved}</b><br>{value:+.2f} of own continuation{doubt}"


def contributions(names: Sequence[str], values: Sequence[float], look: Look, *, unit: str, axis: str) -> go.Figure:
    """Bars to the right (raises) and to the left (lowers), in the order given from top to bottom."""
    figure = go.Figure(
        go.Bar(
            x=[float(v) for v in values][::-1],
            y=[plain(n) for n in names][::-1],
            orientation="h",
            marker={"color": [MORE if v > 0 else LESS for v in values][::-1]},
            text=[number(float(v), signed=True) for v in values][::-1],
            textposition="auto",
            cliponaxis=False,
            hoverinfo="skip",
        )
    )
    low, high = min(0.0, *values), max(0.0, *values)
    room = 0.25 * (high - low or 1.0)  # for the figures beside the bars
    ends = [low - room * (low < 0), high + room / 2 * (high > 0)]
    return finish(
        figure,
        look.or_else(height=300),
        margin=(10, 24, 64, 44),
        xaxis={"title": {"text": unit}, "zeroline": True, "range": ends},
        yaxis={"title": {"text": axis}, "showgrid": False, "type": "category"},
    )


def with_and_without(dates: Sequence[str], changed: Band, usual: Band, look: Look, *, unit: str) -> go.Figure:
    """Two forecasts of one relation with their intervals."""
    colours = look.colours
    figure = go.Figure()
    for (middle, lower, upper), name, colour in (
        (usual, "without the change", colours.lines[0]),
        (changed, "with it", colours.lines[1]),
    ):
        add_band(figure, dates, lower, upper, fade(colour, 0.15), showlegend=False)
        figure.add_scatter(
            x=list(dates),
            y=middle,
            mode="lines+markers",
            name=name,
            line={"color": colour, "width": 2},
            marker={"size": 6},
            text=with_interval(middle, lower, upper),
            hovertemplate="%{x|%d %b %Y}: %{text}<extra>" + name + "</extra>",
        )
    figure.update_yaxes(title=unit)
    figure.update_xaxes(title="period (its first day)", type="date", tickformat="%d %b", nticks=6)
    return finish(figure, look.or_else(height=340), margin=(60, 16, 66, 84))


def responses(names: Sequence[str], bands: Sequence[Band], look: Look, *, unit: str, period: str) -> go.Figure:
    """Answers to a push over the periods that follow; the first one, the pushed relation, with its range."""
    colours = look.colours
    figure = go.Figure()
    for place, (name, (middle, lower, upper)) in enumerate(zip(names, bands, strict=True)):
        colour = colours.lines[place % len(colours.lines)]
        ahead = list(range(1, len(middle) + 1))
        if place < 2:
            add_band(figure, ahead, lower, upper, fade(colour, 0.14), showlegend=False)
        figure.add_scatter(
            x=ahead,
            y=middle,
            mode="lines+markers",
            name=plain(name),
            line={"color": colour, "width": 2.4 if place == 0 else 1.6},
            text=with_interval(middle, lower, upper, signed=True),
            hovertemplate="%{text}<extra>" + plain(name) + "</extra>",
        )
    figure.update_yaxes(title=f"difference, {unit}", zeroline=True)
    figure.update_xaxes(title=f"{period}s after the push", dtick=1)
    look, room = look.or_else(height=440), 20 * len(names)  # pixels of the legend, a line per name
    below = {"orientation": "v", "x": 0, "y": -56 / (look.height - 122 - room), "xanchor": "left", "yanchor": "top"}
    return finish(figure, look, margin=(60, 16, 66, 56 + room), legend=below)


def surprise_over_time(
    dates: Sequence[str],
    surprise: np.ndarray,
    flagged: Sequence[int],
    stretches: Sequence[tuple[int, int]],
    threshold: float,
    look: Look,
    *,
    first_unseen: int | None = None,
    period: str = "week",
) -> go.Figure:
    """Surprise per period, the threshold, unusual periods as dots to click, stretches shaded."""
    colours = look.colours
    figure = go.Figure()
    figure.add_scatter(
        x=list(dates),
        y=surprise,
        mode="lines",
        name="surprise",
        line={"color": colours.node, "width": 1.2},
        hovertemplate="%{x|%d %b %Y}: %{y:.1f}<extra></extra>",
    )
    at = list(flagged)
    figure.add_scatter(
        x=[dates[t] for t in at],
        y=[float(surprise[t]) for t in at],
        mode="markers",
        name=f"unusual {period}",
        marker={"size": 9, "color": MORE, "line": {"width": 1, "color": colours.ground}},
        customdata=[[t, t] for t in at],
        hovertemplate="%{x|%d %b %Y}: %{y:.1f}<extra>unusual</extra>",
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
    )
    for a, b in stretches:
        figure.add_vrect(x0=dates[a], x1=dates[b], fillcolor=fade(MORE, 0.14), line_width=0)
    figure.add_hline(
        y=threshold,
        line={"color": MORE, "width": 1, "dash": "dot"},
        annotation_text=f"threshold {threshold:g}",
        annotation_position="top left",
    )
    if first_unseen is not None and 0 < first_unseen < len(dates):
        figure.add_vline(x=dates[first_unseen], line={"color": colours.faint, "width": 1, "dash": "dash"})
        figure.add_annotation(
            x=dates[first_unseen],
            y=1,
            yref="paper",
            text="not learnt from →",
            showarrow=False,
            xanchor="left",
            font={"size": 11, "color": colours.faint},
        )
    top = max(float(np.max(surprise, initial=0.0)), threshold)
    figure.update_yaxes(
        title=f"surprise (usual {period}: 0)", range=[float(np.min(surprise, initial=0.0)) - 0.5, top + 1.2]
    )
    figure.update_xaxes(title=f"{period} (its first day)", type="date")
    look = look.or_else(f"How unlike its past each {period} was", height=380)
    return finish(figure, look, margin=(60, 16, 66, 84), clickmode="event+select", dragmode="zoom")
