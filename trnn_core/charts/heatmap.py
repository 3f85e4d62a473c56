"""Who does how much to whom, as a matrix that can be clicked.

Plotly's heatmaps report no clicks in the dashboard, so transparent squares lie on top and carry (source, target).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from trnn_core.charts.look import EVENTS, Look, Measure, finish
from trnn_core.charts.theme import Palette, count_ticks, plain, scale, short
from trnn_core.errors import TRNNError

MANY = 60  # above this many actors labels get thinner
SQUARES = 6_000  # cells that answer to the pointer, the largest first: a browser takes seconds over all of 250 x 250


def heatmap(
    matrix: np.ndarray,
    actors: Sequence[str],
    look: Look,
    *,
    measure: Measure = EVENTS,
    order: Sequence[int] | None = None,
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
    chosen = _answering(values)
    if len(chosen) < values.size and n > MANY:
        note = f"the {len(chosen):,} largest cells can be clicked"
        look = replace(look, subtitle=" · ".join(filter(None, [look.subtitle, note])))
    cells = _cells(values, measure, look.colours, largest)
    if n > MANY:  # a gap of a pixel would be half of such a cell; half the digits, half the way to the browser
        cells |= {"xgap": 0, "ygap": 0, "z": cells["z"].astype(np.float32)}
    return finish(
        go.Figure([cells, _squares(values, chosen, names, places, measure, details)]),
        look.or_else(height=min(max(17 * n + 200, 360), 760)),
        wide=True,
        hoverdistance=-1 if len(chosen) == values.size else 12,  # pixels from the middle of a cell; -1: wherever
        **_frame(
            [short(name) for name in names],
            [_break(at, n, axis, look.colours.faint) for at in breaks for axis in "xy"],
        ),
    )


def _frame(names: list[str], lines: list[dict[str, object]]) -> dict[str, Any]:
    """Axes, and the margins that their labels need: a browser that measures them draws the picture twice."""
    n = len(names)
    size = 11 if n <= 30 else 9
    across, down = (slice(0, n, 1 if n <= MANY else n // most) for most in (25, 50))  # a figure is taller than wide
    long = size * 0.52 * max(len(name) + sum(c > "\u2e80" for c in name) for name in names)
    axis = {
        "tickfont": {"size": size},
        "ticks": "",
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
        "automargin": False,
        "ticklabeloverflow": "allow",
    }
    return {
        "margin": (int(long) + 42, 10, 74, int((0.87 if n <= MANY else 1) * long) + 46),
        "xaxis": {
            **axis,
            **_ticks(names, across),
            "tickangle": -60 if n <= MANY else -90,
            "range": [-0.5, n - 0.5],
            "title": {"text": "receiver"},
        },
        "yaxis": {**axis, **_ticks(names, down), "range": [n - 0.5, -0.5], "title": {"text": "sender"}},
        "showlegend": False,
        "clickmode": "event+select",
        "dragmode": "pan",
        "shapes": lines,
    }


def _ticks(names: list[str], shown: slice) -> dict[str, Any]:
    return {"tickvals": list(range(len(names)))[shown], "ticktext": [plain(name) for name in names[shown]]}


def _break(at: int, n: int, axis: str, colour: str) -> dict[str, object]:
    across = {f"{axis}0": at - 0.5, f"{axis}1": at - 0.5}
    other = "y" if axis == "x" else "x"
    return {"type": "line", **across, f"{other}0": -0.5, f"{other}1": n - 0.5, "line": {"color": colour, "width": 1.5}}


def _cells(values: np.ndarray, measure: Measure, colours: Palette, largest: float | None) -> dict[str, Any]:
    finite = np.abs(values[np.isfinite(values)])
    top = float(largest if largest is not None else finite.max(initial=0)) or 1.0
    bar = colour_bar(measure.unit)
    low = float(np.nanmin(values)) if finite.size else 0.0
    shown, ends = values, (min(low, 0.0), top)
    if measure.kind == "count":
        ticks, texts = count_ticks(top)
        bar |= {"tickvals": ticks, "ticktext": texts}
        shown, ends = np.log1p(np.maximum(values, 0)), (0.0, float(np.log1p(top)))
    elif measure.kind == "change":
        ends = (-top, top)
    return {
        "type": "heatmap",
        "z": shown,
        "zmin": ends[0],
        "zmax": ends[1],
        "colorscale": scale(colours.changes if measure.kind == "change" else colours.counts),
        "hoverinfo": "skip",
        "colorbar": bar,
        "xgap": 1,
        "ygap": 1,
    }


def colour_bar(title: str) -> dict[str, Any]:
    font = {"size": 12}
    return {
        "thickness": 12,
        "outlinewidth": 0,
        "len": 0.9,
        "title": {"text": title, "side": "right", "font": font},
    }


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
    measure: Measure,
    details: np.ndarray | None,
) -> dict[str, Any]:
    """Transparent markers; `customdata` is the pair of actor positions, in the series' own order.

    Only one of them is drawn (`maxdisplayed`): those that are not answer to the pointer all the same.
    """
    n = len(names)
    rows, cols = np.divmod(chosen, n)
    texts = [
        f"<b>{plain(names[i])} → {plain(names[j])}</b><br>{measure.words(values[i, j])}"
        + (f"<br>{plain(details[places[i], places[j]])}" if details is not None else "")
        for i, j in zip(rows, cols, strict=True)
    ]
    return {
        "type": "scatter",
        "x": cols,
        "y": rows,
        "mode": "markers",
        "hoverinfo": "text",
        "text": _objects(texts),
        "name": "",
        "customdata": _objects(np.stack([places[rows], places[cols]], axis=1).tolist()),
        "marker": {"symbol": "square", "size": max(4, min(24, 560 // n)), "opacity": 0, "maxdisplayed": 1},
        "selected": {"marker": {"opacity": 0}},
        "unselected": {"marker": {"opacity": 0}},
    }


def _objects(items: list) -> np.ndarray:
    """Plotly looks into nested lists item by item, which takes a third of a second for 150 actors; an array of objects
    it takes as it is. (An array of numbers would reach the page as a dict of bytes.)"""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array
