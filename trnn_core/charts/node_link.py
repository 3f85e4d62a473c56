"""The relations of one period as a graph: curved arrows from sender to receiver, nodes that stay where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from trnn_core.charts.blocs import Blocs
from trnn_core.charts.edges import Edge, strongest
from trnn_core.charts.heatmap import MANY
from trnn_core.charts.look import EVENTS, Kind, Look, Measure, finish
from trnn_core.charts.map import MapFrame
from trnn_core.charts.name_sides import name_sides
from trnn_core.charts.theme import DARK, Palette, colour_at, number, plain, short
from trnn_core.errors import TRNNError

STEPS = 7  # widths and colours of edges come in so many classes; each class is one trace
BEND = 0.16  # how far an arrow leaves the straight line, so that both directions of a pair are seen


@dataclass(frozen=True)
class Scene:
    """What surrounds the arrows: nodes coloured by bloc, a map's degrees behind them, actors that are not shown."""

    blocs: Blocs | None = None
    frame: MapFrame | None = None
    hidden: frozenset[int] = frozenset()


def network(
    matrix: np.ndarray,
    actors: Sequence[str],
    positions: np.ndarray,
    look: Look,
    *,
    measure: Measure = EVENTS,
    edges: Sequence[Edge] | None = None,
    largest: float | None = None,
    scene: Scene | None = None,
) -> go.Figure:
    """`edges` defaults to the 60 strongest; a click on an arrow's middle carries (source, target) in `customdata`.

    largest     what the thickest arrow stands for, the same in pictures that are compared; the strongest edge unless
                said
    """
    scene = scene or Scene()
    n = len(actors)
    if matrix.shape != (n, n) or positions.shape != (n, 2):
        raise TRNNError(
            f"{n} actors need an {n} x {n} matrix and {n} x 2 positions. Got {matrix.shape} and {positions.shape}"
            " instead."
        )
    drawn = list(strongest(matrix) if edges is None else edges)
    note = f"the {len(drawn)} strongest relations; thicker and stronger in colour is more {measure.unit}"
    look = look.or_else(subtitle=note, height=640)
    activity = np.nan_to_num(np.abs(matrix)).sum(axis=0) + np.nan_to_num(np.abs(matrix)).sum(axis=1)
    radii = _radii(activity, n)
    figure = go.Figure(
        [
            *_arrows(drawn, positions, radii, measure.kind, look, largest),
            _handles(drawn, positions, actors, measure),
            *_legend(scene.blocs, look.colours),
            _nodes(actors, positions, radii, activity, drawn, measure.unit, look.colours, scene),
        ]
    )
    return finish(
        figure,
        look,
        margin=(4, 4, 56, 4),
        xaxis={"visible": False, "range": [-1.22, 1.22]},
        yaxis={"visible": False, "range": [-1.16, 1.16]},
        clickmode="event+select",
        dragmode="pan",
        uirevision="network",
        showlegend=scene.blocs is not None,
        legend={
            "y": 0,
            "yanchor": "bottom",
            "itemclick": False,
            "itemdoubleclick": False,
            "title": {"text": "blocs  "},
        },
        **({} if scene.frame is None else _degrees(scene.frame, look.colours)),
    )


def _degrees(frame: MapFrame, colours: Palette) -> dict[str, Any]:
    """Meridians and parallels, faintly, with their degrees at the edge."""
    line = {"color": colours.grid, "width": 1}
    shapes, notes = [], []
    for x, name in frame.meridians():
        shapes.append({"type": "line", "x0": x, "x1": x, "y0": -1.14, "y1": 1.14, "line": line, "layer": "below"})
        notes.append({"x": x, "y": 1.15, "text": name, "yanchor": "top"})
    for y, name in frame.parallels():
        shapes.append({"type": "line", "x0": -1.2, "x1": 1.2, "y0": y, "y1": y, "line": line, "layer": "below"})
        notes.append({"x": -1.2, "y": y, "text": name, "xanchor": "left"})
    font = {"size": 10, "color": colours.faint}
    return {"shapes": shapes, "annotations": [{**n, "showarrow": False, "font": font} for n in notes]}


def _scatter(**parts: Any) -> dict[str, Any]:
    """A trace that plotly looks through once, with its figure."""
    return {"type": "scatter", **parts}


def _legend(blocs: Blocs | None, colours: Palette) -> list[dict[str, Any]]:
    """A dot and a name per bloc; nothing is drawn in the picture itself."""
    if blocs is None:
        return []
    return [
        _scatter(
            x=[None],
            y=[None],
            mode="markers",
            name=plain(name),
            showlegend=True,
            marker={"size": 11, "color": colours.lines[b % len(colours.lines)]},
        )
        for b, name in enumerate(blocs.names)
    ]


def _radii(activity: np.ndarray, n: int) -> np.ndarray:
    """Marker sizes in pixels; the area grows with the log of the activity."""
    share = np.log1p(activity) / max(float(np.log1p(activity).max(initial=0.0)), 1e-12)
    return (8 + 22 * share**1.5) * (1.0 if n <= 40 else 0.55)


def _curve(a: np.ndarray, b: np.ndarray, points: int = 25) -> np.ndarray:
    """A quadratic Bezier from a to b that leans to the right of its way: (points, 2)."""
    across = np.array([b[1] - a[1], a[0] - b[0]])
    bend = (a + b) / 2 + BEND * across
    t = np.linspace(0, 1, points)[:, None]
    return (1 - t) ** 2 * a + 2 * t * (1 - t) * bend + t**2 * b


