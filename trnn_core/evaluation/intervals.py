"""Are the stated uncertainties true? Randomised PIT and randomised intervals, exactly rather than by draws.

A count's cdf jumps, so its plain PIT cannot be uniform and a plain interval covers too much: most entries of a sparse
series are zeros, and any interval that starts at zero covers them. The randomised PIT spreads each count evenly over
its jump [F(y-1), F(y)]. Its distribution over the spread is known in closed form (Czado, Gneiting and Held 2009),
so every figure here is the expectation over the randomisation and needs no random numbers.
"""

from __future__ import annotations

import numpy as np

from trnn_core.models.distributions import Distribution

LEVEL = 0.9
GRID = np.linspace(0.0, 1.0, 101)  # where the PIT's empirical distribution is kept
GROUPS = ("all", "quiet", "middling", "active")
_QUIET, _ACTIVE = 0.5, 0.9  # the quieter half of the dyads, the busiest tenth, and those between


def pit_bounds(distribution: Distribution, observed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P(Y < y) and P(Y <= y); equal for continuous distributions."""
    return distribution.below(observed), distribution.cdf(observed)


def pit_curve(below: np.ndarray, upto: np.ndarray) -> np.ndarray:
    """The summed distribution function of the randomised PITs on GRID, (101,); divide by the number of entries."""
    width = upto - below
    jump = width > 0
    inside = np.clip((GRID[:, None] - below[jump]) / width[jump], 0.0, 1.0).sum(axis=1)
    return inside + (below[~jump] <= GRID[:, None]).sum(axis=1)


def pit_deviation(curve: np.ndarray) -> float:
    """How far a mean PIT curve is from uniform: the largest gap."""
    return float(np.abs(curve - GRID).max())


def coverage(curve: np.ndarray, level: float = LEVEL) -> float:
    """The share of randomised PITs inside the central interval, read off a mean PIT curve.

    >>> round(coverage(GRID, 0.9), 6)
    0.9
    """
    low, high = np.interp([(1 - level) / 2, (1 + level) / 2], GRID, curve)
    return float(high - low)


def covered(below: np.ndarray, upto: np.ndarray, level: float) -> np.ndarray:
    """The chance that the randomised PIT falls inside the central interval.

    >>> covered(np.array([0.0, 0.96]), np.array([0.5, 0.98]), 0.9).tolist()
    [0.9, 0.0]
    """
    low, high = (1 - level) / 2, (1 + level) / 2
    return _share_below(below, upto, high) - _share_below(below, upto, low)


def activity_groups(values: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Each pair's group by its mean activity over the periods given (T, N, M, K): 1 quiet, 2 middling, 3 active; 0
    unused.

    Pairs, not entries, are grouped: all actions together. Ties go to the quieter group.
    """
    activity = np.abs(np.nan_to_num(values)).mean(axis=0).sum(axis=-1)  # (N, M)
    low, high = np.quantile(activity[pairs], [_QUIET, _ACTIVE])
    group = np.where(activity > high, 3, np.where(activity > low, 2, 1))
    return np.where(pairs, group, 0)


def _share_below(below: np.ndarray, upto: np.ndarray, u: float) -> np.ndarray:
    """How much of the jump [below, upto] lies under u."""
    width = upto - below
    inside = np.clip((u - below) / np.where(width > 0, width, 1.0), 0.0, 1.0)
    return np.where(width > 0, inside, (below <= u).astype(float))
