"""Impulse responses: how a single push to one relation spreads over the weeks that follow, averaged over recent weeks.

Dimension letters: O origins, H steps ahead, N actors, K actions.
"""

from __future__ import annotations

import numpy as np

from trnn_core.errors import TRNNError
from trnn_core.insight.answers import Impulse
from trnn_core.insight.influence_matrices import recent_origins
from trnn_core.insight.view import View

N_ORIGINS = 26
HORIZON = 8
LEVEL = 0.9


def impulse_response(
    view: View, cell: tuple[int, int, int], size: float, horizon: int = HORIZON, n_origins: int = N_ORIGINS
) -> Impulse:
    """Add `size` events to one cell of the last week known, at each of the recent origins, and see what differs."""
    i, j, k = cell
    if i == j and not view.series.source.diagonal:
        raise TRNNError(f"An impulse must go from one country to another. Got {view.series.actors[i]} to itself.")
    if not np.isfinite(size) or size == 0 or abs(size) > 1e6:
        raise TRNNError(f"The size of an impulse must be a number of events other than 0. Got {size} instead.")
    if not 1 <= horizon <= 52:
        raise TRNNError(f"The horizon must be from 1 to 52 periods. Got {horizon} instead.")
    origins = recent_origins(view, n_origins)
    before = np.stack([view.past(int(t))[-1].numpy() for t in origins]).astype(np.float64)  # (O, N, N, K)
    after = before.copy()
    now = before[:, i, j, k]
    after[:, i, j, k] = (
        np.log1p(np.maximum(np.expm1(now) + size, 0.0)) if view.series.source.kind == "count" else now + size
    )
    levels = [view.answers(origins, last, horizon) for last in (after, before)]
    each, gap = view.values(levels[0]) - view.values(levels[1]), levels[0] - levels[1]
    if not view.series.source.diagonal:
        each[:, :, np.arange(each.shape[2]), np.arange(each.shape[2])] = 0.0  # nobody acts towards itself here
    lower, upper = np.quantile(each, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return Impulse(cell, size, each.mean(axis=0), lower, upper, gap.mean(axis=0), len(origins))


def typical_size(view: View, cell: tuple[int, int, int]) -> float:
    """An unusual week: two usual variations above the usual level, in events, at least one."""
    i, j, k = cell
    values = np.asarray(view.series.values[:, i, j, k], dtype=np.float64)
    return float(max(np.round(2 * np.nanstd(values)), 1.0))
