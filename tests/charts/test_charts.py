"""Laws that hold for every chart, then those of single ones. A new chart adds its line to CHARTS."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from trnn_core import charts
from trnn_core.charts.accuracy import (
    coverage_by_group,
    errors_by_country,
    errors_by_group,
    errors_by_model,
    errors_over_time,
    pit_histogram,
)
from trnn_core.charts.bars import before_after, ranking
from trnn_core.charts.chord import LINE, _spread, chord
from trnn_core.charts.edges import Edge, strongest
from trnn_core.charts.explanations import (
    contributions,
    influence_matrix,
    responses,
    surprise_over_time,
    with_and_without,
)
from trnn_core.charts.heatmap import heatmap
from trnn_core.charts.lines import Fan, activity, best_epoch, dyad_history, loss_curve
from trnn_core.charts.look import Look, Measure
from trnn_core.charts.name_sides import name_sides
from trnn_core.charts.node_link import network
from trnn_core.charts.order import LAYOUTS, ORDERS, order_actors, place_actors, ties
from trnn_core.charts.search_trials import setting_importance, trial_history
from trnn_core.charts.theme import DARK, LIGHT, colour_at
from trnn_core.errors import TRNNError

HISTORY = pd.DataFrame({"epoch": [1, 2, 3], "train_loss": [0.9, 0.5, 0.4], "val_loss": [0.8, 0.6, 0.7]})


def week(series):
    return np.asarray(series.values[-1, :, :, 0], dtype=float)


def fan(series):
    return Fan(series.next_dates(2), np.array([2.0, 3.0]), np.array([0.0, 1.0]), np.array([5.0, 7.0]))


ERRORS = pd.DataFrame({"a": [0.2, 0.1], "b": [0.3, 0.2]}, index=["2014-07-03", "2014-07-10"])
DATES = ["2014-07-03", "2014-07-10"]
CHANGE = Measure("change")
DRAWN = Look("T", simulated=True)
BAND = (np.array([2.0, 3.0]), np.array([0.0, 1.0]), np.array([5.0, 7.0]))

# One line per chart: its name -> how it is drawn for a series, with a look that says what the series is.
CHARTS = {
    "heatmap": lambda s, look: heatmap(week(s), s.actors, look),
    "heatmap of changes": lambda s, look: heatmap(week(s) - 2, s.actors, look, measure=CHANGE),
    "network": lambda s, look: network(week(s), s.actors, place_actors(s), look),
    "influence": lambda s, look: influence_matrix(week(s), s.actors, look, solid=week(s) > 1),
    "contributions": lambda s, look: contributions(s.actors, week(s)[0] - 1, look, unit="events", axis="country"),
    "with and without": lambda s, look: with_and_without(DATES, BAND, BAND, look, unit="events"),
    "responses": lambda s, look: responses(s.actors[:1], [BAND], look, unit="events", period="week"),
    "surprise": lambda s, look: surprise_over_time(DATES, np.array([0.0, 4.0]), [1], [(0, 1)], 3.0, look),
    "chord": lambda s, look: chord(week(s), s.actors, look, order=range(6)),
    "activity": lambda s, look: activity(s, look, mark=3),
    "dyad history": lambda s, look: dyad_history(s, (0, 1, 0), look, fan=fan(s)),
    "loss": lambda s, look: loss_curve(HISTORY, look),
    "ranking": lambda s, look: ranking(s.actors, s.values.sum((0, 2, 3)), look, unit="events", axis="sender"),
    "before and after": lambda s, look: before_after(s.values, np.log1p(s.values), "log1p", look),
    "errors by model": lambda s, look: errors_by_model(["a", "b"], [0.2, 0.3], "a", look, unit="squared error"),
    "errors over time": lambda s, look: errors_over_time(ERRORS, ["a", "b"], look, unit="error", period="week"),
    "errors by group": lambda s, look: errors_by_group(ERRORS, ["a", "b"], look, unit="error", axis="action"),
    "errors by country": lambda s, look: errors_by_country(
        pd.DataFrame({"country": s.actors, "sent": week(s)[0], "received": week(s)[1]}), look, unit="squared error"
    ),
    "PIT": lambda s, look: pit_histogram(np.full(10, 0.1), look),
    "coverage": lambda s, look: coverage_by_group(
        pd.DataFrame({"model": ["a", "a"], "group": ["all", "quiet"], "coverage90": [0.9, 0.93]}),
        ["a"],
        ["all", "quiet"],
        look,
    ),
    "trials": lambda s, look: trial_history(
        [{"number": 0, "state": "complete", "value": 0.3, "params": {"train.batch": 8}}], look
    ),
    "importance": lambda s, look: setting_importance({"train.batch": 0.7}, look),
}
OWN_TITLES = {
    "activity",
    "before and after",
    "coverage",
    "dyad history",
    "errors by country",
    "errors by model",
    "errors over time",
    "importance",
    "loss",
    "PIT",
    "surprise",
    "trials",
}


def draw(chart, series, *, dark=False) -> go.Figure:
    title = "" if chart in OWN_TITLES else chart
    return CHARTS[chart](series, Look(title, simulated=series.source.simulated, dark=dark))


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("chart", CHARTS)
def test_every_chart_has_a_title_says_simulated_and_lets_no_tag_through(chart, dark, small_series) -> None:
    figure = draw(chart, small_series, dark=dark)
    assert isinstance(figure, go.Figure)
    assert figure.layout.title.text
    assert "SIMULATED" in figure.layout.title.subtitle.text
    assert "<script" not in json.dumps(figure.to_plotly_json(), default=str)


@pytest.mark.parametrize("chart", CHARTS)
def test_axes_that_are_seen_are_labelled(chart, small_series) -> None:
    """Both of them, in every panel. Only a drawing around a middle of its own has no axes to show."""
    layout = draw(chart, small_series).to_plotly_json()["layout"]
    seen = {name: axis for name, axis in layout.items() if re.match("[xy]axis", name) and axis.get("visible", True)}
    assert [name for name, axis in seen.items() if not axis.get("title", {}).get("text")] == []
    assert seen or all(sum(layout[name]["range"]) == 0 for name in ("xaxis", "yaxis"))


def test_every_chart_there_is_stands_in_this_list() -> None:
    """A function of trnn_core.charts that gives a figure is drawn above, so that no chart escapes the laws."""
    drawn = set()
    for path in sorted(Path(charts.__file__).parent.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.returns is not None]
        drawn |= {f.name for f in functions if ast.unparse(f.returns) == "go.Figure" and not f.name.startswith("_")}
    listed = {name for make in CHARTS.values() for name in make.__code__.co_names}
    assert drawn - {"finish"} <= listed, drawn - listed


def test_a_chart_has_its_own_title_where_none_was_asked_for_and_never_goes_without(small_series) -> None:
    assert draw("activity", small_series).layout.title.text == "<b>Activity over time</b>"
    assert activity(small_series, DRAWN).layout.title.text == "<b>T</b>"
    with pytest.raises(TRNNError, match="needs a title"):
        heatmap(week(small_series), small_series.actors, Look(simulated=True))


def test_changes_are_coloured_symmetrically_around_zero(small_series) -> None:
    figure = heatmap(week(small_series) - 2, small_series.actors, DRAWN, measure=CHANGE)
    assert figure.data[0].zmin == -figure.data[0].zmax
    for side in (LIGHT, DARK):
        assert len(side.changes) % 2 == 1


def brightness(colour: str) -> float:
    r, g, b = (int(x) for x in colour[4:-1].split(","))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@pytest.mark.parametrize("side", [LIGHT, DARK])
def test_more_events_are_always_further_from_the_ground_in_brightness(side) -> None:
    steps = np.array([brightness(colour_at(side.counts, x)) for x in np.linspace(0, 1, 30)])
    assert (np.diff(steps) < 0).all() if side is LIGHT else (np.diff(steps) > 0).all()


def test_a_click_on_the_heatmap_carries_the_actors_of_the_cell_whatever_the_order(small_series) -> None:
    matrix, order = week(small_series), order_actors(small_series, "activity")
    squares = heatmap(matrix, small_series.actors, DRAWN, order=order).data[1]
    for x, y, (i, j), text in zip(squares.x, squares.y, squares.customdata, squares.text, strict=True):
        assert (order[y], order[x]) == (i, j)
        assert text.startswith("<b>") and "→" in text
    assert all(isinstance(c, list | tuple) for c in squares.customdata)  # an array would reach the page as a dict
    assert {tuple(c) for c in squares.customdata} == {(i, j) for i in range(6) for j in range(6)}


def test_a_matrix_of_the_wrong_size_is_refused_with_both_sizes(small_series) -> None:
    with pytest.raises(TRNNError, match=r"6 x 6.*\(5, 6\)"):
        heatmap(np.zeros((5, 6)), small_series.actors, DRAWN)


@pytest.mark.parametrize("by", ORDERS)
def test_an_order_is_a_permutation(by, small_series) -> None:
    assert sorted(order_actors(small_series, by)) == list(range(6))


def test_similarity_puts_two_blocs_side_by_side(small_series) -> None:
    values = np.zeros((60, 6, 6, 4))
    for bloc in ([0, 3, 5], [1, 2, 4]):
        values[np.ix_(range(60), bloc, bloc, range(4))] = 5.0
    order = order_actors(type(small_series)(values, small_series.dates, small_series.actors, small_series.actions))
    assert {frozenset(order[:3]), frozenset(order[3:])} == {frozenset({0, 3, 5}), frozenset({1, 2, 4})}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_places_are_fixed_distinct_and_within_the_frame(layout, small_series) -> None:
    once, again = place_actors(small_series, layout), place_actors(small_series, layout)
    assert np.array_equal(once, again)
    assert np.abs(once).max() <= 1 + 1e-9
    gaps = np.linalg.norm(once[:, None] - once[None], axis=2) + 9 * np.eye(6)
    assert gaps.min() > 0.2


def test_ties_are_symmetric_and_ignore_missing_cells(small_series) -> None:
    values = small_series.values.copy()
    values[0] = np.nan
    tied = ties(type(small_series)(values, small_series.dates, small_series.actors, small_series.actions))
    assert np.array_equal(tied, tied.T) and np.isfinite(tied).all()


def test_the_network_draws_the_strongest_edges_and_no_loops() -> None:
    matrix = np.array([[9.0, 1.0, 5.0], [0.0, 9.0, -7.0], [2.0, np.nan, 9.0]])
    assert [(e.source, e.target) for e in strongest(matrix, top=2)] == [(1, 2), (0, 2)]
    assert [(e.source, e.target) for e in strongest(matrix, top=None, threshold=2)] == [(1, 2), (0, 2), (2, 0)]
    assert strongest(matrix, ego=0, top=None) == [Edge(0, 2, 5.0), Edge(2, 0, 2.0), Edge(0, 1, 1.0)]


def test_two_networks_on_one_scale_draw_equal_figures_equally(small_series) -> None:
    places, weak = place_actors(small_series), np.zeros((6, 6))
    weak[0, 1] = 1.0
    strong = weak.copy()
    strong[2, 3] = 10.0
    alone, faint, both = (
        network(m, small_series.actors, places, DRAWN, measure=CHANGE, largest=x)
        for m, x in ((weak, None), (weak, 10.0), (strong, 10.0))
    )
    width = lambda figure: figure.data[0].line.width  # noqa: E731  # the faintest lies below
    assert width(alone) > width(faint) == width(both)


def test_a_network_without_edges_still_shows_its_countries(small_series) -> None:
    figure = network(np.zeros((6, 6)), small_series.actors, place_actors(small_series), DRAWN)
    assert figure.data[-1].text[0] == "France"


def test_the_fan_starts_at_the_last_observation_and_spans_the_interval(small_series) -> None:
    figure = dyad_history(small_series, (0, 1, 0), DRAWN, fan=fan(small_series))
    band = next(t for t in figure.data if t.name == "90\u00a0% interval")
    assert band.y[0] == band.y[-1] == small_series.values[-1, 0, 1, 0]
    assert max(band.y[1:3]) == 7.0 and min(band.y[3:5]) == 0.0


def test_nan_is_never_the_best_epoch() -> None:
    assert best_epoch(HISTORY) == (2, 0.6)
    assert best_epoch(pd.DataFrame({"epoch": [1], "val_loss": [float("nan")]})) is None
    assert best_epoch(pd.DataFrame({"epoch": [1]})) is None


def test_a_loss_curve_of_a_run_that_has_only_begun_is_drawn() -> None:
    empty = pd.DataFrame({"epoch": [], "train_loss": [], "val_loss": []})
    assert loss_curve(empty, Look(simulated=False)).layout.title.text == "<b>Loss</b>"


def test_chords_have_a_ribbon_per_relation_and_arcs_as_long_as_activity() -> None:
    matrix = np.array([[0.0, 6.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    figure = chord(matrix, ["A", "B", "C"], DRAWN, order=[0, 1, 2])
    handles = next(t for t in figure.data if t.customdata is not None)
    assert sorted(map(tuple, handles.customdata)) == [(0, 1), (1, 0)]
    assert len([t for t in figure.data if t.fill == "toself"]) == 2 + 2  # ribbons and arcs
    assert list(figure.data[-1].text) == ["A", "B"]  # C has nothing to show
    with pytest.raises(TRNNError, match="2 x 2"):
        chord(matrix, ["A", "B"], DRAWN, order=[0, 1])


def test_names_of_a_network_stand_clear_of_each_other_on_a_phone() -> None:
    rng = np.random.default_rng(0)
    names = [f"Country {i:02d}" for i in range(12)]
    places = rng.uniform(-1, 1, (12, 2))
    places[1] = places[0] + [0.12, 0.0]  # both above would be one on the other
    sides = name_sides(names, places)
    assert sides == name_sides(names, places) and sides[0] != sides[1]
    assert name_sides(["A rather long country"], np.array([[1.0, 0.0]]))[0].endswith(
        "left"
    )  # else the edge would cut it


def test_names_around_a_circle_are_moved_apart_and_keep_their_order() -> None:
    angles = _spread(np.array([0.5, 1.5, 1.51, 1.52, 3.0]))
    assert (np.diff(angles) > 0.9 * LINE).all()
    assert angles[0] == 0.5 and angles[-1] == 3.0
