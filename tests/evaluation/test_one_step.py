"""A run's summary is scored by the definitions of the backtest, on the scale of its distribution."""

from __future__ import annotations

import numpy as np
import pytest

from trnn_core.data.series import RelationalSeries
from trnn_core.evaluation.intervals import GROUPS
from trnn_core.evaluation.metrics import Outcome, score_entries
from trnn_core.evaluation.one_step import OneStepScores
from trnn_core.models.baselines.level_forecaster import LevelForecaster
from trnn_core.models.distributions import Bernoulli
from trnn_core.models.forecast import Forecast
from trnn_core.models.registry import create


def scored(series: RelationalSeries, forecasts: dict[int, Forecast]) -> OneStepScores:
    scores = OneStepScores(series, diagonal=False, first=min(forecasts))
    for target, forecast in forecasts.items():
        scores.add(forecast, target)
    return scores


def test_the_summary_says_what_the_scores_of_a_backtest_say(small_series):
    n = len(small_series)
    part = range(n - 6, n)
    model = create("ewma").fit(small_series.select(periods=slice(0, part.start)))
    assert isinstance(model, LevelForecaster)
    forecasts = dict(zip(part, model.forecast_many(small_series, [t - 1 for t in part], 1), strict=True))
    found = scored(small_series, forecasts).over(part)
    off = ~np.eye(len(small_series.actors), dtype=bool)
    each = [score_entries(Outcome.of(forecasts[t], 1, small_series.values[t].astype(float))) for t in part]
    assert found is not None and found["n_origins"] == 6 and found["scale"] == "log1p"
    for name in ("mse", "coverage90"):
        assert found[name] == pytest.approx(np.mean([s[name][off] for s in each]), rel=1e-12)
    levels = np.log1p(small_series.values[part.start - 1 :].astype(float))[:, off]
    assert found["mse_persistence"] == pytest.approx(((levels[1:] - levels[:-1]) ** 2).mean(), rel=1e-12)
    assert found["skill"] == 1 - found["mse"] / found["mse_persistence"]
    assert tuple(found["width90_by_activity"]) == GROUPS[1:]


def test_a_chance_is_scored_by_whether_anything_happened_however_much():
    dates = np.datetime64("2004-01-01") + 7 * np.arange(3)
    values = np.zeros((3, 2, 2, 1))
    values[2, 0, 1], values[2, 1, 0] = 5, 0
    series = RelationalSeries(values, dates, ("A", "B"), ("x",))
    chance = np.full((1, 2, 2, 1), 0.8)
    forecast = Forecast(dates[2:], dates[1], ("A", "B"), ("x",), chance, Bernoulli(chance), values[1])
    found = scored(series, {2: forecast}).over(range(2, 3))
    assert found is not None and found["scale"] == "0 or 1 (any event)"
    assert found["mse"] == pytest.approx((0.2**2 + 0.8**2) / 2)
    assert found["mse_persistence"] == pytest.approx(0.5)  # nothing happened before: wrong once in two
    # of five events the PIT spreads over [0.2, 1], of none over [0, 0.2]: 0.75 / 0.8 and 0.15 / 0.2 inside [0.05, 0.95]
    assert found["coverage90"] == pytest.approx((0.75 / 0.8 + 0.15 / 0.2) / 2)


def test_periods_of_which_nothing_was_observed_have_no_score(small_series):
    assert OneStepScores(small_series, diagonal=False, first=5).over(range(5, 9)) is None
