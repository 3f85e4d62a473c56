"""The relations of one period as a graph: curved arrows from sender to receiver, nodes that stay where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from trnn_core.charts.heatmap import Kind
from trnn_core.charts.theme import Palette, colour_at, finish, number, palette, plain
from trnn_core.errors import TRNNError

STEPS = 7  # widths and colours of edges come in so many classes; each class is one trace
BEND = 0.16  # how far an arrow leaves the straight line, so that both directions of a pair are seen


@dataclass(frozen=True)
class Edge:
    source: int
    target: int
    weight: float


def strongest(
    matrix: np.ndarray, *, top: int | None = 60, threshold: float | None = None, ego: int | None = None
) -> list[Edge]:
    """The edges worth drawing: the largest by size, above a threshold, of one actor only if asked for.

    >>> strongest(np.array([[0.0, 3.0], [-5.0, 0.0]]), top=1)
    [Edge(source=1, target=0, weight=-5.0)]
    """
    n = len(matrix)
    rows, cols = np.nonzero(np.nan_to_num(matrix))
    kept = rows != cols
    if ego is not None:
        if not 0 <= ego < n:
            raise TRNNError(f"The actor in the middle must be one of 0 to {n - 1}. Got {ego} instead.")
        kept &= (rows == ego) | (cols == ego)
    weights = matrix[rows, cols]
    if threshold is not None:
        kept &= np.abs(weights) >= threshold
    rows, cols, weights = rows[kept], cols[kept], weights[kept]
    order = np.argsort(-np.abs(weights), kind="stable")[: top if top is not None else None]
    return [Edge(int(rows[i]), int(cols[i]), float(weights[i])) for i in order]


def network(
    matrix: np.ndarray,
    actors: Sequence[str],
    positions: np.ndarray,
    title: str,
    *,
    edges: Sequence[Edge] | None = None,
    kind: Kind = "count",
    unit: str = "events",
    simulated: bool,
    subtitle: str = "",
    dark: bool = False,
    height: int = 640,
) -> go.Figure:
    """`edges` defaults to the 60 strongest; a click on an arrow's middle carries (source, target) in `customdata`."""
    n = len(actors)
    if matrix.shape != (n, n) or positions.shape != (n, 2):
        raise TRNNError(
            f"{n} actors need an {n} x {n} matrix and {n} x 2 positions. Got {matrix.shape} and {positions.shape} instead."
        )
    drawn = list(strongest(matrix) if edges is None else edges)
    colours = palette(dark)
    activity = np.nan_to_num(np.abs(matrix)).sum(axis=0) + np.nan_to_num(np.abs(matrix)).sum(axis=1)
    radii = _radii(activity, n)
    traces = _arrows(drawn, positions, radii, kind, colours, height)
    figure = go.Figure(
        [
            *traces,
            _handles(drawn, positions, actors, kind, unit),
            _nodes(actors, positions, radii, activity, drawn, unit, colours),
        ]
    )
    hidden = {"visible": False, "fixedrange": False}
    figure.update_xaxes(**hidden, range=[-1.22, 1.22])
    figure.update_yaxes(**hidden, range=[-1.16, 1.16])
    note = subtitle or f"the {len(drawn)} strongest relations; thicker and darker is more {unit}"
    finish(figure, title, subtitle=note, simulated=simulated, dark=dark, height=height, margin=(4, 4, 56, 4))
    figure.update_layout(showlegend=False, clickmode="event+select", dragmode="pan", uirevision="network")
    return figure


def _radii(activity: np.ndarray, n: int) -> np.ndarray:
    """Marker sizes in pixels; the area grows with the log of the activity."""
    share = np.log1p(activity) / max(float(np.log1p(activity).max(initial=0.0)), 1e-12)
    return (8 + 22 * share**1.5) * (1.0 if n <= 40 else 0.55)


def _curve(a: np.ndarray, b: np.ndarray, points: int = 41) -> np.ndarray:
    """A quadratic Bezier from a to b that leans to the right of its way: (points, 2)."""
    across = np.array([b[1] - a[1], a[0] - b[0]])
    bend = (a + b) / 2 + BEND * across
    t = np.linspace(0, 1, points)[:, None]
    return (1 - t) ** 2 * a + 2 * t * (1 - t) * bend + t**2 * b


def _classes(edges: list[Edge]) -> tuple[np.ndarray, np.ndarray]:
    """The class 0..STEPS-1 of each edge by size, and its sign."""
    weights = np.array([e.weight for e in edges])
    size = np.abs(weights)
    share = (size / max(size.max(), 1e-12)) ** 0.8
    return np.clip((share * STEPS).astype(int), 0, STEPS - 1), np.sign(weights)


