"""Graph files read back by other parsers: weights and labels intact, nothing harmful inside."""

from __future__ import annotations

import io
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest

from trnn_core.errors import TRNNError
from trnn_core.export.graphs import to_gexf, to_graph, to_graphml


@pytest.fixture
def graph(small_series):
    matrix = np.asarray(small_series.values[-1, :, :, 0])
    return to_graph(matrix, small_series.actors, title="Week", simulated=True, attributes={"upper": matrix + 1.5})


def plain_xml(raw: bytes, node: str, edge: str, label) -> tuple[dict, dict]:
    """Nodes and weights by the standard library's own parser, without networkx."""
    root = ElementTree.fromstring(raw)
    names = {e.tag.split("}")[1] for e in root.iter()}
    assert {node, edge} <= names
    nodes = {e.get("id"): label(e) for e in root.iter() if e.tag.endswith(f"}}{node}")}
    edges = {(e.get("source"), e.get("target")): e for e in root.iter() if e.tag.endswith(f"}}{edge}")}
    return nodes, edges


def test_gexf_keeps_labels_and_weights(graph, small_series) -> None:
    raw = to_gexf(graph)
    nodes, edges = plain_xml(raw, "node", "edge", lambda e: e.get("label"))
    assert list(nodes.values()) == list(small_series.actors)
    for (i, j), e in edges.items():
        assert float(e.get("weight")) == graph.edges[i, j]["weight"]
    assert "simulated" in raw.decode()


def test_graphml_keeps_labels_weights_and_further_columns(graph, small_series) -> None:
    again = nx.read_graphml(io.BytesIO(to_graphml(graph)))
    assert [d["label"] for _, d in again.nodes(data=True)] == list(small_series.actors)
    assert {(i, j): d for i, j, d in again.edges(data=True)} == {(i, j): d for i, j, d in graph.edges(data=True)}
    assert again.graph["data"] == "simulated"


def test_zeros_missing_cells_and_the_diagonal_are_no_edges() -> None:
    matrix = np.array([[4.0, 0.0, np.nan], [1.0, 4.0, 0.0], [0.0, 2.0, 4.0]])
    graph = to_graph(matrix, ["a", "b", "c"], title="t", simulated=False)
    assert sorted(graph.edges) == [("n1", "n0"), ("n2", "n1")]


def test_characters_no_xml_file_may_hold_do_not_break_it() -> None:
    graph = to_graph(np.zeros((1, 1)), ["bad\x00name\x1b"], title="t\x07", simulated=False)
    for raw in (to_gexf(graph), to_graphml(graph)):
        written = ElementTree.tostring(ElementTree.fromstring(raw), encoding="unicode")
        assert "bad" in written and "name" in written and not set("\x00\x1b\x07") & set(written)


def test_a_matrix_of_the_wrong_size_is_refused() -> None:
    with pytest.raises(TRNNError, match="2 x 2"):
        to_graph(np.zeros((3, 3)), ["a", "b"], title="t", simulated=False)
