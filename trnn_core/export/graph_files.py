"""Networks for Gephi, Cytoscape and igraph: one period, or week after week with time-stamped weights.

Static files come from trnn_core.export.graphs. Over time, GEXF carries dynamic weights and spells (Gephi's timeline);
GraphML, which knows no time, carries one edge per pair and period with its dates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

import networkx as nx
import numpy as np

from trnn_core.errors import TRNNError
from trnn_core.export.citation import one_line
from trnn_core.export.graphs import FORBIDDEN, to_gexf, to_graph, to_graphml
from trnn_core.export.material import Material

_GEXF = "http://www.gexf.net/1.2draft"
_VIZ = "http://www.gexf.net/1.2draft/viz"


def static_graph(material: Material, action: int, step: int = 0) -> nx.DiGraph:
    """The expected network of one period and action, with interval, last value and change on every edge."""
    forecast = material.forecast
    extra = {
        "lower": forecast.lower[step, ..., action],
        "upper": forecast.upper[step, ..., action],
        "last_observed": forecast.last_values[..., action],
    }
    title = f"Expected {forecast.actions[action]}, {material.unit}, {forecast.dates[step]}"
    graph = to_graph(
        forecast.mean[step, ..., action],
        forecast.actors,
        title=title,
        simulated=material.simulated,
        positions=material.positions,
        attributes=extra,
    )
    graph.graph["provenance"] = _text(one_line(material))
    for *_, attributes in graph.edges(data=True):
        if not np.isfinite(attributes["last_observed"]):
            del attributes["last_observed"]  # not observed: no value is better than a made-up one
    return graph


def static_graphml(material: Material, action: int, step: int = 0) -> bytes:
    return to_graphml(static_graph(material, action, step))


def static_gexf(material: Material, action: int, step: int = 0) -> bytes:
    """GEXF keeps notes on the file in `meta`; the writer of the graph leaves that place to us."""
    graph = static_graph(material, action, step)
    about = f"<description>{_escaped(graph.graph['name'] + '. ' + graph.graph['provenance'])}</description>"
    content = to_gexf(graph).decode("utf-8")
    head, found, rest = content.partition("</meta>")
    if not found:
        raise TRNNError("The network could not be written: the graph writer left no place for its source.")
    return f"{head}{about}{found}{rest}".encode()


@dataclass(frozen=True)
class Weeks:
    """Periods of one action in a row, observed ones first, then expected ones: values (T, N, M), NaN where unknown."""

    values: np.ndarray
    starts: np.ndarray
    ends: np.ndarray  # the last day of each period
    n_observed: int

    def status(self, t: int) -> str:
        return "observed" if t < self.n_observed else "expected"


def weeks_of(material: Material, action: int, last: int | None = 52) -> Weeks:
    """The last observed periods (all for None) followed by the forecast."""
    if last is not None and last < 1:
        raise TRNNError(f"A network over time needs at least 1 observed period. Got {last} instead.")
    series, forecast = material.series, material.forecast
    cut = slice(-last, None) if last else slice(None)
    values = np.concatenate([np.asarray(series.values[cut, ..., action], dtype=float), forecast.mean[..., action]])
    starts = np.concatenate([series.dates[cut], forecast.dates])
    after = series.next_dates(len(forecast.dates) + 1)[-1]
    ends = np.concatenate([starts[1:], [after]]) - np.timedelta64(1, "D")
    return Weeks(values, starts, ends, len(series.dates[cut]))


def dynamic_gexf(material: Material, action: int, last: int | None = 52) -> bytes:
    """GEXF with a time axis of dates: an edge is there in the periods it has a weight, and the weight changes with
    them."""
    weeks, actors = weeks_of(material, action, last), material.forecast.actors
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<gexf xmlns="{_GEXF}" xmlns:viz="{_VIZ}" version="1.2">',
        (
            "<meta><creator>TRNN"
            f" Studio</creator><description>{_escaped(_about(material, action, weeks))}</description></meta>"
        ),
        (
            f'<graph mode="dynamic" defaultedgetype="directed" timeformat="date" start="{weeks.starts[0]}"'
            f' end="{weeks.ends[-1]}">'
        ),
        (
            '<attributes class="edge" mode="dynamic"><attribute id="weight" title="Weight" type="float"/><attribute'
            ' id="status" title="status" type="string"/></attributes>'
        ),
        "<nodes>",
    ]
    for i, actor in enumerate(actors):
        x, y = (1000 * material.positions[i]).round(1)
        lines.append(f'<node id="n{i}" label={_quoted(actor)}><viz:position x="{x}" y="{y}" z="0.0"/></node>')
    lines.append("</nodes><edges>")
    for number, (i, j, present) in enumerate(_edges(weeks)):
        lines.append(f'<edge id="e{number}" source="n{i}" target="n{j}"><attvalues>')
        for t in present:
            span = f'start="{weeks.starts[t]}" end="{weeks.ends[t]}"'
            lines.append(f'<attvalue for="weight" value="{float(weeks.values[t, i, j])!r}" {span}/>')
        for first, final in _runs([weeks.status(t) for t in present], present):
            lines.append(
                f'<attvalue for="status" value="{weeks.status(first)}" start="{weeks.starts[first]}"'
                f' end="{weeks.ends[final]}"/>'
            )
        spells = "".join(f'<spell start="{weeks.starts[a]}" end="{weeks.ends[b]}"/>' for a, b in _runs(None, present))
        lines.append(f"</attvalues><spells>{spells}</spells></edge>")
    lines.append("</edges></graph></gexf>")
    return "\n".join(lines).encode()


def dynamic_graphml(material: Material, action: int, last: int | None = 52) -> bytes:
    """GraphML with one edge per pair and period: `start`, `end` and `status` beside its weight."""
    weeks = weeks_of(material, action, last)
    graph = nx.MultiDiGraph(
        name=_text(_about(material, action, weeks)), data="simulated" if material.simulated else "observed"
    )
    graph.graph["provenance"] = _text(one_line(material))
    for i, actor in enumerate(material.forecast.actors):
        x, y = material.positions[i]
        graph.add_node(f"n{i}", label=_text(actor), x=float(x), y=float(y))
    for i, j, present in _edges(weeks):
        for t in present:
            graph.add_edge(
                f"n{i}",
                f"n{j}",
                weight=float(weeks.values[t, i, j]),
                start=str(weeks.starts[t]),
                end=str(weeks.ends[t]),
                status=weeks.status(t),
            )
    return to_graphml(graph)


def _about(material: Material, action: int, weeks: Weeks) -> str:
    name = (
        f"{material.forecast.actions[action]}, {material.unit}, {weeks.starts[0]} to {weeks.ends[-1]}, expected from"
        f" {weeks.starts[weeks.n_observed]}"
    )
    return f"{name}. {one_line(material)}"


def _edges(weeks: Weeks) -> Iterator[tuple[int, int, list[int]]]:
    """Pairs of different actors with the periods in which anything was or is expected."""
    some = np.nan_to_num(weeks.values) != 0
    for i, j in np.argwhere(some.any(axis=0)):
        if i != j:
            yield int(i), int(j), [int(t) for t in np.flatnonzero(some[:, i, j])]


def _runs(kinds: list[str] | None, present: list[int]) -> list[tuple[int, int]]:
    """First and last of each unbroken run of periods (of one kind).

    >>> _runs(None, [0, 1, 3]), _runs(["a", "b", "b"], [0, 1, 2])
    ([(0, 1), (3, 3)], [(0, 0), (1, 2)])
    """
    runs: list[tuple[int, int]] = []
    for place, t in enumerate(present):
        same = kinds is None or (place > 0 and kinds[place] == kinds[place - 1])
        if runs and runs[-1][1] == t - 1 and same:
            runs[-1] = (runs[-1][0], t)
        else:
            runs.append((t, t))
    return runs


def _text(text: str) -> str:
    return FORBIDDEN.sub("\ufffd", str(text))


def _quoted(text: str) -> str:
    return quoteattr(_text(text))


def _escaped(text: str) -> str:
    return _text(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
