"""Diebold-Mariano: by hand, against its own size under autocorrelation, and its refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trnn_core.errors import TRNNError
from trnn_core.evaluation.significance import diebold_mariano, long_run_variance


def test_long_run_variance_by_hand():
    """x = 1, -1, 1, -1: variance 1, first autocovariance -3/4, weight 1/2: 1 - 2 * 1/2 * 3/4 = 1/4."""
    assert long_run_variance(np.array([1.0, -1.0, 1.0, -1.0]), lags=1) == pytest.approx(0.25)


def test_without_lags_it_is_the_t_test_of_the_differences():
    rng = np.random.default_rng(0)
    a, b = rng.random(12), rng.random(12)
    test = diebold_mariano(a, b)
    assert test.lags == 2
    expected = stats.ttest_1samp(a - b, 0)
    white = (a - b).mean() / np.sqrt(long_run_variance(a - b, 0) / 12) * np.sqrt(11 / 12)
    assert white == pytest.approx(expected.statistic)


def test_it_is_symmetric():
    rng = np.random.default_rng(1)
    a, b = rng.random(60), rng.random(60)
    one, two = diebold_mariano(a, b), diebold_mariano(b, a)
    assert one.statistic == pytest.approx(-two.statistic) and one.p_value == pytest.approx(two.p_value)


def test_equal_models_are_not_told_apart():
    losses = np.random.default_rng(2).random(50)
    assert diebold_mariano(losses, losses).p_value == 1.0


def test_autocorrelated_losses_do_not_make_it_cry_wolf():
    """Differences that wander (AR 0.6) fool a plain t-test in a quarter of cases; this test much less often."""
    rng, n, runs = np.random.default_rng(3), 120, 400
    robust = naive = 0
    for _ in range(runs):
        noise = rng.standard_normal(n + 50)
        for t in range(1, n + 50):
            noise[t] += 0.6 * noise[t - 1]
        difference = noise[50:]
        robust += diebold_mariano(difference, np.zeros(n)).p_value < 0.05
        naive += stats.ttest_1samp(difference, 0).pvalue < 0.05
    assert naive / runs > 0.22
    assert robust / runs < 0.16


def test_a_real_gain_is_found():
    rng = np.random.default_rng(4)
    base = rng.random(100)
    assert diebold_mariano(base * 0.9, base).p_value < 1e-6
    assert diebold_mariano(base * 0.9, base).difference < 0


def test_origins_that_do_not_match_are_refused():
    with pytest.raises(TRNNError, match="same origins"):
        diebold_mariano(np.zeros(10), np.zeros(9))


def test_too_few_origins_are_refused():
    with pytest.raises(TRNNError, match="at least 8 origins"):
        diebold_mariano(np.zeros(5), np.ones(5))
