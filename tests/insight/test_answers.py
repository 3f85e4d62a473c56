"""Attribution is complete and lands where it must; shocks spread along ties; scenarios are kept whole; weeks stand out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.trained_store import make_home
from trnn_core.data.simulation import simulate
from trnn_core.errors import TRNNError
from trnn_core.insight.answers import Attribution, Impulse, Outcome, Unusual, pack, unpack
from trnn_core.insight.attribution import attribute
from trnn_core.insight.counterfactual import run_scenario
from trnn_core.insight.library import delete_scenario, get_scenario, list_scenarios, save_scenario
from trnn_core.insight.loading import load_view
from trnn_core.insight.responses import impulse_response
from trnn_core.insight.sentences import (
    apart,
    drivers,
    effects,
    moved,
    say_attribution,
    say_completeness,
    say_effect,
    say_impulse,
    say_unusual,
)
from trnn_core.insight.shocks import Shock, changes_of, parse_shock, plant
from trnn_core.insight.surprise import find_unusual
from trnn_core.insight.view import NetworkView
from trnn_core.runs.store import RunStore
from trnn_core.training.config import Recipe
from trnn_core.training.networks import build_network
from trnn_core.training.prepare import prepare
from trnn_core.training.trainer import fit


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return make_home(tmp_path_factory.mktemp("insight") / "home", n_actors=6, n_periods=110)


@pytest.fixture
def store(home) -> RunStore:
    return RunStore(home / "runs")


@pytest.fixture
def view(store) -> NetworkView:
    return load_view(store, "first")  # type: ignore[return-value]


def busiest(view, n) -> list[tuple[int, int, int]]:
    total = np.asarray(view.series.values).mean(axis=0)
    return [tuple(int(x) for x in np.unravel_index(p, total.shape)) for p in np.argsort(-total, axis=None)[:n]]


def own_past_only() -> NetworkView:
    """A network whose factors are all diagonal: by construction each cell reads its own past and nothing else."""
    series = simulate(seed=3, n_actors=5, n_periods=80)
    recipe = Recipe(
        data={"transform": "log1p+standardise", "window": 5},
        model={"cell": "gru", "hidden_shape": (5, 5, 4), "init": "identity"},
    )
    prepared = prepare(series, recipe)
    network = build_network(prepared, recipe)
    with torch.no_grad():
        for factor in network.parameters():
            if factor.shape[-1] == factor.shape[-2]:
                factor.mul_(torch.eye(factor.shape[-1]))
    return NetworkView(network, prepared)


@pytest.mark.parametrize("step", [1, 3, 8])
def test_contributions_add_up_to_the_difference_from_the_usual(view, step):
    gaps = []
    for cell in (*busiest(view, 4), (0, 1, 2)):
        found = attribute(view, cell, step)
        gaps.append(found.gap)
        with torch.no_grad():
            level = float(view.levels(view.past(len(view.series) - 1)[None], step)[0, step - 1][cell])
        assert found.level == pytest.approx(level, abs=1e-5)
        assert found.in_events.sum() == pytest.approx(
            found.value - found.usual_value, abs=0.01 * abs(found.value - found.usual_value) + 1e-3
        )
    assert max(gaps) <= 0.01, gaps


def test_a_cell_that_depends_on_its_own_past_only_is_attributed_there():
    view = own_past_only()
    found = attribute(view, (1, 2, 0))
    assert abs(found.difference) > 0.01 and found.complete
    own = np.zeros(found.contributions.shape, dtype=bool)
    own[:, 1, 2, 0] = True
    assert np.abs(found.contributions[~own]).max() < 1e-6
    assert found.contributions[own].sum() == pytest.approx(found.difference, rel=0.01)
    table = drivers(found, view.series.actors, view.series.actions)
    assert len(table) == 1 and table["share"][0] == pytest.approx(1.0, rel=0.01)


def test_where_every_relation_follows_its_own_past_only_the_trained_network_says_so():
    """Twenty relations that know nothing of each other: of what drives a forecast, most must be its own past."""
    rng = np.random.default_rng(7)
    level = np.zeros((520, 5, 5, 2))
    for t in range(1, len(level)):
        level[t] = 0.85 * level[t - 1] + 0.45 * rng.standard_normal(level.shape[1:])
    counts = rng.poisson(np.exp(1.6 + level)).astype(np.float64)
    counts[:, np.arange(5), np.arange(5)] = 0.0
    base = simulate(seed=3, n_actors=5, n_periods=520)
    series = replace(base, values=counts, actions=base.actions[:2], observed=None)
    recipe = Recipe(
        data={"transform": "log1p+standardise", "window": 5},
        model={"cell": "gru", "hidden_shape": (5, 5, 2), "init": "identity"},
        train={"epochs": 12, "learning_rate": 0.01, "schedule": "cosine", "clip_norm": 1.0},
    )
    fitted = fit(series, recipe)
    view, shares = NetworkView(fitted.network, fitted.prepared), []
    for cell in [(i, j, k) for i in range(5) for j in range(5) for k in range(2) if i != j]:
        found = attribute(view, cell)
        assert found.complete
        if abs(found.difference) > 0.2:  # something happened that can be explained
            by_cell = np.abs(found.contributions.sum(axis=0))
            assert np.unravel_index(by_cell.argmax(), by_cell.shape) == cell
            shares.append(by_cell[cell] / by_cell.sum())
    assert len(shares) >= 10 and np.median(shares) > 0.8, shares


def test_an_attribution_in_words_names_what_happened(view):
    cell, series = busiest(view, 1)[0], view.series
    found = unpack(Attribution, pack(attribute(view, cell)))
    assert "gap of 0." in say_completeness(found) and "complete" in say_completeness(found)
    assert f"{series.actors[cell[0]]} → {series.actors[cell[1]]}" in say_attribution(
        found, series.actors, series.actions, "week", "events"
    )
    row = drivers(found, series.actors, series.actions).iloc[0]
    t = found.dates.index(row["period"])
    i, j, k = (
        series.actors.index(row["source"]),
        series.actors.index(row["target"]),
        series.actions.index(row["action"]),
    )
    assert row["observed"] == pytest.approx(series.values[len(series) - len(found.dates) + t, i, j, k], abs=1e-3)


def test_bad_cells_are_told(view):
    with pytest.raises(TRNNError, match="from one country to another"):
        attribute(view, (1, 1, 0))
    with pytest.raises(TRNNError, match="sender and a receiver from 0 to 5"):
        attribute(view, (0, 9, 0))


def test_without_a_change_a_scenario_is_the_runs_forecast(store, view):
    a, b, _ = view.series.actors[:3]
    outcome = run_scenario(view, [Shock(a, b, "verbal conflict", "+", 0.0)])
    stored = store.get("first").forecast()
    np.testing.assert_allclose(outcome.usual[0], stored.mean, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(outcome.usual[2], stored.upper, atol=1.0)
    assert np.abs(outcome.difference).max() == 0


def test_a_shock_moves_the_forecast_and_the_means_differ_by_the_difference(view):
    shock = parse_shock(f"{view.series.actors[0]},{view.series.actors[1]},verbal conflict,+20", view.series)
    outcome = unpack(Outcome, pack(run_scenario(view, [shock])))
    off = ~np.eye(6, dtype=bool)
    assert np.abs(outcome.difference[:, off]).max() > 0
    np.testing.assert_allclose((outcome.changed[0] - outcome.usual[0])[:, off], outcome.difference[:, off], atol=1e-4)
    assert (outcome.lower <= outcome.difference + 1e-6).all() and (outcome.difference <= outcome.upper + 1e-6).all()
    assert outcome.difference[:, ~off].max() == 0
    table = effects(outcome, view.series.actors, view.series.actions)
    assert len(table) == 8 * 6 * 5 * 4 and table["difference"].abs().is_monotonic_decreasing
    assert outcome.dates[0] in say_effect(outcome, view.series.actors, view.series.actions, 0, "week", "events")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("China,Japan", "SENDER,RECEIVER,ACTION,AMOUNT"),
        ("Nowhere,Japan,verbal conflict,+2", "one of the run's 6"),
        ("Japan,Japan,verbal conflict,+2", "from one country to another"),
        ("Japan,Georgia,verbal conflict,much", "must be a number"),
        ("Japan,Georgia,shouting,+2", "action of a shock"),
        ("Japan,Georgia,verbal conflict,+2,2004-01-02", "first day of a week"),
        ("Japan,Georgia,verbal conflict,+2,2004-01-01", "reads the last"),
        ("Japan,Georgia,verbal conflict,+1e12", "from 0 to"),
    ],
)
def test_bad_shocks_get_a_sentence(view, text, words):
    with pytest.raises(TRNNError, match=words):
        run_scenario(view, [parse_shock(text, view.series)])


def test_names_with_commas_and_all_four_amounts(view):
    named = replace(view.series, actors=("Korea, South", *view.series.actors[1:]))
    shock = parse_shock('"korea, south",Japan,all,x2', named)
    assert (shock.source, shock.action, shock.how, shock.amount) == ("Korea, South", "all", "x", 2.0)
    assert [parse_shock(f"Georgia,Japan,verbal conflict,{a}", view.series).how for a in ("5", "-5", "=0")] == [
        "+",
        "-",
        "=",
    ]


def test_edited_weeks_become_changes_of_the_cells_that_differ(view):
    a, b = view.series.actors[:2]
    now = view.series.values[-3:, 0, 1].astype(float)
    assert changes_of(a, b, now, view.series) == []
    edited = now.copy()
    edited[0, 2] += 7
    edited[2, 3] = 40
    found = changes_of(a, b, edited, view.series)
    assert found == [
        Shock(a, b, view.series.actions[2], "=", edited[0, 2], str(view.series.dates[-3])),
        Shock(a, b, view.series.actions[3], "=", 40.0),
    ]
    np.testing.assert_array_equal(plant(view.series.values[-3:], found, view.series, 3)[:, 0, 1], edited)


def test_two_scenarios_apart_is_the_second_less_the_first(view):
    actors, actions = view.series.actors, view.series.actions
    first, second = (
        run_scenario(view, [Shock(actors[0], actors[1], actions[3], "+", x)], horizon=2) for x in (10.0, 40.0)
    )
    table = apart(first, second, actors, actions)
    row = table.iloc[0]
    h, cell = (
        first.dates.index(row["date"]),
        (actors.index(row["source"]), actors.index(row["target"]), actions.index(row["action"])),
    )
    off = (second.difference - first.difference)[:, ~np.eye(6, dtype=bool)]
    assert row["apart"] == pytest.approx((second.difference - first.difference)[h][cell]) and abs(
        row["apart"]
    ) == pytest.approx(np.abs(off).max())
    assert len(table) == 2 * 6 * 5 * 4 and row["apart"] != 0


def test_scenarios_are_kept_listed_read_and_deleted_whole(store, view):
    run = store.get("first")
    shocks = [Shock(view.series.actors[0], view.series.actors[1], "all", "x", 3.0)]
    outcome = run_scenario(view, shocks, horizon=3)
    first = save_scenario(run, "  Three\ntimes ", shocks, outcome)
    second = save_scenario(run, "Again", shocks, outcome)
    assert {s.name for s in list_scenarios(run)} == {"Three times", "Again"} and first.fits(run)
    np.testing.assert_allclose(get_scenario(run, first.scenario_id).outcome().difference, outcome.difference, rtol=1e-6)
    assert run.verify() == []
    damaged = bytearray((second.folder / "outcome.npz").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (second.folder / "outcome.npz").write_bytes(damaged)
    with pytest.raises(TRNNError, match="does not match its checksum"):
        second.outcome()
    for scenario in (first, second):
        delete_scenario(run, scenario.scenario_id)
    assert list_scenarios(run) == [] and not list((run.folder / "scenarios").iterdir())
    with pytest.raises(TRNNError, match="must look like"):
        get_scenario(run, "../../etc")


def test_an_impulse_fades_and_is_told(view):
    found = unpack(Impulse, pack(impulse_response(view, (0, 1, 0), 15.0, n_origins=6)))
    assert found.mean.shape == (8, 6, 6, 4) and np.abs(found.mean).max() > 0
    assert (found.lower <= found.mean + 1e-6).all() and (found.mean <= found.upper + 1e-6).all()
    assert found.mean[:, np.arange(6), np.arange(6)].max() == 0
    assert "After 15 more" in say_impulse(found, view.series.actors, view.series.actions, "week")


def test_a_week_of_crisis_stands_out_with_its_countries():
    calm = simulate(seed=5, n_actors=6, n_periods=300)
    values = calm.values.copy()
    values[285, 0, 1:4, 3] += 40
    values[285, 1:4, 0, 3] += 40
    series = replace(calm, values=values, observed=None)
    recipe = Recipe(
        data={"transform": "log1p+standardise", "window": 2},
        model={"cell": "gru", "hidden_shape": (6, 6, 4), "init": "identity"},
        train={"epochs": 2},
    )
    fitted = fit(series, recipe)
    found = unpack(Unusual, pack(find_unusual(NetworkView(fitted.network, fitted.prepared))))
    at = found.dates.index(str(series.dates[285]))
    assert int(found.flagged[0]) == at and found.surprise[at] >= 3
    assert len(found.flagged) <= 0.05 * len(found.dates)
    rows = moved(found, at, series.actors, series.actions).head(6)
    assert {series.actors[0]} <= set(rows["source"]) | set(rows["target"]) and set(rows["action"]) == {
        "material conflict"
    }
    assert str(series.dates[285]) in say_unusual(found, "week")
