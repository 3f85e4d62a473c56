"""Is one model better than another by more than luck? Diebold-Mariano with autocorrelation-robust variance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from trnn_core.errors import TRNNError


@dataclass(frozen=True)
class DieboldMariano:
    """difference is the mean of loss a minus loss b: negative where a is better. The p-value is two-sided."""

    difference: float
    statistic: float
    p_value: float
    n: int
    lags: int


def diebold_mariano(loss_a: np.ndarray, loss_b: np.ndarray, horizon: int = 1) -> DieboldMariano:
    """Test that two models, scored on the same origins in order of time, are equally good.

    The variance of the mean difference is Newey and West's (Bartlett weights), with max(horizon - 1, 4 (n/100)^(2/9))
    lags: forecasts h steps ahead share h - 1 periods, and losses of one-step forecasts wander too. The statistic gets
    the small-sample correction of Harvey, Leybourne and Newbold (1997) and is compared with Student's t on n - 1.

    >>> rng = np.random.default_rng(0)
    >>> diebold_mariano(rng.normal(1.0, 1, 200), rng.normal(1.5, 1, 200)).p_value < 0.001
    True
    """
    a, b = np.asarray(loss_a, dtype=float), np.asarray(loss_b, dtype=float)
    if a.shape != b.shape or a.ndim != 1:
        raise TRNNError(
            f"Both models must be scored on the same origins, one loss each. Got losses of shape {a.shape} and"
            f" {b.shape}."
        )
    both = np.isfinite(a) & np.isfinite(b)
    difference = (a - b)[both]
    n = len(difference)
    if n < 8:
        raise TRNNError(f"A Diebold-Mariano test needs at least 8 origins. Got {n} instead; score more periods.")
    lags = min(max(horizon - 1, int(4 * (n / 100) ** (2 / 9))), n - 2)
    variance = long_run_variance(difference, lags) / n
    mean = float(difference.mean())
    if variance <= 0 or np.ptp(difference) == 0:
        return DieboldMariano(mean, 0.0 if mean == 0 else float(np.sign(mean) * np.inf), float(mean == 0), n, lags)
    small_sample = np.sqrt((n + 1 - 2 * horizon + horizon * (horizon - 1) / n) / n)
    statistic = float(small_sample * mean / np.sqrt(variance))
    return DieboldMariano(mean, statistic, float(2 * stats.t.sf(abs(statistic), n - 1)), n, lags)


def long_run_variance(x: np.ndarray, lags: int) -> float:
    """Newey and West: autocovariances up to `lags` with weights that fall to zero, never negative."""
    centred = x - x.mean()
    total = float(centred @ centred)
    for lag in range(1, lags + 1):
        total += 2 * (1 - lag / (lags + 1)) * float(centred[lag:] @ centred[:-lag])
    return total / len(x)
