"""Presentation mode: one HTML file that fills the screen with the network of a week, in large type, moved by keyboard.

Right and left: next and previous period. Down and up: next and previous action. F: full screen. The place is kept in
the address, so that a link opens the same view. No controls are in sight.
"""

from __future__ import annotations

import json

import numpy as np
import plotly.graph_objects as go
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from trnn_core.charts.edges import strongest
from trnn_core.charts.look import Measure
from trnn_core.charts.node_link import network
from trnn_core.errors import TRNNError
from trnn_core.export.citation import one_line
from trnn_core.export.graph_files import weeks_of
from trnn_core.export.html_report import compile_template, content_policy, heading, read_template
from trnn_core.export.images import script_json
from trnn_core.export.material import Material
from trnn_core.export.pictures import EDGES
from trnn_core.jobs.context import Progress, quiet

LAST = 12  # observed periods shown before the expected ones
LABEL, HEIGHT, LINES = 21, 860, 1.6  # pixels, pixels, times as strong as on a page


def presentation(material: Material, last: int = LAST, progress: Progress = quiet) -> str:
    """The last observed periods and all expected ones, every action; opens at the next period."""
    if not 1 <= last <= 200:
        raise TRNNError(f"A presentation shows from 1 to 200 observed periods. Got {last} instead.")
    actions = material.forecast.actions
    views: list[list[object]] = []
    for k in range(len(actions)):
        progress(k / len(actions), f"drawing {actions[k]}")
        views.append(_views(material, k, last))
    progress(1.0, "all views are drawn")
    weeks = weeks_of(material, 0, last)
    show = {
        "actions": list(actions),
        "dates": [str(d) for d in weeks.starts],
        "status": [weeks.status(t) for t in range(len(weeks.starts))],
        "first": weeks.n_observed,
        "period": material.period,
        "unit": material.unit,
        "views": views,
    }
    plotly, script = get_plotlyjs(), read_template("presentation.js")
    return compile_template("presentation.html.jinja").render(
        title=heading(material),
        simulated=material.simulated,
        footer=one_line(material),
        policy=content_policy([plotly, script]),
        show=Markup(script_json(json.dumps(show))),
        plotly=Markup(plotly),
        script=Markup(script),
    )


def _views(material: Material, action: int, last: int) -> list[object]:
    weeks = weeks_of(material, action, last)
    found = []
    for matrix in weeks.values:
        edges = strongest(np.asarray(matrix), top=EDGES)
        figure = network(
            matrix,
            material.forecast.actors,
            material.positions,
            material.look("network", height=HEIGHT),
            measure=Measure(unit=material.unit),
            edges=edges,
        )
        figure.update_layout(title=None, height=None, margin={"t": 30, "b": 10, "l": 10, "r": 10})
        _enlarge(figure)
        found.append(json.loads(figure.to_json()))
    return found


def _enlarge(figure: go.Figure) -> None:
    """Seen from the last row: larger names and nodes, stronger lines. The nodes come last."""
    for trace in figure.data[:-1]:
        if trace.mode == "lines":
            trace.line.width *= LINES
        elif trace.marker.opacity != 0:
            trace.marker.size = (LINES * np.asarray(trace.marker.size)).tolist()  # one size, or one for each
    nodes = figure.data[-1]
    nodes.textfont.size = LABEL
    nodes.marker.size = [LINES * size for size in nodes.marker.size]
