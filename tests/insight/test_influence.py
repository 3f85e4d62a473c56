"""A trained network recovers the influence that was put into the simulated set.

Measure: the chance that a true tie (an actor follows two others) ranks above a pair without one, off the diagonal (AUC;
0.5 is guessing). Threshold: 0.95 for sender and receiver influence, by mode matrices and by Jacobian alike.
"""

from __future__ import annotations

import numpy as np
import pytest

from trnn_core.data.simulate import simulate, truth_of
from trnn_core.errors import TRNNError
from trnn_core.insight.influence import jacobian_influence, mode_influence, ranking_quality
from trnn_core.training.config import Recipe
from trnn_core.training.networks import build_network
from trnn_core.training.prepare import prepare
from trnn_core.training.trainer import fit

THRESHOLD = 0.95
RECIPE = Recipe(
    data={"transform": "log1p+standardise", "window": 3},
    model={"cell": "gru", "hidden_shape": (25, 25, 4), "init": "identity"},
    train={"epochs": 8, "learning_rate": 0.01, "schedule": "cosine", "clip_norm": 1.0},
)


@pytest.fixture(scope="module")
def demo():
    return simulate(seed=0)


def test_the_trained_network_recovers_the_known_influence(demo):
    truth, fitted = truth_of(demo), fit(demo, RECIPE)
    for found in (mode_influence(fitted.network), jacobian_influence(fitted.network, fitted.prepared, n_windows=24)):
        assert ranking_quality(found.sender, truth.sender_influence) >= THRESHOLD, found.method
        assert ranking_quality(found.receiver, truth.receiver_influence) >= THRESHOLD, found.method


def test_an_untrained_network_does_not(demo):
    truth = truth_of(demo)
    prepared = prepare(demo, RECIPE)
    network = build_network(prepared, RECIPE.changed(**{"model.init": "glorot"}))
    found = jacobian_influence(network, prepared, n_windows=8)
    assert abs(ranking_quality(found.sender, truth.sender_influence) - 0.5) < 0.25


def test_the_jacobian_of_a_linear_map_is_that_map():
    """Random signs against autograd's full Jacobian, on a network small enough for both."""
    import torch

    series = simulate(seed=1, n_actors=4, n_periods=40)
    recipe = RECIPE.changed(**{"model.hidden_shape": "4,4,4", "train.epochs": 1})
    prepared = prepare(series, recipe)
    network = build_network(prepared, recipe).double().eval()
    prepared = type(prepared)(**{**prepared.__dict__, "inputs": prepared.inputs.double()})
    found = jacobian_influence(network, prepared, n_windows=1000, seed=0)
    starts = range(len(prepared.split.train) - 3)
    total = np.zeros((4, 4))
    for first in starts:
        week = prepared.inputs[first : first + 3]
        full = torch.autograd.functional.jacobian(lambda x: network(x[None])[0][0], week)[..., -1, :, :, :].numpy()
        for i in range(4):
            for m in range(4):
                own = [full[i, j, k, m, j, k] for j in range(4) for k in range(4) if j != i]
                total[i, m] += np.mean(own) / len(starts)
    # The signs are drawn once per window: the cross terms fade, they do not vanish.
    assert np.corrcoef(found.sender.ravel(), total.ravel())[0, 1] > 0.95


def test_a_ranking_needs_both_kinds():
    with pytest.raises(TRNNError, match="ties and pairs without"):
        ranking_quality(np.ones((3, 3)), np.ones((3, 3)))