def _arrows(
    edges: list[Edge], positions: np.ndarray, radii: np.ndarray, kind: Kind, colours: Palette, height: int
) -> list[go.Scatter]:
    """Faint first, strong last, so that the strong lie on top. One line trace and one trace of heads per class."""
    if not edges:
        return []
    classes, signs = _classes(edges)
    pixel = 2.3 / max(height - 60, 1)  # plot units per pixel, upwards
    traces = []
    for level in range(STEPS):
        for sign in (-1.0, 1.0):
            chosen = [e for e, c, s in zip(edges, classes, signs, strict=True) if c == level and s == sign]
            if not chosen:
                continue
            share = (level + 1) / STEPS
            if kind == "change":
                colour = colour_at(colours.changes, 0.5 + sign * (0.16 + 0.34 * share))
            else:
                colour = colour_at(colours.counts, 0.24 + 0.62 * share)
            lines, heads, angles = [], [], []
            for e in chosen:
                path = _curve(positions[e.source], positions[e.target])
                left = np.linalg.norm(path - positions[e.target], axis=1) > (radii[e.target] / 2 + 4) * pixel
                path = path[left] if left.sum() > 2 else path
                lines.append(np.vstack([path, [[np.nan, np.nan]]]))
                heads.append(path[-1])
                way = path[-1] - path[-2]
                angles.append(float(np.degrees(np.arctan2(way[0], way[1]))))
            joined, tips = np.vstack(lines), np.array(heads)
            traces.append(
                go.Scatter(
                    x=joined[:, 0],
                    y=joined[:, 1],
                    mode="lines",
                    hoverinfo="skip",
                    opacity=0.45 + 0.5 * share,
                    line={"width": 0.7 + 4.3 * share**1.4, "color": colour, "shape": "spline", "smoothing": 0.6},
                )
            )
            traces.append(
                go.Scatter(
                    x=tips[:, 0],
                    y=tips[:, 1],
                    mode="markers",
                    hoverinfo="skip",
                    opacity=0.55 + 0.45 * share,
                    marker={
                        "symbol": "triangle-up",
                        "size": 6 + 6 * share,
                        "angle": angles,
                        "color": colour,
                        "line": {"width": 0},
                    },
                )
            )
    return traces


def _handles(edges: list[Edge], positions: np.ndarray, actors: Sequence[str], kind: Kind, unit: str) -> go.Scatter:
    """Unseen markers in the middle of each arrow: what the mouse meets."""
    middles = np.array([_curve(positions[e.source], positions[e.target], 3)[1] for e in edges]).reshape(-1, 2)
    return go.Scatter(
        x=middles[:, 0],
        y=middles[:, 1],
        mode="markers",
        marker={"size": 16, "opacity": 0},
        hoverinfo="text",
        text=[
            f"<b>{plain(actors[e.source])} → {plain(actors[e.target])}</b><br>{number(e.weight, kind == 'change')} {plain(unit)}"
            for e in edges
        ],
        customdata=[[e.source, e.target] for e in edges],
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
    )


def _nodes(
    actors: Sequence[str],
    positions: np.ndarray,
    radii: np.ndarray,
    activity: np.ndarray,
    edges: list[Edge],
    unit: str,
    colours: Palette,
) -> go.Scatter:
    busy = {e.source for e in edges} | {e.target for e in edges}
    shown = [i in busy for i in range(len(actors))]
    labelled = shown if len(actors) > 60 else [True] * len(actors)
    return go.Scatter(
        x=positions[:, 0],
        y=positions[:, 1],
        mode="markers+text",
        hoverinfo="text",
        text=[plain(a) if seen else "" for a, seen in zip(actors, labelled, strict=True)],
        textposition="top center",
        textfont={
            "size": 12 if len(actors) <= 40 else 9,
            "color": [colours.ink if s else colours.faint for s in shown],
            "shadow": f"0 0 3px {colours.ground}, 0 0 3px {colours.ground}, 0 0 5px {colours.ground}",
        },
        hovertext=[
            f"<b>{plain(a)}</b><br>{number(x)} {plain(unit)}, sent and received"
            for a, x in zip(actors, activity, strict=True)
        ],
        marker={
            "size": radii,
            "color": [colours.node if s else colours.grid for s in shown],
            "opacity": 1,
            "line": {"width": 1.5, "color": colours.ground},
        },
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
    )
