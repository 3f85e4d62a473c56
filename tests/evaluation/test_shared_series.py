"""On the real series: the known scores come back, and what is said of the uncertainty is true for every kind of dyad."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.shared_data import shared_file
from trnn_core.data.readers.npz import read_npz
from trnn_core.evaluation.intervals import activity_groups
from trnn_core.evaluation.protocol import Protocol
from trnn_core.evaluation.results import BacktestResult
from trnn_core.evaluation.rolling_origins import backtest
from trnn_core.models.registry import create

# test MSE seen before on log1p, off the diagonal, last 10 % of the periods: persistence, EWMA, pooled AR, relational AR
KNOWN = {
    "icews2018_19_daily_hoff25_quad": (0.04641, 0.03125, 0.02959, 0.02920),
    "icews0515_weekly_hoff25_quad": (0.03555, 0.02340, 0.02216, 0.02192),
    "keds_levant_weekly_16_quad": (0.01084, 0.00642, 0.00619, 0.00611),
}
MODELS = ("persistence", "ewma", "ar", "relational_ar")
RESULTS: dict[str, BacktestResult] = {}

names = pytest.mark.parametrize(
    "name", [n if i == 0 else pytest.param(n, marks=pytest.mark.slow) for i, n in enumerate(KNOWN)]
)


def scored(name: str) -> BacktestResult:
    series = read_npz(shared_file(f"{name}.npz"))
    if name not in RESULTS:
        with ThreadPoolExecutor(1) as here:
            RESULTS[name] = backtest(series, MODELS, Protocol(min_origins=1), executor=here)
    return RESULTS[name]


@names
def test_known_errors_are_met(name):
    """Within half a percent: the features are the same kind, not the same to the letter."""
    board = scored(name).leaderboard().set_index("model")
    for model, known in zip(MODELS, KNOWN[name], strict=True):
        assert board.loc[model, "mse"] == pytest.approx(known, rel=0.005), model


@names
def test_randomised_pit_is_flat_for_quiet_middling_and_active_dyads(name):
    found = scored(name).calibration()
    worst = found.loc[found["pit_deviation"].idxmax()]
    assert worst["pit_deviation"] < 0.02, worst.to_dict()


@names
def test_randomised_intervals_cover_what_they_say_for_every_kind_of_dyad(name):
    found = scored(name).calibration()
    assert found["coverage90"].between(0.88, 0.92).all(), found
    assert set(found["group"]) == {"all", "quiet", "middling", "active"}


@names
def test_a_quiet_dyads_interval_is_not_wide(name):
    series = read_npz(shared_file(f"{name}.npz"))
    past = series.select(periods=slice(0, round(0.9 * len(series))))
    lower, upper = create("relational_ar").fit(past).forecast(past, 1).interval(0.9)
    groups = activity_groups(past.values, ~np.eye(len(series.actors), dtype=bool))
    width = (upper - lower)[0].mean(axis=-1)
    assert width[groups == 1].mean() < 0.1
    assert width[groups == 3].mean() > 10 * width[groups == 1].mean()