def _classes(edges: list[Edge], largest: float | None) -> tuple[np.ndarray, np.ndarray]:
    """The class 0..STEPS-1 of each edge by size, and its sign."""
    weights = np.array([e.weight for e in edges])
    size = np.abs(weights)
    share = (size / max(largest or size.max(), 1e-12)) ** 0.8
    return np.clip((share * STEPS).astype(int), 0, STEPS - 1), np.sign(weights)


def _arrows(
    edges: list[Edge],
    positions: np.ndarray,
    radii: np.ndarray,
    kind: Kind,
    look: Look,
    largest: float | None,
) -> list[dict[str, Any]]:
    """Faint first, strong last, so that the strong lie on top. One line trace per class and one trace of all heads:
    what a browser has to draw again at every change of a control."""
    if not edges:
        return []
    classes, signs = _classes(edges, largest)
    pixel, colours = 2.3 / max(look.height - 60, 1), look.colours  # plot units per pixel, upwards
    lines: dict[tuple[int, float], list[np.ndarray]] = {}
    tips, angles, sizes, shades = [], [], [], []
    for place in np.argsort(classes, kind="stable"):
        e, key = edges[place], (int(classes[place]), float(signs[place]))
        path = _curve(positions[e.source], positions[e.target])
        left = np.linalg.norm(path - positions[e.target], axis=1) > (radii[e.target] / 2 + 4) * pixel
        path = path[left] if left.sum() > 2 else path
        lines.setdefault(key, []).append(np.vstack([path, [[np.nan, np.nan]]]))
        way = path[-1] - path[-2]
        tips.append(path[-1])
        angles.append(round(float(np.degrees(np.arctan2(way[0], way[1]))), 1))
        sizes.append(round(6 + 6 * (key[0] + 1) / STEPS, 1))
        shades.append(_shade(*key, kind, colours, 0.55))
    heads = np.round(np.array(tips), 4)
    traces = [_lines(np.vstack(paths), *key, kind, colours) for key, paths in lines.items()]
    marker = {"symbol": "triangle-up", "size": sizes, "angle": angles, "color": shades, "line": {"width": 0}}
    return [
        *traces,
        _scatter(x=heads[:, 0], y=heads[:, 1], mode="markers", hoverinfo="skip", showlegend=False, marker=marker),
    ]


def _shade(level: int, sign: float, kind: Kind, colours: Palette, least: float) -> str:
    """The colour of a class, the more see-through the fainter."""
    share = (level + 1) / STEPS
    faintest = 0.4 if colours is DARK else 0.24  # thin lines sink into a dark ground
    colour = (
        colour_at(colours.changes, 0.5 + sign * (0.16 + 0.34 * share))
        if kind == "change"
        else colour_at(colours.counts, faintest + (0.86 - faintest) * share)
    )
    return f"rgba{colour[3:-1]},{least + (0.97 - least) * share:.2f})"


def _lines(path: np.ndarray, level: int, sign: float, kind: Kind, colours: Palette) -> dict[str, Any]:
    shown = np.round(path, 4)
    width = round(0.7 + 4.3 * ((level + 1) / STEPS) ** 1.4, 2)
    line = {"width": width, "color": _shade(level, sign, kind, colours, 0.45)}
    return _scatter(x=shown[:, 0], y=shown[:, 1], mode="lines", hoverinfo="skip", showlegend=False, line=line)


def _handles(edges: list[Edge], positions: np.ndarray, actors: Sequence[str], measure: Measure) -> dict[str, Any]:
    """Unseen markers in the middle of each arrow: what the mouse meets."""
    middles = np.array([_curve(positions[e.source], positions[e.target], 3)[1] for e in edges]).reshape(-1, 2)
    return _scatter(
        x=middles[:, 0],
        y=middles[:, 1],
        mode="markers",
        marker={"size": 16, "opacity": 0},
        hoverinfo="text",
        text=[
            f"<b>{plain(actors[e.source])} → {plain(actors[e.target])}</b><br>{measure.words(e.weight)}" for e in edges
        ],
        customdata=[[e.source, e.target] for e in edges],
        showlegend=False,
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
    scene: Scene,
) -> dict[str, Any]:
    n = len(actors)
    busy = {e.source for e in edges} | {e.target for e in edges}
    labelled = [i not in scene.hidden and (i in busy or n <= MANY) for i in range(n)]
    own = [colours.node] * n if scene.blocs is None else [colours.lines[b % len(colours.lines)] for b in scene.blocs.of]
    marker = {
        "size": [0.0 if i in scene.hidden else round(float(radii[i]), 1) for i in range(n)],
        "color": [own[i] if i in busy else colours.grid for i in range(n)],
        "opacity": 1,
        "line": {"width": 1.5, "color": colours.ground},
    }
    font = {
        "size": 12 if n <= 40 else 9,
        "color": [colours.ink if i in busy else colours.faint for i in range(n)],
        "shadow": ", ".join([f"0 0 3px {colours.ground}"] * 6),  # strong enough to be read on the thickest arrow
    }
    bloc = [
        "" if scene.blocs is None else f"<br>bloc {plain(scene.blocs.names[b])}"
        for b in (scene.blocs.of if scene.blocs else [0] * n)
    ]
    return _scatter(
        x=positions[:, 0],
        y=positions[:, 1],
        mode="markers+text",
        hoverinfo="text",
        text=[plain(short(a)) if seen else "" for a, seen in zip(actors, labelled, strict=True)],
        textposition=name_sides([short(a) for a in actors], positions) if n <= MANY else "top center",
        textfont=font,
        hovertext=[
            (
                ""
                if i in scene.hidden
                else f"<b>{plain(a)}</b><br>{number(activity[i])} {plain(unit)}, sent and received{bloc[i]}"
            )
            for i, a in enumerate(actors)
        ],
        marker=marker,
        showlegend=False,
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
    )
