"""Who does how much to whom, as a matrix that can be clicked.

Plotly's heatmaps report no clicks in the dashboard, so transparent squares lie on top and carry (source, target).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from trnn_core.charts.theme import count_ticks, finish, number, palette, plain, scale
from trnn_core.errors import TRNNError

Kind = Literal["count", "change", "value"]
MANY = 60  # above this many actors the squares are drawn by WebGL and labels get thinner
SQUARES = 6_000  # cells that answer to the pointer, the largest first: a browser takes seconds over all of 250 x 250


def heatmap(
    matrix: np.ndarray,
    actors: Sequence[str],
    title: str,
    *,
    kind: Kind = "count",
    unit: str = "events",
    order: Sequence[int] | None = None,
    simulated: bool,
    subtitle: str = "",
    dark: bool = False,
    height: int | None = None,
    largest: float | None = None,
    details: np.ndarray | None = None,
    breaks: Sequence[int] = (),
) -> go.Figure:
    """Rows act, columns are acted upon. `largest` keeps the colours comparable from week to week.

    matrix   (N, M), NaN where not observed; counts are coloured on a log1p scale, changes symmetrically around zero
    details  (N, M) of text, shown in the hover under the figure; of many actors, only the largest cells answer
    breaks   a line is drawn before these rows and columns (of the order given), between groups of actors
    """
    n = len(actors)
    if matrix.shape != (n, n):
        raise TRNNError(f"The matrix must be {n} x {n}, one row and column per actor. Got {matrix.shape} instead.")
    places = np.arange(n) if order is None else np.asarray(order, dtype=int)
    n = len(places)  # an order may leave actors out
    values = np.asarray(matrix, dtype=float)[np.ix_(places, places)]
    names = [actors[int(i)] for i in places]
    colours = palette(dark)
    chosen = _answering(values)
    if len(chosen) < values.size and n > MANY:
        subtitle = " · ".join(filter(None, [subtitle, f"the {len(chosen):,} largest cells can be clicked"]))  # fmt: skip
    figure = go.Figure(
        [_cells(values, kind, unit, colours, largest), _squares(values, chosen, names, places, kind, unit, details)]
    )
    if n > MANY:  # a gap of a pixel would be half of such a cell; half the digits, half the way to the browser
        figure.data[0].update(xgap=0, ygap=0, z=np.asarray(figure.data[0].z, dtype=np.float32))
    across, down = (_ticks(names, 1 if n <= MANY else n // most) for most in (25, 50))  # a figure is taller than wide
    figure.update_xaxes(
        **across, tickangle=-60 if n <= MANY else -90, showgrid=False, zeroline=False, range=[-0.5, n - 0.5], title="receiver", ticks=""
    )  # fmt: skip
    figure.update_yaxes(**down, showgrid=False, zeroline=False, range=[n - 0.5, -0.5], title="sender", ticks="")
    tall = height or min(max(17 * n + 200, 360), 760)
    figure.update_xaxes(fixedrange=True)
    figure.update_yaxes(fixedrange=True)
    finish(figure, title, subtitle=subtitle, simulated=simulated, dark=dark, height=tall, margin=(90, 10, 74, 90))
    lines = [_break(at, n, axis, colours.faint) for at in breaks for axis in "xy"]
    figure.update_layout(showlegend=False, clickmode="event+select", dragmode="pan", shapes=lines)
    return figure


def _ticks(names: Sequence[str], step: int) -> dict[str, object]:
    return {
        "tickvals": list(range(0, len(names), step)),
        "ticktext": [plain(_short(a)) for a in names[::step]],
        "tickfont": {"size": 11 if len(names) <= 30 else 9},
    }


def _break(at: int, n: int, axis: str, colour: str) -> dict[str, object]:
    across = {f"{axis}0": at - 0.5, f"{axis}1": at - 0.5}
    other = "y" if axis == "x" else "x"
    return {
        "type": "line", **across, f"{other}0": -0.5, f"{other}1": n - 0.5, "line": {"color": colour, "width": 1.5}
    }  # fmt: skip


def _cells(values: np.ndarray, kind: Kind, unit: str, colours, largest: float | None) -> go.Heatmap:
    finite = np.abs(values[np.isfinite(values)])
    top = float(largest if largest is not None else finite.max(initial=0)) or 1.0
    bar = {
        "thickness": 12,
        "outlinewidth": 0,
        "title": {"text": unit, "side": "right", "font": {"size": 12}},
        "len": 0.9,
    }
    if kind == "count":
        ticks, texts = count_ticks(top)
        return go.Heatmap(
            z=np.log1p(np.maximum(values, 0)), zmin=0, zmax=float(np.log1p(top)), colorscale=scale(colours.counts), hoverinfo="skip",
            colorbar={**bar, "tickvals": ticks, "ticktext": texts}, xgap=1, ygap=1,
        )  # fmt: skip
    if kind == "change":
        return go.Heatmap(
            z=values,
            zmin=-top,
            zmax=top,
            colorscale=scale(colours.changes),
            hoverinfo="skip",
            colorbar=bar,
            xgap=1,
            ygap=1,
        )
    low = float(np.nanmin(values)) if finite.size else 0.0
    return go.Heatmap(
        z=values,
        zmin=min(low, 0.0),
        zmax=top,
        colorscale=scale(colours.counts),
        hoverinfo="skip",
        colorbar=bar,
        xgap=1,
        ygap=1,
    )


def _answering(values: np.ndarray) -> np.ndarray:
    """Flat places of the cells that can be pointed at: all, or of very many those with the largest figures."""
    if values.size <= max(SQUARES, MANY**2):
        return np.arange(values.size)
    size = np.nan_to_num(np.abs(values)).ravel()
    return np.sort(np.argpartition(-size, SQUARES)[:SQUARES])


def _squares(
    values: np.ndarray,
    chosen: np.ndarray,
    names: list[str],
    places: np.ndarray,
    kind: Kind,
    unit: str,
    details: np.ndarray | None,
):
    """Transparent markers; `customdata` is the pair of actor positions, in the series' own order."""
    n = len(names)
    rows, cols = np.divmod(chosen, n)
    texts = [
        f"<b>{plain(names[i])} → {plain(names[j])}</b><br>{number(values[i, j], signed=kind == 'change')} {plain(unit)}"
        + (f"<br>{plain(details[places[i], places[j]])}" if details is not None else "")
        for i, j in zip(rows, cols, strict=True)
    ]
    draw = go.Scattergl if n > MANY else go.Scatter
    side = max(4, min(24, 560 // n))
    return draw(
        x=cols, y=rows, mode="markers", hoverinfo="text", text=_objects(texts), name="",
        customdata=_objects(np.stack([places[rows], places[cols]], axis=1).tolist()),
        marker={"symbol": "square", "size": side, "opacity": 0},
        selected={"marker": {"opacity": 0.0}}, unselected={"marker": {"opacity": 0}},
    )  # fmt: skip


def _objects(items: list) -> np.ndarray:
    """Plotly looks into nested lists item by item, which takes a third of a second for 150 actors; an array of objects
    it takes as it is. (An array of numbers would reach the page as a dict of bytes.)"""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _short(name: str, length: int = 22) -> str:
    return name if len(name) <= length else name[: length - 1] + "…"
