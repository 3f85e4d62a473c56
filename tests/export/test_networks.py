"""Network files read back by igraph and by plain XML parsers: weights and labels intact, time stamps where they belong."""

from __future__ import annotations

import datetime

import igraph
import numpy as np
import pytest
from lxml import etree

from tests.export.conftest import NASTY, TITLE
from trnn_core.errors import TRNNError
from trnn_core.export.graph_files import dynamic_gexf, dynamic_graphml, static_gexf, static_graphml, weeks_of
from trnn_core.export.material import Material

G = "{http://www.gexf.net/1.2draft}"


def read_igraph(content: bytes, tmp_path) -> igraph.Graph:
    path = tmp_path / "x.graphml"
    path.write_bytes(content)
    return igraph.Graph.Read_GraphML(str(path))


def test_static_graphml_by_igraph(material: Material, tmp_path) -> None:
    graph = read_igraph(static_graphml(material, 2), tmp_path)
    assert graph.is_directed() and graph.vs["label"] == list(NASTY)
    found = np.zeros((len(NASTY), len(NASTY)))
    for edge in graph.es:
        found[edge.source, edge.target] = edge["weight"]
        assert edge["lower"] <= edge["upper"]
    expected = np.array(material.forecast.mean[0, ..., 2])
    np.fill_diagonal(expected, 0)
    assert np.array_equal(found, expected)
    assert graph["data"] == "simulated" and TITLE in graph["provenance"] and "SIMULATED" in graph["provenance"]


def test_static_gexf_by_plain_xml(material: Material) -> None:
    root = etree.fromstring(static_gexf(material, 0))
    nodes = {n.get("id"): n.get("label") for n in root.iter(f"{G}node")}
    assert list(nodes.values()) == list(NASTY)
    weights = {(e.get("source"), e.get("target")): float(e.get("weight")) for e in root.iter(f"{G}edge")}
    assert weights["n4", "n3"] == material.forecast.mean[0, 4, 3, 0] and len(weights) == len(NASTY) * (len(NASTY) - 1)
    assert root.find(f"{G}graph").get("defaultedgetype") == "directed"
    assert TITLE in root.findtext(f"{G}meta/{G}description") and "SIMULATED" in root.findtext(f"{G}meta/{G}description")


def test_a_pair_not_observed_has_no_made_up_last_value(material: Material, tmp_path) -> None:
    graph = read_igraph(static_graphml(material, 1), tmp_path)
    edge = graph.es[graph.get_eid(2, 3)]
    assert edge["last_observed"] is None or np.isnan(edge["last_observed"])
    assert edge["weight"] == material.forecast.mean[0, 2, 3, 1]


def test_dynamic_gexf_carries_every_week_of_every_pair(material: Material) -> None:
    root = etree.fromstring(dynamic_gexf(material, 1, last=20))
    graph = root.find(f"{G}graph")
    assert (graph.get("mode"), graph.get("timeformat")) == ("dynamic", "date")
    weeks = weeks_of(material, 1, last=20)
    found = np.zeros_like(weeks.values)
    places = {str(d): t for t, d in enumerate(weeks.starts)}
    for edge in graph.iter(f"{G}edge"):
        i, j = (int(edge.get(end)[1:]) for end in ("source", "target"))
        days: set[datetime.date] = set()
        for value in edge.iter(f"{G}attvalue"):
            first, last = (datetime.date.fromisoformat(value.get(end)) for end in ("start", "end"))
            if value.get("for") == "weight":
                assert (last - first).days == 6
                found[places[value.get("start")], i, j] = float(value.get("value"))
                days |= {first + datetime.timedelta(d) for d in range(7)}
        spells = {
            datetime.date.fromisoformat(s.get("start")) + datetime.timedelta(d)
            for s in edge.iter(f"{G}spell")
            for d in range(
                (datetime.date.fromisoformat(s.get("end")) - datetime.date.fromisoformat(s.get("start"))).days + 1
            )
        }
        assert spells == days  # the edge is there exactly while it has a weight
    expected = np.nan_to_num(weeks.values)
    expected[:, np.arange(len(NASTY)), np.arange(len(NASTY))] = 0
    assert np.array_equal(found, expected)
    assert [n.get("label") for n in graph.iter(f"{G}node")] == list(NASTY)
    assert "SIMULATED" in root.findtext(f"{G}meta/{G}description")


def test_dynamic_gexf_tells_expected_from_observed(material: Material) -> None:
    root = etree.fromstring(dynamic_gexf(material, 0, last=5))
    for value in root.iter(f"{G}attvalue"):
        if value.get("for") == "status":
            assert value.get("value") == (
                "expected" if value.get("start") >= str(material.forecast.dates[0]) else "observed"
            )


def test_dynamic_graphml_by_igraph(material: Material, tmp_path) -> None:
    graph = read_igraph(dynamic_graphml(material, 0, last=10), tmp_path)
    weeks = weeks_of(material, 0, last=10)
    places = {str(d): t for t, d in enumerate(weeks.starts)}
    found = np.zeros_like(weeks.values)
    for edge in graph.es:
        found[places[edge["start"]], edge.source, edge.target] = edge["weight"]
        assert edge["status"] == ("observed" if edge["start"] <= str(material.forecast.last_date) else "expected")
    expected = np.nan_to_num(weeks.values)
    expected[:, np.arange(len(NASTY)), np.arange(len(NASTY))] = 0
    assert np.array_equal(found, expected) and graph.vs["label"] == list(NASTY)


def test_the_weeks_are_the_last_observed_ones_then_the_forecast(material: Material) -> None:
    weeks = weeks_of(material, 3, last=None)
    assert len(weeks.values) == len(material.series) + len(material.forecast.dates)
    assert np.all(np.diff(weeks.starts) == np.timedelta64(7, "D")) and np.all(
        weeks.ends - weeks.starts == np.timedelta64(6, "D")
    )
    with pytest.raises(TRNNError, match=r"at least 1 observed period. Got 0 instead"):
        weeks_of(material, 3, last=0)


def test_signs_no_xml_may_hold_do_not_break_the_file(material: Material) -> None:
    from dataclasses import replace

    actors = ("a\x00b\x1f", *material.forecast.actors[1:])
    broken = replace(material, forecast=replace(material.forecast, actors=actors))
    for write in (static_graphml, static_gexf, dynamic_graphml, dynamic_gexf):
        assert "a\ufffdb\ufffd" in write(broken, 0).decode()
        etree.fromstring(write(broken, 0))
