"""Historical mean: each cell's average over all periods seen so far."""

from __future__ import annotations

import numpy as np

from trnn_core.models.baselines.level_forecaster import LevelForecaster
from trnn_core.models.panel import Panel


class HistoricalMean(LevelForecaster):
    """Level m(t + h) = mean of z(1..t), over the observed periods."""

    name = "mean"

    def _levels(self, panel: Panel, origins: np.ndarray, step: int) -> np.ndarray:
        seen = np.cumsum(panel.observed, axis=0)[origins]
        total = np.cumsum(np.where(panel.observed, panel.level, 0.0), axis=0, dtype=np.float64)[origins]
        return total / np.maximum(seen, 1)
