"""The view of the recommended model: a network shared by all dyads, on top of a relational autoregression.

Its forecasts are asked of the forecaster itself, with changed histories. It knows no ties between particular countries:
what it has learnt of one pair holds for all.

Dimension letters: O origins, H steps ahead, N actors, K actions.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from trnn_core.data.relations import fill_forward
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.insight.dyad_cell import CellModel
from trnn_core.models.baselines.base import LevelForecaster
from trnn_core.models.panel import Panel
from trnn_core.models.recommended import Recommended

REACH = 26  # past periods that may be changed; older ones enter through slow averages only
HISTORY = 160  # periods kept when a short history will do: slow averages start anew
_FIRST = 20  # periods before this have hardly any past


class DyadView:
    """A `Recommended` with the series it was trained on."""

    def __init__(self, model: Recommended, series: RelationalSeries, unseen: int) -> None:
        self.model, self.series, self.unseen = model, series, unseen
        self.forecaster: LevelForecaster = model
        self.reach = min(REACH, len(series))
        self.counts = Panel.of(series).counts
        filled = fill_forward(series.values, series.observed).astype(np.float64)
        self._levels = np.log1p(np.maximum(filled, 0.0)) if self.counts else filled
        self._cells: dict[tuple[int, int, int], CellModel] = {}

    @property
    def unit(self) -> str:
        return f"events per {self.series.period}" if self.counts else "value"

    def past(self, origin: int) -> Tensor:
        if not _FIRST <= origin < len(self.series):
            raise TRNNError(
                f"A forecast must start after period {_FIRST + 1} to {len(self.series)} of the series. Got period"
                f" {origin + 1} instead."
            )
        rows = np.maximum(np.arange(origin + 1 - self.reach, origin + 1), 0)
        return torch.from_numpy(self._levels[rows])

    def cell_levels(self, pasts: Tensor, cell: tuple[int, int, int], step: int, origin: int) -> Tensor:
        i, j, k = cell
        if (i, j, origin) not in self._cells:
            self._cells = {(i, j, origin): CellModel(self.model, self.series, (i, j), origin, self.reach)}
        return self._cells[i, j, origin](pasts, step)[:, k]

    def answers(self, origins: np.ndarray, last: np.ndarray, horizon: int) -> np.ndarray:
        found = []
        for t, levels in zip(origins, last, strict=True):
            history = self.series.select(periods=slice(max(int(t) + 1 - HISTORY, 0), int(t) + 1))
            values = np.array(history.values)
            values[-1] = np.round(np.expm1(levels)) if self.counts else levels
            history = replace(history, values=values, observed=history.observed | np.isfinite(values))
            found.append(
                np.log1p(self.model.forecast(history, horizon).mean)
                if self.counts
                else self.model.forecast(history, horizon).mean
            )
        return np.stack(found)

    def expected(self, weeks: np.ndarray) -> np.ndarray:
        return self.model._levels(Panel.of(self.series), weeks - 1, 1)

    def values(self, levels: np.ndarray) -> np.ndarray:
        return np.expm1(levels) if self.counts else np.asarray(levels)
