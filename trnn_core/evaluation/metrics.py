"""Scores of one forecast step against what was observed: one table of them, entry by entry and over whole sets.

Dimension letters: N sources, M targets, K actions. `scale` names: plain scores are on the working scale (log1p for
counts), those that end in `_count` on the scale of the counts; a value series has one scale, so both are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from trnn_core.evaluation.intervals import LEVEL, covered, pit_bounds
from trnn_core.models.distributions import Distribution, Scale
from trnn_core.models.forecast import Forecast

TOP = 20


@dataclass(frozen=True)
class Outcome:
    """One step of a forecast beside what was observed: arrays (N, M, K).

    reference  each entry's recent average level, which an escalation must exceed
    """

    expected: np.ndarray  # level, on the working scale
    distribution: Distribution
    observed: np.ndarray
    reference: np.ndarray | None = None

    @classmethod
    def of(cls, forecast: Forecast, step: int, observed: np.ndarray, reference: np.ndarray | None = None) -> Outcome:
        """Of one step ahead, counted from 1."""
        return cls(forecast.level[step - 1], forecast.distribution[step - 1], observed, reference)

    @cached_property
    def actual(self) -> np.ndarray:
        """What was observed, on the working scale."""
        return self.distribution.to_level(self.observed)

    @cached_property
    def crps(self) -> dict[Scale, np.ndarray]:
        return self.distribution.crps(self.observed)

    @cached_property
    def quantiles(self) -> np.ndarray:
        """Lower bound, median and upper bound, (3, N, M, K)."""
        return self.distribution.quantiles(((1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2))

    @cached_property
    def event_probability(self) -> np.ndarray:
        return 1 - self.distribution.cdf(np.zeros(()))


class Score(NamedTuple):
    """How one score is computed and called.

    compute  outcome -> (N, M, K), averaged over entries; of a set: (outcome, chosen entries) -> one number
    words    in a sentence; a score with words is a loss (smaller is better) that pages offer to compare by
    printed  heading in a terminal; none given is not printed
    of_set   whether it is a score of all entries at once
    """

    compute: Callable[..., Any]
    words: str = ""
    printed: str = ""
    of_set: bool = False


# A new score is one line here, with its function in this file or one of its own.
SCORES: dict[str, Score] = {
    "mse": Score(lambda o: (o.expected - o.actual) ** 2, "squared error", "MSE"),
    "mae": Score(lambda o: np.abs(o.expected - o.actual), "absolute error", "MAE"),
    "crps": Score(lambda o: o.crps["log1p"], "CRPS", "CRPS"),
    "log_score": Score(lambda o: -o.distribution.log_probability(o.observed), printed="log score"),
    "coverage90": Score(lambda o: covered(*pit_bounds(o.distribution, o.observed), LEVEL), printed="cover90"),
    "width90": Score(lambda o: o.quantiles[2] - o.quantiles[0], printed="width90"),
    "mse_count": Score(lambda o: (o.distribution.mean - o.observed) ** 2, "squared error of counts"),
    "mae_count": Score(lambda o: np.abs(o.quantiles[1] - o.observed), "absolute error of counts"),
    "crps_count": Score(lambda o: o.crps["count"], "CRPS of counts"),
    "auc": Score(lambda o, use: auc(o.event_probability[use], o.observed[use] > 0), printed="AUC", of_set=True),
    "precision20": Score(lambda o, use: _escalations(o, use), printed="top20", of_set=True),
    "actual_mean": Score(lambda o, use: _mean(o.actual[use]), of_set=True),
    "actual_square": Score(lambda o, use: _mean(o.actual[use] ** 2), of_set=True),
}
FIRST_SCORES = tuple(SCORES)  # what backtests were stored with before they named their scores


def score_names(of_set: bool | None = None) -> tuple[str, ...]:
    """Those of entries, those of sets, or all: entries first."""
    if of_set is None:
        return (*score_names(False), *score_names(True))
    return tuple(name for name, score in SCORES.items() if score.of_set == of_set)


def score_words() -> dict[str, str]:
    """The losses that models are compared by, in words."""
    return {name: score.words for name, score in SCORES.items() if score.words}


def score_entries(outcome: Outcome, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """The scores of single entries, each (N, M, K); all there are unless some are named.

    `mse` and `mae` judge the expected level; `mse_count` the expected count and `mae_count` the median;
    `log_score` is -log P(what was observed); `coverage90` the chance that the randomised 90 % interval holds it.
    """
    return {name: SCORES[name].compute(outcome) for name in names or score_names(False)}


def score_set(outcome: Outcome, use: np.ndarray) -> dict[str, list[float]]:
    """The scores of whole sets: one number per action and one for all; `use` (N, M, K) marks what counts.

    auc          any event in the period, ranked by the forecast's probability of one
    precision20  escalations: a level above the entry's reference; the 20 entries whose expected level rises furthest
                 above it are looked at
    """
    out: dict[str, list[float]] = {name: [] for name in score_names(True)}
    for k in [*range(use.shape[-1]), None]:
        entries = use.copy()
        if k is not None:
            entries[..., np.arange(use.shape[-1]) != k] = False
        for name, found in out.items():
            found.append(float(SCORES[name].compute(outcome, entries)))
    return out


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


def _escalations(o: Outcome, use: np.ndarray) -> float:
    assert o.reference is not None
    rise, rose = o.expected - o.reference, o.actual > o.reference + 1e-9
    return top_precision(rise[use], rose[use])


def _mean(x: np.ndarray) -> float:
    return float(x.mean()) if x.size else float("nan")
