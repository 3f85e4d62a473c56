"""The linear part of the recommended model: the relational autoregression itself, unless there is too little to learn it from."""

from __future__ import annotations

import numpy as np
import pytest

from tests.models.test_baselines import make_series
from trnn_core.data.series import RelationalSeries
from trnn_core.models.baselines.ar import RelationalAR, Sums, total
from trnn_core.models.features import AR_FEATURES
from trnn_core.models.linear import LinearStart, _error, _pull
from trnn_core.models.panel import Panel


def rows(n: int, n_features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Only the own moving averages and the constant tell of y."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.standard_normal((n, n_features)), np.ones((n, 1))], axis=1)
    return x, x[:, [0, 4, 5]].sum(1) + 1 + 2 * rng.standard_normal(n)


def summed(x: np.ndarray, y: np.ndarray, n_blocks: int = 10) -> list[Sums]:
    parts = np.array_split(np.arange(len(y)), n_blocks)
    return [Sums(x[i].T @ x[i], x[i].T @ y[i], float(y[i] @ y[i])) for i in parts]


OWN = [0, 4, 5, 6, 7, 30]


def test_the_error_from_sums_is_that_of_the_rows():
    x, y = rows(200, 30)
    w = np.random.default_rng(1).standard_normal(31)
    assert _error(w, total(summed(x, y))) == pytest.approx(((y - x @ w) ** 2).sum())


def test_the_pull_leads_from_least_squares_to_the_own_features_alone():
    x, y = rows(200, 30)
    whole = total(summed(x, y))
    np.testing.assert_allclose(_pull(whole, OWN, 1e-9), np.linalg.lstsq(x, y, rcond=None)[0], atol=1e-5)
    far = _pull(whole, OWN, 1e9)
    np.testing.assert_allclose(far[OWN], np.linalg.lstsq(x[:, OWN], y, rcond=None)[0], atol=1e-5)
    assert np.abs(np.delete(far, OWN)).max() < 1e-6


def test_chance_is_held_back_where_rows_are_few_and_forecasts_are_the_better_for_it():
    x, y = rows(80, 30)
    later, came = rows(5000, 30, seed=1)
    plain = np.linalg.lstsq(x, y, rcond=None)[0]
    held = LinearStart()._weigh(summed(x, y))
    assert ((came - later @ held) ** 2).mean() < 0.9 * ((came - later @ plain) ** 2).mean()


@pytest.mark.parametrize("step", [1, 3])
def test_with_plenty_of_data_it_is_the_relational_autoregression_to_the_last_bit(step):
    """Where every feature matters: the levels of a dyad follow what its sender did to others."""
    rng, n, t = np.random.default_rng(0), 8, 400
    level = np.zeros((t, n, n, 1))
    for i in range(1, t):
        sent = level[i - 1].sum(1, keepdims=True) / (n - 1)
        level[i] = 0.3 * level[i - 1] + 0.3 * level[i - 1].swapaxes(0, 1) + 0.3 * sent + rng.standard_normal((n, n, 1))
        level[i][range(n), range(n)] = 0
    dates = np.datetime64("2004-01-01") + 7 * np.arange(t)
    source = make_series(60, kind="value").source
    panel = Panel.of(RelationalSeries(level, dates, tuple("ABCDEFGH"), ("x",), source=source))
    one, two = LinearStart(), RelationalAR()
    for model in (one, two):
        model._learn(panel)
    np.testing.assert_array_equal(one._regress(panel, step), two._regress(panel, step))


def test_without_relations_it_reads_the_dyad_alone():
    series = make_series(90)
    model = LinearStart(AR_FEATURES).fit(series)
    model.forecast(series, 1)
    assert model.weights[1].shape == (2, len(AR_FEATURES) - 1 + 2 + 1)
