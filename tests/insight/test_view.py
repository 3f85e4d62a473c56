"""A view says what the run's own forecast says, for every kind of input, likelihood and transform, and has its derivative."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from trnn_core.data.designs import BASES, build_inputs, parse_slice, stack_slices
from trnn_core.data.simulate import simulate
from trnn_core.insight.view import NetworkView
from trnn_core.training.config import Recipe
from trnn_core.training.networks import build_network
from trnn_core.training.prepare import prepare

SERIES = simulate(seed=2, n_actors=5, n_periods=90)
KINDS = {
    "log": {},
    "scores": {"data.transform": "normal scores"},
    "counts": {"data.transform": "standardise", "data.slices": "direct,direct@level:0.5"},
    "slices": {"data.slices": "direct,reciprocal@mean:3,transitive,sender_received,direct@ewma:0.2"},
    "poisson": {"model.likelihood": "poisson"},
    "any event": {"model.likelihood": "cross_entropy"},
    "one series": {"data.design": "single-series"},
}


def view_of(kind: str, precision: str = "float64") -> NetworkView:
    recipe = Recipe(
        data={"window": 4, "transform": "log1p+standardise"}, model={"cell": "gru", "hidden_shape": (3, 3, 2)}
    )
    recipe = recipe.changed(**{"train.precision": precision}, **KINDS[kind])
    prepared = prepare(SERIES, recipe)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return NetworkView(build_network(prepared, recipe), prepared)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("time", ["", "@lag:2", "@mean:3", "@ewma:0.3", "@level:0.3"])
def test_slices_in_torch_are_those_of_the_data(base: str, time: str) -> None:
    counts = np.random.default_rng(0).poisson(2.0, size=(9, 4, 4, 2)).astype(float)
    z = np.log1p(counts)
    expected, _ = build_inputs(z, (base + time,), counts=counts)
    observed, slices = torch.ones(z.shape, dtype=torch.bool), [parse_slice(base + time)]
    found = stack_slices(torch.tensor(z)[None], torch.tensor(counts)[None], observed, slices, diagonal=False, axis=1)
    np.testing.assert_allclose(found[0].numpy(), expected, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_view_forecasts_what_the_predictor_forecasts(kind: str) -> None:
    view = view_of(kind)
    origins = np.array([70, len(SERIES) - 1])
    expected = view.predictor.roll(origins[1:], 3)[0]
    with torch.no_grad():
        found = view.points(view.past(len(SERIES) - 1)[None], 3)[0].numpy()
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose(found[:, off], expected[:, off], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_derivative_is_that_of_finite_differences(kind: str) -> None:
    view = view_of(kind)
    past = view.past(len(SERIES) - 1)[None].clone()
    past[0, -1, 0, 1, 0] += 0.3  # off the zero where a count cannot fall
    past.requires_grad_(True)
    (slope,) = torch.autograd.grad(view.levels(past, 2)[0, 1, 2, 3, 1], past)
    step = torch.zeros_like(past)
    step[0, -1, 0, 1, 0] = 1e-4
    with torch.no_grad():
        ends = [float(view.levels(past + sign * step, 2)[0, 1, 2, 3, 1]) for sign in (1, -1)]
    assert float(slope[0, -1, 0, 1, 0]) == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-3, abs=1e-9)


def test_a_forecast_cannot_start_where_there_is_no_past() -> None:
    from trnn_core.errors import TRNNError

    with pytest.raises(TRNNError, match="must start after period 4 to 90"):
        view_of("log").past(1)
