"""A trained network recovers the influence that was put into the simulated set.

Measures: the chance that a true tie (an actor follows two others) ranks above a pair without one, off the diagonal (AUC;
0.5 is guessing), at least 0.95; and the correlation with the true influence, at least 0.8. Where the truth is nonlinear the
network must beat Hoff's regression on the same weeks. More seeds: benchmarks/insight.
"""

from __future__ import annotations

import numpy as np
import pytest

from trnn_core.data.simulation import THRESHOLD, simulate, truth_of
from trnn_core.errors import TRNNError
from trnn_core.insight.answers import InfluenceSet, scale_matrix
from trnn_core.insight.influence_matrices import (
    jacobian_by_period,
    jacobian_influence,
    mltr_influence,
    mode_influence,
    ranking_quality,
    recent_origins,
    recovery,
)
from trnn_core.insight.loading import explain_influence, explain_run, load_view
from trnn_core.insight.responses import impulse_response
from trnn_core.insight.stability import moderate, without_part
from trnn_core.insight.view import NetworkView
from trnn_core.runs.demo import ensure_demo
from trnn_core.runs.store import RunStore
from trnn_core.training.config import Recipe
from trnn_core.training.networks import build_network
from trnn_core.training.prepare import prepare
from trnn_core.training.trainer import fit

RECIPE = Recipe(
    data={"transform": "log1p+standardise", "window": 3},
    model={"cell": "gru", "hidden_shape": (25, 25, 4), "init": "identity"},
    train={"epochs": 8, "learning_rate": 0.01, "schedule": "cosine", "clip_norm": 1.0},
)
NONLINEAR = RECIPE.changed(
    **{
        "data.transform": "standardise",
        "data.window": 1,
        "data.slices": "direct,direct@level:1",
        "model.hidden_shape": "25,25,8",
        "train.epochs": 14,
    }
)


@pytest.fixture(scope="module")
def demo():
    return simulate(seed=0)


@pytest.fixture(scope="module")
def view(demo) -> NetworkView:
    fitted = fit(demo, RECIPE)
    return NetworkView(fitted.network, fitted.prepared)


def test_the_trained_network_recovers_the_known_influence(demo, view):
    truth = truth_of(demo)
    for found in (mode_influence(view.network), jacobian_influence(view, recent_origins(view, 24))):
        for part, true in ((found.sender, truth.sender_influence), (found.receiver, truth.receiver_influence)):
            assert ranking_quality(part, true) >= 0.95, found.method
            assert recovery(part, true)[0] >= 0.8, found.method
        assert recovery(found.action, truth.action_influence)[0] >= 0.8, found.method


def test_the_shipped_demo_run_recovers_it_too(tmp_path):
    """What `make app` shows on page Explain: the demo set and the demo run as they ship, nothing trained here."""
    store = RunStore(tmp_path / "runs")
    run = ensure_demo(store)
    view = load_view(store, run)
    truth, found = truth_of(view.series), jacobian_influence(view)
    assert view.series.source.simulated and run.run_id == "demo"
    for part, true in ((found.sender, truth.sender_influence), (found.receiver, truth.receiver_influence)):
        assert recovery(part, true)[0] >= 0.8 and recovery(part, true)[1] >= 0.8


def test_a_planted_shock_spreads_along_the_planted_ties(demo, view):
    """Of the answers to a push, those on true ties are several times those on relations without one."""
    truth, cell = truth_of(demo), (demo.actors.index("China"), demo.actors.index("Japan"), 3)
    answer = impulse_response(view, cell, 20.0, horizon=1).levels[0]
    true = truth.response("China", "Japan", "material conflict", n=1)[0]
    others = np.ones(answer.shape, dtype=bool)
    others[cell] = False
    tied = others & (true > 0.02)
    assert np.abs(answer[tied]).mean() > 5 * np.abs(answer[others & (true == 0)]).mean()


@pytest.mark.slow
def test_solid_ties_are_mostly_true_ones(view, demo):
    """What is not grey: nearly all true ties, and few of the pairs without one."""
    found, truth = explain_influence(view), truth_of(demo)
    off = ~np.eye(25, dtype=bool)
    for solid, true in zip(found.solid, (truth.sender_influence, truth.receiver_influence), strict=False):
        tie = true != 0
        assert solid[tie & off].mean() >= 0.9
        assert solid[~tie].mean() <= 0.15
    assert found.jacobian.sender.diagonal().mean() == pytest.approx(1.0)
    again = InfluenceSet.from_npz(found.to_npz())
    np.testing.assert_array_equal(again.jacobian.sender, found.jacobian.sender)
    assert again.modes is not None and again.stability == found.stability and again.agreement(again.regression)[0] > 0.7


