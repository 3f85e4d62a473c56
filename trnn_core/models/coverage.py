"""Did the truth fall inside the interval? For counts by the randomised PIT, in expectation rather than by draws.

A plain interval of a sparse count covers too much by construction: most cells are zeros, and any interval that starts
at zero covers them. The randomised PIT spreads each count evenly over its jump [F(y-1), F(y)]; see
`evaluation.intervals`.
"""

from __future__ import annotations

import numpy as np

from trnn_core.models.distributions import Distribution

_QUIET, _ACTIVE = 0.5, 0.9  # the quieter half of the dyads, the busiest tenth, and those between


def pit_bounds(distribution: Distribution, observed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P(Y < y) and P(Y <= y); equal for continuous distributions."""
    upto = distribution.cdf(observed)
    return (distribution.cdf(observed - 1), upto) if distribution.discrete else (upto, upto)


def covered(below: np.ndarray, upto: np.ndarray, level: float) -> np.ndarray:
    """The chance that the randomised PIT falls inside the central interval.

    >>> covered(np.array([0.0, 0.96]), np.array([0.5, 0.98]), 0.9).tolist()
    [0.9, 0.0]
    """
    low, high = (1 - level) / 2, (1 + level) / 2
    return _share_below(below, upto, high) - _share_below(below, upto, low)


def activity_groups(values: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Each pair's group by its mean activity over the periods given (T, N, M, K): 1 quiet, 2 middling, 3 active; 0
    unused.

    Pairs, not cells, are grouped: all actions together. Ties go to the quieter group.
    """
    activity = np.abs(np.nan_to_num(values)).mean(axis=0).sum(axis=-1)  # (N, M)
    low, high = np.quantile(activity[cells], [_QUIET, _ACTIVE])
    group = np.where(activity > high, 3, np.where(activity > low, 2, 1))
    return np.where(cells, group, 0)


def _share_below(below: np.ndarray, upto: np.ndarray, u: float) -> np.ndarray:
    """How much of the jump [below, upto] lies under u."""
    width = upto - below
    inside = np.clip((u - below) / np.where(width > 0, width, 1.0), 0.0, 1.0)
    return np.where(width > 0, inside, (below <= u).astype(float))
