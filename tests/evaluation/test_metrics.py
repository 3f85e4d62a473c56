"""Scores by hand on cases small enough to reckon."""

from __future__ import annotations

import numpy as np
import pytest

from trnn_core.evaluation.metrics import Outcome, auc, score_entries, score_names, score_set, top_precision
from trnn_core.models.distributions import NegativeBinomial
from trnn_core.models.forecast import Forecast

OBSERVED = np.array([[0.0, 3.0], [1.0, 0.0]])[..., None]  # two actors, one action


def make_forecast(level, mean) -> Forecast:
    shape = (1, 2, 2, 1)
    spread = NegativeBinomial(np.reshape(mean, shape).astype(float), np.ones(shape))
    dates = np.array(["2004-01-08"], dtype="datetime64[D]")
    labels = (("France", "Japan"), ("verbal conflict",))
    return Forecast(dates, dates[0] - 7, *labels, np.reshape(level, shape), spread, np.zeros(shape[1:]))


def test_point_scores_are_on_the_log_scale_and_count_scores_on_counts():
    forecast = make_forecast(np.log1p([0, 1, 1, 0]), [0, 1, 1, 0])
    scores = score_entries(Outcome.of(forecast, 1, OBSERVED))
    assert set(scores) == set(score_names(of_set=False))
    assert scores["mse"][0, 1, 0] == pytest.approx(np.log(2) ** 2)  # log 4 - log 2
    assert scores["mae"][0, 1, 0] == pytest.approx(np.log(2))
    assert scores["mse_count"][0, 1, 0] == pytest.approx(4.0)
    assert scores["mae_count"][0, 1, 0] == pytest.approx(3.0)  # the median of mean 1, size 1 is 0
    assert scores["log_score"][1, 0, 0] == pytest.approx(np.log(4))  # P(1) = 1/4
    assert scores["crps_count"][1, 0, 0] == pytest.approx(1 / 3)


def test_auc_ignores_the_scale_of_the_score():
    rng = np.random.default_rng(0)
    score, event = rng.random(200), rng.random(200) < 0.3
    assert auc(score, event) == pytest.approx(auc(np.exp(9 * score), event))
    assert auc(event.astype(float), event) == 1.0
    assert auc(np.zeros(200), event) == 0.5


def test_auc_without_events_is_unknown():
    assert np.isnan(auc(np.ones(3), np.zeros(3, dtype=bool)))


def test_escalations_are_rises_over_the_recent_level():
    forecast = make_forecast([0.0, 1.0, 0.2, 0.0], [0, 2, 0.3, 0])
    use = np.ones((2, 2, 1), dtype=bool)
    reference = np.array([[0.0, 0.5], [1.0, 0.0]])[..., None]
    scores = score_set(Outcome.of(forecast, 1, OBSERVED, reference), use)
    # log 4 > 0.5 rose; log 2 < 1 did not; the two silent cells did not: one of four
    assert scores["precision20"] == [0.25, 0.25]
    assert top_precision(np.array([0.5, -0.8]), np.array([True, False]), top=1) == 1.0


def test_each_action_and_all_together_are_reported():
    forecast = make_forecast([0, 1, 1, 0], [0.1, 2, 1, 0.1])
    scores = score_set(Outcome.of(forecast, 1, OBSERVED, np.zeros((2, 2, 1))), np.ones((2, 2, 1), dtype=bool))
    assert all(len(v) == 2 for v in scores.values())
    assert scores["auc"] == [1.0, 1.0]
