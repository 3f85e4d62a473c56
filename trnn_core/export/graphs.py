"""Networks as GraphML and GEXF, for Gephi, Cytoscape and igraph. Weights and labels survive; zeros are no edges."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

import networkx as nx
import numpy as np

from trnn_core.errors import TRNNError

# Characters that no XML file may hold, whatever the escape.
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def to_graph(
    matrix: np.ndarray,
    actors: Sequence[str],
    *,
    title: str,
    simulated: bool,
    positions: np.ndarray | None = None,
    attributes: dict[str, np.ndarray] | None = None,
) -> nx.DiGraph:
    """A directed graph of one period and action; `attributes` are further (N, N) matrices carried by the edges.

    >>> graph = to_graph(np.array([[0.0, 2.0], [0.0, 0.0]]), ["France", "Japan"], title="demo", simulated=True)
    >>> list(graph.edges(data="weight")), graph.nodes["n0"]["label"]
    ([('n0', 'n1', 2.0)], 'France')
    """
    n = len(actors)
    if matrix.shape != (n, n):
        raise TRNNError(f"The matrix must be {n} x {n}, one row and column per actor. Got {matrix.shape} instead.")
    name = f"{title} (simulated data)" if simulated else title
    graph = nx.DiGraph(name=_clean(name), data="simulated" if simulated else "observed")
    for i, actor in enumerate(actors):
        graph.add_node(f"n{i}", label=_clean(actor))
        if positions is not None:
            graph.nodes[f"n{i}"].update(x=float(positions[i, 0]), y=float(positions[i, 1]))
    for i, j in np.argwhere(np.nan_to_num(matrix) != 0):
        if i != j:
            extra = {name: float(values[i, j]) for name, values in (attributes or {}).items()}
            graph.add_edge(f"n{i}", f"n{j}", weight=float(matrix[i, j]), **extra)
    return graph


def to_graphml(graph: nx.DiGraph) -> bytes:
    buffer = io.BytesIO()
    nx.write_graphml(graph, buffer, encoding="utf-8")
    return buffer.getvalue()


def to_gexf(graph: nx.DiGraph) -> bytes:
    """GEXF has no attributes of the graph itself; its name says what it shows and whether it is simulated."""
    copy = graph.copy()
    copy.graph = {"name": graph.graph.get("name", "")}
    buffer = io.BytesIO()
    nx.write_gexf(copy, buffer, encoding="utf-8")
    return buffer.getvalue()


def _clean(text: str) -> str:
    return FORBIDDEN.sub("\ufffd", str(text))
