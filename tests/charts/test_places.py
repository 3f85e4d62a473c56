"""Countries on the map and in blocs: against facts from elsewhere, and against made-up worlds."""

from __future__ import annotations

import numpy as np
import plotly.express as px
import pytest

from trnn_core.charts.blocs import find_blocs
from trnn_core.charts.look import Look
from trnn_core.charts.map import map_frame, place_on_map
from trnn_core.charts.node_link import Scene, network
from trnn_core.charts.order import order_actors
from trnn_core.data.countries import actors, resolve
from trnn_core.data.places import place_of


def test_every_actor_of_the_country_table_has_a_place_on_earth() -> None:
    for actor in actors():
        place = place_of(actor.name)
        assert place is not None and -90 <= place[0] <= 90 and -180 <= place[1] <= 180, actor.name


def test_capitals_lie_near_the_middles_of_their_countries_as_told_by_another_source() -> None:
    """Gapminder's centroids come with plotly; only large or drawn-out countries have their capital far from the middle."""
    table = px.data.gapminder(centroids=True).drop_duplicates("country")
    far = {}
    for row in table.itertuples():
        match = resolve(row.iso_alpha, scheme="iso3")
        if match.name is None:
            continue
        latitude, longitude = place_of(match.name)  # type: ignore[misc]
        across = (longitude - row.centroid_lon) * np.cos(np.radians(latitude))
        far[match.name] = float(np.hypot(latitude - row.centroid_lat, across))
    assert len(far) > 130
    assert np.median(list(far.values())) < 2.5
    wide = {
        "Russian Federation",
        "Canada",
        "United States",
        "China",
        "Australia",
        "Brazil",
        "Indonesia",
        "Chile",
        "Argentina",
        "Algeria",
        "Libya",
        "India",
        "Malaysia",
        "Mexico",
        "Democratic Republic of the Congo",
    }
    assert {name for name, degrees in far.items() if degrees > 10} <= wide, far


def test_east_is_right_and_north_is_up() -> None:
    names = ["United States", "France", "Japan", "Australia", "Norway"]
    at = dict(zip(names, place_on_map(names), strict=True))
    assert at["United States"][0] < at["France"][0] < at["Japan"][0]
    assert at["Australia"][1] < at["United States"][1] < at["Norway"][1]
    frame = map_frame(names)
    assert frame is not None
    assert [name for _, name in frame.parallels()][:2] == ["30°S", "0°"]
    assert frame.x(0.0) < frame.x(90.0)


def test_actors_that_are_no_countries_stand_below_the_map() -> None:
    at = place_on_map(["France", "Ruritania", "Japan", "Shangri-La"])
    assert at[[1, 3], 1].max() < at[[0, 2], 1].min() and at[1, 0] != at[3, 0]
    assert map_frame(["Ruritania"]) is None


def test_two_blocs_are_found_named_and_set_side_by_side(small_series) -> None:
    values = np.zeros((60, 6, 6, 4))
    for bloc in ([0, 3, 5], [1, 4]):
        values[np.ix_(range(60), bloc, bloc, [0])] = 5.0
    values[:, 3, :, 0] *= 2  # the busiest of the first bloc gives it its name
    values[:, 0, 1, 3] = 50.0  # conflict across is no cooperation
    made = type(small_series)(values, small_series.dates, small_series.actors, small_series.actions)
    blocs = find_blocs(made)
    assert blocs.of[0] == blocs.of[3] == blocs.of[5] != blocs.of[1] == blocs.of[4]
    assert blocs.names[0] == "around =cmd()" and blocs.names[-1] == "in no bloc" and blocs.of[2] == 2
    assert [blocs.of[i] for i in order_actors(made, "bloc")] == [0, 0, 0, 1, 1, 2]


def test_a_network_by_bloc_has_a_legend_and_a_hidden_country_is_not_drawn(small_series) -> None:
    blocs = find_blocs(small_series)
    scene = Scene(blocs, map_frame(small_series.actors), frozenset({0}))
    places = place_on_map(small_series.actors)
    figure = network(np.ones((6, 6)), small_series.actors, places, Look("N", simulated=True), scene=scene)
    assert [t.name for t in figure.data if t.showlegend] == [
        n.replace("<", "&lt;").replace(">", "&gt;") for n in blocs.names
    ]
    nodes = figure.data[-1]
    assert nodes.marker.size[0] == 0 and nodes.text[0] == "" and nodes.marker.size[1] > 0
    assert any("°" in a.text for a in figure.layout.annotations)


@pytest.mark.parametrize("name", ["Korea, South", "Côte d'Ivoire", "USSR"])
def test_spellings_lead_to_their_place(name) -> None:
    assert place_of(name) is not None
