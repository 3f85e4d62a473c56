"""Randomised PIT and intervals: true distributions pass, false ones are found out, zeros do not hide them."""

from __future__ import annotations

import numpy as np
import pytest

from trnn_core.evaluation.intervals import (
    GRID,
    activity_groups,
    coverage,
    covered,
    pit_bounds,
    pit_curve,
    pit_deviation,
)
from trnn_core.models.distributions import NegativeBinomial, Normal

RNG = np.random.default_rng(0)
N = 60_000


def counts(mean, size):
    return RNG.negative_binomial(size, size / (size + mean)).astype(float)


def judge(distribution, observed):
    curve = pit_curve(*pit_bounds(distribution, observed)) / observed.size
    return pit_deviation(curve), coverage(curve)


@pytest.mark.parametrize("mean", [0.02, 0.5, 8.0])
def test_a_true_count_distribution_is_called_calibrated(mean):
    true = NegativeBinomial(np.full(N, mean), np.full(N, 0.5))
    deviation, share = judge(true, counts(true.mean, true.size))
    assert deviation < 0.01 and share == pytest.approx(0.9, abs=0.006)


def test_the_plain_interval_covers_too_much_where_the_randomised_one_does_not():
    true = NegativeBinomial(np.full(N, 0.05), np.full(N, 0.5))
    observed = counts(true.mean, true.size)
    lower, upper = true.quantiles((0.05, 0.95))
    plain = ((lower <= observed) & (observed <= upper)).mean()
    assert plain > 0.95
    assert covered(*pit_bounds(true, observed), 0.9).mean() == pytest.approx(0.9, abs=0.006)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_wrong_mean_is_found_out(factor):
    true = NegativeBinomial(np.full(N, 1.0), np.full(N, 1.0))
    deviation, _ = judge(NegativeBinomial(true.mean * factor, true.size), counts(true.mean, true.size))
    assert deviation > 0.05


def test_overconfidence_lowers_the_coverage():
    true = NegativeBinomial(np.full(N, 6.0), np.full(N, 1.0))
    _, share = judge(NegativeBinomial(true.mean, np.full(N, 50.0)), counts(true.mean, true.size))
    assert share < 0.8


def test_the_exact_curve_is_the_average_over_many_randomisations():
    d = NegativeBinomial(np.array([0.3, 2.0, 5.0]), np.array([0.4, 1.0, 3.0]))
    observed = np.array([0.0, 3.0, 4.0])
    below, upto = pit_bounds(d, observed)
    draws = below + RNG.random((200_000, 3)) * (upto - below)
    by_draws = (draws[..., None] <= GRID).mean(axis=0).sum(axis=0)
    np.testing.assert_allclose(pit_curve(below, upto), by_draws, atol=0.01)


def test_values_have_an_ordinary_pit():
    true = Normal(np.zeros(N), np.ones(N))
    deviation, share = judge(true, RNG.standard_normal(N))
    assert deviation < 0.012 and share == pytest.approx(0.9, abs=0.006)


def test_half_the_dyads_are_quiet_and_a_tenth_active():
    n = 21
    values = np.zeros((4, n, n, 2))
    values += np.arange(n * n).reshape(n, n)[None, :, :, None]
    pairs = ~np.eye(n, dtype=bool)
    groups = activity_groups(values, pairs)
    shares = [(groups[pairs] == g).mean() for g in (1, 2, 3)]
    np.testing.assert_allclose(shares, [0.5, 0.4, 0.1], atol=0.01)
    assert (groups[~pairs] == 0).all()