@pytest.mark.slow
def test_what_is_still_solid_after_training_three_more_is_true(tmp_path):
    """`influence demo --retrain` to its end: the stricter check keeps most true ties and next to nothing else."""
    store = RunStore(tmp_path / "runs")
    run = ensure_demo(store)
    found = explain_run(store, run, retrained=True)
    truth, off = truth_of(store.series(run)), ~np.eye(25, dtype=bool)
    for solid, true in zip(found.solid, (truth.sender_influence, truth.receiver_influence), strict=False):
        assert solid[(true != 0) & off].mean() >= 0.5 and solid[true == 0].mean() <= 0.02
    assert found.retrained == 3 and min(found.between) > 0.5


@pytest.mark.slow
def test_where_the_truth_is_nonlinear_the_network_beats_hoffs_regression():
    series = simulate(seed=0, dynamics=THRESHOLD)
    truth, fitted = truth_of(series), fit(series, NONLINEAR)
    view = NetworkView(fitted.network, fitted.prepared)
    found = jacobian_influence(view, recent_origins(view, 26))
    rival = mltr_influence(series.select(periods=slice(0, view.unseen)))
    for part, true in (("sender", truth.sender_influence), ("receiver", truth.receiver_influence)):
        ours, theirs = (recovery(getattr(x, part), true) for x in (found, rival))
        assert ours[0] >= 0.8
        assert ours[0] > theirs[0] and ours[1] > theirs[1], (part, ours, theirs)


def test_an_untrained_network_does_not(demo):
    truth = truth_of(demo)
    prepared = prepare(demo, RECIPE)
    network = build_network(prepared, RECIPE.changed(**{"model.init": "glorot"}))
    view = NetworkView(network, prepared)
    found = jacobian_influence(view, recent_origins(view, 8))
    assert abs(ranking_quality(found.sender, truth.sender_influence) - 0.5) < 0.25


def test_the_jacobian_by_random_signs_is_the_jacobian():
    """Against autograd's full Jacobian, on a network small enough for both."""
    import torch

    series = simulate(seed=1, n_actors=4, n_periods=60)
    recipe = RECIPE.changed(**{"model.hidden_shape": "4,4,4", "train.epochs": 1, "train.precision": "float64"})
    prepared = prepare(series, recipe)
    view = NetworkView(build_network(prepared, recipe), prepared)
    origins = np.arange(44, 60)
    found = np.mean([jacobian_by_period(view, origins, size=1e-3, seed=s)[0].mean(axis=0) for s in range(20)], axis=0)
    usual = view._own_spread
    expected = np.zeros((4, 4))
    for t in origins:
        week = prepared.inputs[t - 2 : t + 1]
        full = torch.autograd.functional.jacobian(lambda x: view.network(x[None])[0][0], week)[..., -1, :, :, :].numpy()
        scaled = full * usual / np.where(usual > 0, usual, 1.0)[:, :, :, None, None, None]
        for i in range(4):
            for m in range(4):
                both = [
                    (j, k)
                    for j in range(4)
                    for k in range(4)
                    if j not in (i, m) and usual[i, j, k] > 0 and usual[m, j, k] > 0
                ]
                expected[i, m] += np.mean([scaled[i, j, k, m, j, k] for j, k in both]) / len(origins)
    # The signs are drawn once per period and seed: the cross terms fade, they do not vanish.
    assert np.corrcoef(found.ravel(), expected.ravel())[0, 1] > 0.95


def test_a_part_left_out_is_not_learnt_from():
    series = simulate(seed=1, n_actors=4, n_periods=100)
    for part in range(3):
        left = without_part(series, RECIPE, part, 3)
        hidden = np.flatnonzero(~left.observed.all(axis=(1, 2, 3)))
        assert 25 <= len(hidden) <= 28 and hidden.max() < 80 and (np.diff(hidden) == 1).all()
        assert left.values[hidden].size and np.isnan(left.values[hidden]).all()


@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_errors_that_borrow_from_each_other_are_nearer_to_the_true_ones(spread):
    """Variances from three networks, whose truth is known: alike for all ties, or different from tie to tie."""
    rng = np.random.default_rng(0)
    true = np.exp(spread * rng.standard_normal((25, 25)))
    alone = true * rng.chisquare(2, size=true.shape) / 2
    borrowed = moderate(alone, 2)
    off = ~np.eye(25, dtype=bool)
    worse, better = (np.sqrt(np.mean(np.log(v / true)[off] ** 2)) for v in (alone, borrowed))
    assert better < 0.6 * worse
    assert np.mean(1 / borrowed[off]) == pytest.approx(
        np.mean(1 / true[off]), rel=0.15
    )  # nor too large or small at large
    np.testing.assert_array_equal(moderate(np.zeros((4, 4)), 2), np.zeros((4, 4)))  # nothing to borrow from


def test_matrices_are_scaled_by_continuation():
    assert scale_matrix(-2 * np.eye(3)).tolist() == np.eye(3).tolist()
    assert np.abs(scale_matrix(np.array([[0.0, 4.0], [2.0, 0.0]]))).max() == 1.0


def test_a_ranking_needs_both_kinds():
    with pytest.raises(TRNNError, match="ties and pairs without"):
        ranking_quality(np.ones((3, 3)), np.ones((3, 3)))
