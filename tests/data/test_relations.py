"""The relational terms by hand, the same for arrays and tensors, and moving averages that continue exactly."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from trnn_core.data import relations
from trnn_core.models.channels import Channels
from trnn_core.models.panel import Panel

T, N, K = 30, 4, 2


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(T, N, N, K))


def test_totals_are_sums_over_partners_of_the_pair(x: np.ndarray) -> None:
    t, i, j, k = 3, 1, 2, 0
    y = x[t, :, :, k]
    expected = {
        "sender": y[i].sum(),
        "receiver": y[:, j].sum(),
        "sender_received": y[:, i].sum(),
        "receiver_sent": y[j].sum(),
        "world": y.sum(),
    }
    assert set(expected) == set(relations.TOTALS)
    for who, total in expected.items():
        found = relations.spread(relations.TOTALS[who](x), x.shape)
        assert found[t, i, j, k] == pytest.approx(total)
        part = relations.around(x, who, i, j)
        assert relations.TOTALS[who](part)[t, 0, 0, k] == pytest.approx(total)


def test_common_partners_by_a_loop(x: np.ndarray) -> None:
    both = relations.ties(x)
    found = relations.common_partners(both, both)
    y = x[5, :, :, 1]
    through = sum((y[0, m] + y[m, 0]) * (y[3, m] + y[m, 3]) for m in range(N))
    assert found.shape == x.shape and found[5, 0, 3, 1] == pytest.approx(through)


FORMULAS = {
    "reciprocal": relations.reciprocal,
    "ties": relations.ties,
    "common partners": lambda x: relations.common_partners(relations.ties(x), relations.ties(x)),
    "without diagonal": relations.without_diagonal,
    "smoothed": lambda x: relations.smoothed(x, 0.3),
    "earlier": lambda x: relations.earlier(x, 3),
    "far earlier": lambda x: relations.earlier(x, T + 5),
    **{who: lambda x, total=total: relations.spread(total(x), x.shape) for who, total in relations.TOTALS.items()},
}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_tensor_is_treated_as_the_array_it_holds(name: str, x: np.ndarray) -> None:
    tensor = torch.from_numpy(x).requires_grad_(True)
    found = FORMULAS[name](tensor)
    np.testing.assert_allclose(found.detach().numpy(), FORMULAS[name](x), rtol=1e-12, atol=1e-12)
    (gradient,) = torch.autograd.grad(found.sum(), tensor)
    assert gradient.shape == x.shape and torch.isfinite(gradient).all()


@pytest.mark.parametrize("alpha", [0.5, 0.02])
@pytest.mark.parametrize("n_recent", [T, 11])
def test_an_average_continued_from_the_older_periods_is_the_average(x: np.ndarray, alpha: float, n_recent: int) -> None:
    expected = relations.ewma(x, alpha)[-4:]
    recent = x[None, -n_recent:]
    np.testing.assert_allclose(relations.ewma_of_last(recent, x, alpha, 4)[0], expected, rtol=1e-12)
    found = relations.ewma_of_last(torch.from_numpy(recent), x, alpha, 4)[0]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)
    moved = np.concatenate([x[:-1], x[-1:] + 1.0])
    changed = relations.ewma_of_last(moved[None, -n_recent:], x, alpha, 4)[0]
    np.testing.assert_allclose(changed, relations.ewma(moved, alpha)[-4:], rtol=1e-12)


def test_the_channels_an_explanation_holds_fixed_are_those_without_a_derivative(small_series) -> None:
    channels = Channels(Panel.of(small_series), "week").channels
    assert [c.name for c in channels if c.held] == [
        "share active 0.1",
        "share active 0.03",
        "world at this point of the season",
        "dyad at this point of the season",
    ]
