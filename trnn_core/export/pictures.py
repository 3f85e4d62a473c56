"""The charts of a run, as reports, slides and image files show them: always on light ground, always with their
title."""

from __future__ import annotations

import numpy as np

from trnn_core.charts.edges import strongest
from trnn_core.charts.explanations import influence_matrix
from trnn_core.charts.heatmap import heatmap
from trnn_core.charts.lines import Fan, activity, dyad_history, loss_curve
from trnn_core.charts.look import Measure
from trnn_core.charts.node_link import network
from trnn_core.export.blocks import Chart
from trnn_core.export.forecasts import largest_changes
from trnn_core.export.material import Material
from trnn_core.words import percent

EDGES = 50  # the strongest relations drawn in a network


def when(material: Material, step: int = 0) -> str:
    ahead = f"next {material.period}" if step == 0 else f"{step + 1} {material.period}s ahead"
    return f"{ahead}, {material.forecast.dates[step]}"


def slug(text: str) -> str:
    """A name as part of a file name, on any system.

    >>> slug("Verbal conflict / <1>")
    'verbal-conflict-1'
    """
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower())
    return "-".join(part for part in kept.split("-") if part)[:60] or "x"


def activity_chart(material: Material) -> Chart:
    figure = activity(material.series, material.look())
    return Chart(figure, "activity", f"Events of each action per {material.period}, all pairs together")


def loss_chart(material: Material) -> Chart:
    figure = loss_curve(material.run.history_frame(), material.look())
    return Chart(figure, "training-loss", "Loss on training and validation periods by epoch")


def expected_heatmap(material: Material, action: int, step: int = 0) -> Chart:
    forecast, name = material.forecast, material.forecast.actions[action]
    lower, upper = forecast.lower[step, ..., action], forecast.upper[step, ..., action]
    texts = [
        f"{percent(forecast.interval_level)} interval {a:.3g} to {b:.3g}"
        for a, b in zip(lower.ravel(), upper.ravel(), strict=True)
    ]
    figure = heatmap(
        forecast.mean[step, ..., action],
        forecast.actors,
        material.look(f"Expected {name}", subtitle=when(material, step)),
        measure=Measure("count" if material.series.source.kind == "count" else "value", material.unit),
        order=material.order,
        details=np.array(texts, dtype=object).reshape(lower.shape),
    )
    return Chart(
        figure, f"forecast-heatmap-{slug(name)}", f"Matrix of expected {name}, senders in rows, receivers in columns"
    )


def expected_network(material: Material, action: int, step: int = 0) -> Chart:
    name = material.forecast.actions[action]
    matrix = material.forecast.mean[step, ..., action]
    edges = strongest(matrix, top=EDGES)
    note = f"{when(material, step)} · {len(edges)} strongest relations · thicker, stronger colour: more"
    figure = network(
        matrix,
        material.forecast.actors,
        material.positions,
        material.look(f"Expected {name}", subtitle=note, height=600),
        measure=Measure(unit=material.unit),
        edges=edges,
    )
    about = f"Network of the {len(edges)} strongest expected relations, {name}"
    return Chart(figure, f"forecast-network-{slug(name)}", about)


def change_network(material: Material, action: int, step: int = 0) -> Chart:
    name = material.forecast.actions[action]
    matrix = material.forecast.change[step, ..., action]
    edges = strongest(matrix, top=EDGES)
    against = material.forecast.last_date or "the last observed"
    note = f"{when(material, step)}, against {against} · orange: more, blue: less"
    figure = network(
        matrix,
        material.forecast.actors,
        material.positions,
        material.look(f"Expected change of {name}", subtitle=note, height=600),
        measure=Measure("change", material.unit),
        edges=edges,
    )
    about = f"Network of the {len(edges)} largest expected changes, {name}"
    return Chart(figure, f"change-network-{slug(name)}", about)


def pair_chart(material: Material, source: int, target: int, action: int) -> Chart:
    """The recent history of one pair, with the forecast as a fan."""
    forecast = material.forecast
    fan = Fan(
        forecast.dates,
        forecast.mean[:, source, target, action],
        forecast.lower[:, source, target, action],
        forecast.upper[:, source, target, action],
        forecast.interval_level,
    )
    figure = dyad_history(material.series, (source, target, action), material.look(), fan=fan)
    names = [forecast.actors[source], forecast.actors[target], forecast.actions[action]]
    return Chart(figure, "pair-" + slug("-".join(names)), f"History and forecast: {names[0]} to {names[1]}, {names[2]}")


def influence_chart(
    material: Material, matrix: np.ndarray, title: str, subtitle: str, name: str, solid: np.ndarray | None = None
) -> Chart:
    assert material.explanation is not None  # asked for only where there is one
    off = np.abs(matrix[~np.eye(len(matrix), dtype=bool)])
    figure = influence_matrix(
        matrix,
        material.explanation.actors,
        material.look(title, subtitle=subtitle),
        solid=solid,
        order=material.order if material.explanation.actors == material.series.actors else None,
        largest=max(float(np.quantile(off, 0.995)), 1e-6) if off.size else 1.0,
    )
    return Chart(figure, name, f"Matrix: {title}")


def all_charts(material: Material) -> list[Chart]:
    """Every chart of a run, for a folder of images."""
    actions = range(len(material.forecast.actions))
    charts = [activity_chart(material), loss_chart(material)]
    for draw in (expected_heatmap, expected_network, change_network):
        charts += [draw(material, k) for k in actions]
    return charts + top_pair_charts(material)


def top_pair_charts(material: Material, n: int = 2) -> list[Chart]:
    """The pairs with the largest expected rise and fall."""
    forecast, charts, seen = material.forecast, [], set()
    for falls in (False, True):
        for row in largest_changes(forecast, 0, n // 2, falls=falls).itertuples():
            place = (
                forecast.actors.index(row.source),
                forecast.actors.index(row.target),
                forecast.actions.index(row.action),
            )
            if place not in seen:
                seen.add(place)
                charts.append(pair_chart(material, *place))
    return charts
