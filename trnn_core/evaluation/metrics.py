"""Scores of one forecast step against what was observed, entry by entry and over entries.

Dimension letters: N sources, M targets, K actions. `scale` names: plain metrics are on the working scale (log1p for
counts), those that end in `_count` on the scale of the counts; a value series has one scale, so both are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import stats

from trnn_core.evaluation.intervals import LEVEL, covered, pit_bounds
from trnn_core.models.distributions import Distribution, Scale
from trnn_core.models.forecast import Forecast


@dataclass(frozen=True)
class Step:
    """One step of a forecast (counted from 1) beside the values observed; what several scores need is made once."""

    forecast: Forecast
    step: int
    observed: np.ndarray  # (N, M, K)

    @cached_property
    def distribution(self) -> Distribution:
        return self.forecast.distribution[self.step - 1]

    @property
    def level(self) -> np.ndarray:
        return self.forecast.level[self.step - 1]

    @cached_property
    def actual(self) -> np.ndarray:
        """What was observed, on the working scale."""
        return self.distribution.to_level(self.observed)

    @cached_property
    def crps(self) -> dict[Scale, np.ndarray]:
        return self.distribution.crps(self.observed)

    @cached_property
    def quantiles(self) -> np.ndarray:
        """Lower end, median and upper end."""
        return self.distribution.quantiles(((1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2))


# One number per entry, (N, M, K); `mse` and `mae` judge the expected level, `mse_count` the expected count, `mae_count`
# the median; `coverage90` is the chance that the randomised 90 % interval holds what was observed.
SCORES: dict[str, Callable[[Step], np.ndarray]] = {
    "mse": lambda s: (s.level - s.actual) ** 2,
    "mae": lambda s: np.abs(s.level - s.actual),
    "crps": lambda s: s.crps["log1p"],
    "log_score": lambda s: -s.distribution.log_probability(s.observed),
    "coverage90": lambda s: covered(*pit_bounds(s.distribution, s.observed), LEVEL),
    "width90": lambda s: s.quantiles[2] - s.quantiles[0],
    "mse_count": lambda s: (s.distribution.mean - s.observed) ** 2,
    "mae_count": lambda s: np.abs(s.quantiles[1] - s.observed),
    "crps_count": lambda s: s.crps["count"],
}
ENTRY_METRICS = tuple(SCORES)  # averaged over entries
SET_METRICS = ("auc", "precision20", "actual_mean", "actual_square")  # of all entries at once
METRICS = ENTRY_METRICS + SET_METRICS
TOP = 20


def score_entries(
    forecast: Forecast, step: int, observed: np.ndarray, metrics: Sequence[str] = ENTRY_METRICS
) -> dict[str, np.ndarray]:
    """The metrics of one step ahead (counted from 1) for the values observed, each (N, M, K)."""
    scored = Step(forecast, step, observed)
    return {name: SCORES[name](scored) for name in metrics}


def persistence_error(forecast: Forecast, before: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """The squared error on the working scale of repeating the values of the period before, (N, M, K)."""
    distribution = forecast.distribution[0]
    return (distribution.to_level(before) - distribution.to_level(observed)) ** 2


def auc(score: np.ndarray, event: np.ndarray) -> float:
    """The chance that an entry with an event was ranked above one without; NaN when all or none had one.

    >>> auc(np.array([0.9, 0.4, 0.4, 0.1]), np.array([True, True, False, False]))
    0.875
    """
    n_events = int(event.sum())
    if n_events in (0, event.size):
        return float("nan")
    ranks = stats.rankdata(score)
    return float((ranks[event].sum() - n_events * (n_events + 1) / 2) / (n_events * (event.size - n_events)))


def top_precision(predicted_rise: np.ndarray, rose: np.ndarray, top: int = TOP) -> float:
    """Of the `top` entries with the largest predicted rise, the share that rose; ties go to the earlier one.

    >>> top_precision(np.array([0.3, 0.1, 0.2]), np.array([True, True, False]), top=2)
    0.5
    """
    if predicted_rise.size == 0:
        return float("nan")
    chosen = np.argsort(-predicted_rise, kind="stable")[:top]
    return float(rose[chosen].mean())


def score_set(
    forecast: Forecast, step: int, observed: np.ndarray, reference: np.ndarray, use: np.ndarray
) -> dict[str, list[float]]:
    """The metrics of whole sets of entries: one number per action and one for all; `use` (N, M, K) marks what counts.

    auc          any event in the period, ranked by the forecast's probability of one
    precision20  escalations: a level above the entry's `reference` (its recent average, working scale); the 20 entries
                 whose expected level rises furthest above it are looked at
    """
    distribution = forecast.distribution[step - 1]
    actual = distribution.to_level(observed)
    chance = 1 - distribution.cdf(np.zeros(()))
    rise = forecast.level[step - 1] - reference
    out: dict[str, list[float]] = {name: [] for name in SET_METRICS}
    for k in [*range(use.shape[-1]), None]:
        entries = use.copy()
        if k is not None:
            entries[..., np.arange(use.shape[-1]) != k] = False
        out["auc"].append(auc(chance[entries], observed[entries] > 0))
        out["precision20"].append(top_precision(rise[entries], (actual > reference + 1e-9)[entries]))
        out["actual_mean"].append(float(actual[entries].mean()) if entries.any() else float("nan"))
        out["actual_square"].append(float((actual[entries] ** 2).mean()) if entries.any() else float("nan"))
    return out
