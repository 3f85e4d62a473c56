"""Scores of one forecast step against what came, cell by cell and over cells.

Dimension letters: N sources, M targets, K actions. `scale` names: plain metrics are on the log1p scale, those that
end in `_count` on the scale of the counts; a value series has one scale, so both are the same.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from trnn_core.evaluation.intervals import LEVEL, covered, pit_bounds
from trnn_core.models.forecast import Forecast

# averaged over cells
CELL_METRICS = (
    "mse",
    "mae",
    "crps",
    "log_score",
    "coverage90",
    "width90",
    "mse_count",
    "mae_count",
    "crps_count",
)
# of all cells at once
SET_METRICS = ("auc", "precision20", "actual_mean", "actual_square")
METRICS = CELL_METRICS + SET_METRICS
TOP = 20
SMALLER_IS_BETTER = {"mse", "mae", "crps", "log_score", "mse_count", "mae_count", "crps_count"}


def score_cells(forecast: Forecast, step: int, came: np.ndarray) -> dict[str, np.ndarray]:
    """The cell metrics of one step ahead (counted from 1) for the values that came, each (N, M, K).

    `mse` and `mae` judge the point forecast; `mse_count` the expected count and `mae_count` the median;
    `log_score` is -log P(what came); `coverage90` the chance that the randomised 90 % interval holds what came.
    """
    distribution, point = forecast.distribution[step - 1], forecast.point[step - 1]
    actual = np.log1p(came) if distribution.discrete else came
    crps = distribution.crps(came)
    lower, median, upper = distribution.quantiles(((1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2))
    below, upto = pit_bounds(distribution, came)
    return {
        "mse": (point - actual) ** 2,
        "mae": np.abs(point - actual),
        "crps": crps["log1p"],
        "log_score": -distribution.log_probability(came),
        "coverage90": covered(below, upto, LEVEL),
        "width90": upper - lower,
        "mse_count": (distribution.mean - came) ** 2,
        "mae_count": np.abs(median - came),
        "crps_count": crps["count"],
    }


def auc(score: np.ndarray, event: np.ndarray) -> float:
    """The chance that a cell with an event was ranked above one without; NaN when all or none had one.

    >>> auc(np.array([0.9, 0.4, 0.4, 0.1]), np.array([True, True, False, False]))
    0.875
    """
    n_events = int(event.sum())
    if n_events in (0, event.size):
        return float("nan")
    ranks = stats.rankdata(score)
    return float((ranks[event].sum() - n_events * (n_events + 1) / 2) / (n_events * (event.size - n_events)))


def top_precision(predicted_rise: np.ndarray, rose: np.ndarray, top: int = TOP) -> float:
    """Of the `top` cells with the largest predicted rise, the share that rose; ties go to the earlier cell.

    >>> top_precision(np.array([0.3, 0.1, 0.2]), np.array([True, True, False]), top=2)
    0.5
    """
    if predicted_rise.size == 0:
        return float("nan")
    chosen = np.argsort(-predicted_rise, kind="stable")[:top]
    return float(rose[chosen].mean())


def score_set(
    forecast: Forecast, step: int, came: np.ndarray, reference: np.ndarray, use: np.ndarray
) -> dict[str, list[float]]:
    """The metrics of whole sets of cells: one number per action and one for all; `use` (N, M, K) marks what counts.

    auc          any event in the period, ranked by the forecast's probability of one
    precision20  escalations: a level above the cell's `reference` (its recent average, working scale); the 20 cells
                 whose expected level rises furthest above it are looked at
    """
    distribution = forecast.distribution[step - 1]
    actual = np.log1p(came) if distribution.discrete else came
    chance = 1 - distribution.cdf(np.zeros(()))
    rise = forecast.point[step - 1] - reference
    out: dict[str, list[float]] = {name: [] for name in SET_METRICS}
    for k in [*range(use.shape[-1]), None]:
        cells = use.copy()
        if k is not None:
            cells[..., np.arange(use.shape[-1]) != k] = False
        out["auc"].append(auc(chance[cells], came[cells] > 0))
        out["precision20"].append(top_precision(rise[cells], (actual > reference + 1e-9)[cells]))
        out["actual_mean"].append(float(actual[cells].mean()) if cells.any() else float("nan"))
        out["actual_square"].append(float((actual[cells] ** 2).mean()) if cells.any() else float("nan"))
    return out
