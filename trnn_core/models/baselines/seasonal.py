"""Seasonal: the same period of the last season (52 weeks; 7 days, 12 months for other frequencies)."""

from __future__ import annotations

from typing import Self

import numpy as np

from trnn_core.data.series import RelationalSeries
from trnn_core.models.baselines.level_forecaster import LevelForecaster
from trnn_core.models.panel import Panel

SEASONS = {"day": 7, "week": 52, "month": 12, "year": 1}


class Seasonal(LevelForecaster):
    """Level m(t + h) = z(t + h - s), the latest season fully known; before one season has passed, the first period."""

    name = "seasonal"

    def __init__(self, season: int | None = None) -> None:
        super().__init__()
        self.season = season
        self._season = season or SEASONS["week"]

    def fit(self, series: RelationalSeries) -> Self:
        self._season = self.season or SEASONS[series.period]
        return super().fit(series)

    def _levels(self, panel: Panel, origins: np.ndarray, step: int) -> np.ndarray:
        seasons_back = -(-step // self._season)  # step 60 of a 52-week season looks two seasons back
        return panel.level[np.maximum(origins + step - seasons_back * self._season, 0)]
