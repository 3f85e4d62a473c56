"""The relations of one period as ribbons inside a circle: each actor an arc as long as what it sends and receives."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from trnn_core.charts.edges import Edge, strongest
from trnn_core.charts.look import EVENTS, Kind, Look, Measure, finish
from trnn_core.charts.theme import Palette, fade, number, plain
from trnn_core.errors import TRNNError

GAP = 0.018  # radians between two arcs
INNER, OUTER = 0.93, 1.0
LINE = 0.08  # height of a name, in radii


def chord(
    matrix: np.ndarray,
    actors: Sequence[str],
    look: Look,
    *,
    order: Sequence[int],
    measure: Measure = EVENTS,
    edges: Sequence[Edge] | None = None,
) -> go.Figure:
    """Ribbons are wide where they leave the sender and narrow at the receiver; a click near the sender's end carries
    (source, target) in `customdata`."""
    n = len(actors)
    if matrix.shape != (n, n):
        raise TRNNError(f"The matrix must be {n} x {n}, one row and column per actor. Got {matrix.shape} instead.")
    drawn = list(strongest(matrix) if edges is None else edges)
    spans = _spans(drawn, list(order))
    figure = go.Figure(
        [
            *_ribbons(drawn, spans, actors, measure, look.colours),
            *_arcs(spans, actors, drawn, measure, look.colours),
        ]
    )
    note = f"the {len(drawn)} strongest relations; ribbons are wide at the sender"
    return finish(
        figure,
        look.or_else(subtitle=note, height=660),
        margin=(4, 4, 56, 4),
        xaxis={"visible": False, "scaleratio": 1, "range": [-1.6, 1.6]},
        yaxis={"visible": False, "scaleratio": 1, "range": [-1.22, 1.22], "scaleanchor": "x"},
        showlegend=False,
        clickmode="event+select",
        dragmode="pan",
        wide=True,
    )


def _spans(edges: list[Edge], order: list[int]) -> dict[int, tuple[float, float]]:
    """Start and length of each active actor's arc, clockwise from the top; lengths add up to the circle less the
    gaps."""
    weight = {i: sum(abs(e.weight) for e in edges if i in (e.source, e.target)) for i in order}
    active = [i for i in order if weight[i] > 0]
    room = 2 * np.pi - GAP * len(active)
    total = sum(weight[i] for i in active) or 1.0
    spans, at = {}, 0.0
    for i in active:
        length = room * weight[i] / total
        spans[i] = (at, length)
        at += length + GAP
    return spans


def _point(angle: np.ndarray | float, radius: float) -> np.ndarray:
    return radius * np.stack([np.sin(angle), np.cos(angle)], axis=-1)


def _ribbons(
    edges: list[Edge],
    spans: dict[int, tuple[float, float]],
    actors: Sequence[str],
    measure: Measure,
    colours: Palette,
) -> list[go.Scatter]:
    """The strongest last, so that it lies on top; each takes its share of both arcs."""
    taken = {i: start for i, (start, _) in spans.items()}
    shares = {
        i: length / max(sum(abs(e.weight) for e in edges if i in (e.source, e.target)), 1e-12)
        for i, (_, length) in spans.items()
    }
    traces, handles = [], []
    for e in edges:
        ends = []
        for i in (e.source, e.target):
            width = abs(e.weight) * shares[i]
            ends.append((taken[i], taken[i] + width))
            taken[i] += width
        (a, b), (c, d) = ends
        handles.append(_point((a + b) / 2, INNER - 0.06))
        middle = (c + d) / 2
        c, d = middle - (d - c) * 0.2, middle + (d - c) * 0.2
        outline = np.vstack(
            [
                _point(np.linspace(a, b, 8), INNER),
                _bend(_point(b, INNER), _point(c, INNER)),
                _point(np.linspace(c, d, 4), INNER),
                _bend(_point(d, INNER), _point(a, INNER)),
            ]
        )
        colour = _colour(e, measure.kind, colours)
        traces.append(
            _shape(
                outline,
                fade(colour, 0.55),
                {"width": 0.6, "color": colour},
                f"{plain(actors[e.source])} → {plain(actors[e.target])}: {measure.words(e.weight)}",
            )
        )
    at = np.array(handles).reshape(-1, 2)
    clicked = go.Scatter(
        x=at[:, 0],
        y=at[:, 1],
        mode="markers",
        marker={"size": 16, "opacity": 0},
        hoverinfo="text",
        text=[t.text for t in traces],
        customdata=[[e.source, e.target] for e in edges],
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
    )
    return [*traces[::-1], clicked]


def _shape(outline: np.ndarray, fill: str, line: dict[str, object], text: str) -> go.Scatter:
    """A filled outline (P, 2) that says `text` under the pointer."""
    return go.Scatter(
        x=outline[:, 0],
        y=outline[:, 1],
        mode="lines",
        fill="toself",
        fillcolor=fill,
        line=line,
        hoveron="fills",
        hoverinfo="text",
        text=text,
    )


def _colour(e: Edge, kind: Kind, colours: Palette) -> str:
    if kind == "change":
        return colours.lines[1] if e.weight > 0 else colours.lines[0]
    return colours.lines[e.source % len(colours.lines)]


def _bend(a: np.ndarray, b: np.ndarray, points: int = 16) -> np.ndarray:
    """A quadratic curve from a to b by the middle of the circle."""
    t = np.linspace(0, 1, points)[:, None]
    return (1 - t) ** 2 * a + t**2 * b


def _spread(angles: np.ndarray) -> np.ndarray:
    """Angles of the names, rising, moved apart where two of them would stand on each other."""
    angles = angles.copy()
    for _ in range(30):
        for b in range(1, len(angles)):
            lack = LINE / max(abs(math.sin((angles[b - 1] + angles[b]) / 2)), 0.4) - (angles[b] - angles[b - 1])
            if lack > 0:
                angles[b - 1 : b + 1] += (-lack / 2, lack / 2)
    return angles


def _arcs(
    spans: dict[int, tuple[float, float]],
    actors: Sequence[str],
    edges: list[Edge],
    measure: Measure,
    colours: Palette,
) -> list[go.Scatter]:
    traces, names = [], []
    for i, (start, length) in spans.items():
        angles = np.linspace(start, start + length, max(int(length * 40), 3))
        outline = np.vstack([_point(angles, OUTER), _point(angles[::-1], INNER + 0.01)])
        colour = colours.faint if measure.kind == "change" else colours.lines[i % len(colours.lines)]
        sent = sum(e.weight for e in edges if e.source == i)
        received = sum(e.weight for e in edges if e.target == i)
        text = f"{plain(actors[i])}: sends {number(sent)}, receives {number(received)} {plain(measure.unit)}"
        traces.append(_shape(outline, colour, {"width": 0}, text))
        names.append(plain(actors[i]))
    middles = _spread(np.array([start + length / 2 for start, length in spans.values()]))
    sides = [
        "middle right" if x > 0.12 else "middle left" if x < -0.12 else "top center" if y > 0 else "bottom center"
        for x, y in _point(middles, 1.0)
    ]
    labels = _point(middles, OUTER + 0.03)
    traces.append(
        go.Scatter(
            x=labels[:, 0],
            y=labels[:, 1],
            mode="text",
            text=names,
            textposition=sides,
            hoverinfo="skip",
            textfont={"size": 12 if len(names) <= 40 else 9, "color": colours.ink},
        )
    )
    return traces
