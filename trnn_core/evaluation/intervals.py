"""Are the stated uncertainties true? Randomised PIT and randomised intervals, exactly rather than by draws.

A count's cdf jumps, so its plain PIT cannot be uniform and a plain interval covers too much: most cells of a sparse
series are zeros, and any interval that starts at zero covers them. The randomised PIT spreads each count evenly over
its jump [F(y-1), F(y)]. Its distribution over the spread is known in closed form (Czado, Gneiting and Held 2009),
so every figure here is the expectation over the randomisation and needs no random numbers.
"""

from __future__ import annotations

import numpy as np

from trnn_core.models.coverage import activity_groups, covered, pit_bounds

__all__ = [
    "GRID",
    "GROUPS",
    "LEVEL",
    "activity_groups",
    "coverage",
    "covered",
    "pit_bounds",
    "pit_curve",
    "pit_deviation",
]

LEVEL = 0.9
GRID = np.linspace(0.0, 1.0, 101)  # where the PIT's empirical distribution is kept
GROUPS = ("all", "quiet", "middling", "active")


def pit_curve(below: np.ndarray, upto: np.ndarray) -> np.ndarray:
    """The summed distribution function of the randomised PITs on GRID, (101,); divide by the number of cells."""
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
