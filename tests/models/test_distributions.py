"""Count distributions: against scipy, against hand-computed numbers, against the definition by expectation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trnn_core.models.distributions import NegativeBinomial, Normal

MEAN = np.array([0.003, 0.2, 1.0, 7.5, 60.0, 900.0])
SIZE = np.array([0.05, 0.3, 1.0, 4.0, 0.7, 20.0])


@pytest.fixture
def nb() -> NegativeBinomial:
    return NegativeBinomial(MEAN, SIZE)


@pytest.fixture
def reference():
    return stats.nbinom(SIZE, SIZE / (SIZE + MEAN))


@pytest.mark.parametrize("y", [0, 1, 5, 80, 1000])
def test_probabilities_are_scipys(nb, reference, y):
    np.testing.assert_allclose(nb.log_probability(np.full(6, y)), reference.logpmf(y), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(nb.cdf(np.full(6, y)), reference.cdf(y), rtol=1e-9)


@pytest.mark.parametrize("p", [0.05, 0.5, 0.9, 0.95, 0.999])
def test_quantiles_are_scipys(nb, reference, p):
    np.testing.assert_array_equal(nb.quantile(p), reference.ppf(p))


def test_crps_of_a_certain_forecast_is_the_absolute_error():
    sure = NegativeBinomial(np.zeros(2), np.ones(2))
    score = sure.crps(np.array([0.0, 3.0]))
    np.testing.assert_allclose(score["count"], [0, 3])
    np.testing.assert_allclose(score["log1p"], [0, np.log(4)])


def test_crps_by_hand():
    """Mean 1, size 1 is geometric with 1/2: F = 1/2, 3/4, 7/8, ...; for y = 1 the score is 1/4 + 1/16 + 1/64 + ... = 1/3."""
    score = NegativeBinomial(np.ones(1), np.ones(1)).crps(np.array([1.0]))["count"]
    np.testing.assert_allclose(score, 1 / 4 + (1 / 16) / (1 - 1 / 4), rtol=1e-8)


@pytest.mark.parametrize("scale", ["count", "log1p"])
def test_crps_is_the_expected_distance_less_half_the_spread(scale):
    mean, size, y = np.array([0.4, 3.0]), np.array([0.5, 2.0]), np.array([2.0, 0.0])
    rng = np.random.default_rng(0)
    draws = rng.negative_binomial(size, size / (size + mean), (2, 400_000, 2)).astype(float)
    if scale == "log1p":
        draws, target = np.log1p(draws), np.log1p(y)
    else:
        target = y
    by_draws = np.abs(draws[0] - target).mean(0) - 0.5 * np.abs(draws[0] - draws[1]).mean(0)
    np.testing.assert_allclose(NegativeBinomial(mean, size).crps(y)[scale], by_draws, rtol=0.02)


def test_expected_log1p_is_the_sum_over_the_support(nb, reference):
    counts = np.arange(60_000)[:, None]
    np.testing.assert_allclose(nb.expected_log1p(), (reference.pmf(counts) * np.log1p(counts)).sum(0), rtol=1e-7)


def test_a_far_observation_is_walked_to():
    """The score of a count far beyond the distribution still grows by one per event missed."""
    d = NegativeBinomial(np.full(2, 0.1), np.ones(2))
    near, far = d.crps(np.array([500.0, 501.0]))["count"]
    assert far - near == pytest.approx(1.0)


def test_normal_crps_is_the_integral_of_squared_gaps():
    d, grid = Normal(np.array([0.3]), np.array([1.4])), np.linspace(-15, 15, 60_001)
    gaps = (stats.norm.cdf(grid, 0.3, 1.4) - (grid >= 1.0)) ** 2
    np.testing.assert_allclose(d.crps(np.array([1.0]))["count"], gaps.sum() * (grid[1] - grid[0]), rtol=1e-3)


LARGE = [(3000.0, 1.0), (5000.0, 0.4), (20_000.0, 100.0), (100_000.0, 10_000.0), (4000.0, 1e6)]


@pytest.mark.parametrize(("mean", "size"), LARGE)
def test_large_counts_score_as_if_summed_one_by_one(mean, size):
    law, counts = stats.nbinom(size, size / (size + mean)), np.arange(1_500_000, dtype=float)
    pmf = law.pmf(counts)
    cdf, d = np.cumsum(pmf), NegativeBinomial(np.full(1, mean), np.full(1, size))
    for y in (0.0, mean // 3, mean, 4 * mean, 1e6):
        gap, score = (cdf - (y <= counts)) ** 2, d.crps(np.full(1, y))
        np.testing.assert_allclose(score["count"], gap.sum(), rtol=1e-7)
        np.testing.assert_allclose(score["log1p"], gap @ np.log((counts + 2) / (counts + 1)), rtol=1e-7)
    np.testing.assert_allclose(d.expected_log1p(), pmf @ np.log1p(counts), rtol=1e-7)
    for p in (0.001, 0.05, 0.5, 0.95, 0.999):
        assert d.quantile(p) == law.ppf(p)


def test_the_work_for_a_count_does_not_grow_with_its_level(monkeypatch):
    """Entries that are looked at, not seconds: trade in dollars must not take longer than visits."""
    looked_at = []
    cdf, log_probability = NegativeBinomial.cdf, NegativeBinomial.log_probability
    monkeypatch.setattr(NegativeBinomial, "cdf", lambda d, y, **k: looked_at.append(np.size(y)) or cdf(d, y, **k))
    monkeypatch.setattr(
        NegativeBinomial, "log_probability", lambda d, y: looked_at.append(np.size(y)) or log_probability(d, y)
    )
    work = {}
    for level in (1e4, 1e9, 9e15):
        d, looked_at[:] = NegativeBinomial(np.full(20, level), np.full(20, 2.0)), []
        lower, middle, upper = d.quantiles((0.05, 0.5, 0.95))
        assert (lower < middle).all() and (middle < upper).all()
        assert np.isfinite(d.crps(np.full(20, 1.7 * level))["log1p"]).all()
        assert d.expected_log1p() == pytest.approx(np.log(level) - 0.2704, abs=1e-3)
        work[level] = sum(looked_at)
    assert max(work.values()) < 2 * work[1e4]
