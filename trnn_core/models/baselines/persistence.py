"""Persistence: the coming periods repeat the last one."""

from __future__ import annotations

import numpy as np

from trnn_core.models.baselines.level_forecaster import LevelForecaster
from trnn_core.models.panel import Panel


class Persistence(LevelForecaster):
    """Level m(t + h) = z(t)."""

    name = "persistence"

    def _levels(self, panel: Panel, origins: np.ndarray, step: int) -> np.ndarray:
        return panel.level[origins]
