"""EWMA: an exponentially weighted mean whose smoothing is fitted, one per action."""

from __future__ import annotations

import numpy as np

from trnn_core.data.relations import ewma
from trnn_core.models.baselines.base import LevelForecaster
from trnn_core.models.panel import Panel

GRID = (0.5, 0.35, 0.25, 0.18, 0.13, 0.09, 0.065, 0.045, 0.03, 0.02, 0.012, 0.007, 0.004)


class FittedEWMA(LevelForecaster):
    """Level m(t + h) = m(t) = m(t - 1) + alpha (z(t) - m(t - 1)); alpha has the least one-step squared error in
    training."""

    name = "ewma"

    def __init__(self) -> None:
        super().__init__()
        self.alphas = np.zeros(0)  # (K,)

    def _learn(self, panel: Panel) -> None:
        counted = panel.observed[1:] & panel.cells[..., None]
        errors = []
        for alpha in GRID:
            gap = np.where(counted, panel.level[1:] - ewma(panel.level, alpha)[:-1], 0.0)
            errors.append(np.einsum("tijk,tijk->k", gap, gap, dtype=np.float64))
        self.alphas = np.array(GRID)[np.argmin(errors, axis=0)]

    def _levels(self, panel: Panel, origins: np.ndarray, step: int) -> np.ndarray:
        out = np.empty((len(origins), *panel.level.shape[1:]))
        for alpha in np.unique(self.alphas):
            k = np.flatnonzero(self.alphas == alpha)
            out[..., k] = ewma(panel.level[..., k], float(alpha))[origins]
        return out
