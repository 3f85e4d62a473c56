"""Panel: a relational series made ready for forecasters: filled, on the working scale, with the cells that count.

Dimension letters: T periods, N sources, M targets, K actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trnn_core.data.relations import ewma, fill_forward
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError

_ACTIVITY = 0.02  # weight of the newest period in a cell's activity


@dataclass(frozen=True)
class Panel:
    """Arrays (T, N, M, K); `cells` (N, M) marks the pairs that are modelled: all but the diagonal.

    values    as given; a cell that was not observed repeats its last observed value (0 before the first)
    level     the working scale: log(1 + count), or the value itself
    observed  what may be learnt from and scored
    """

    values: np.ndarray
    level: np.ndarray
    observed: np.ndarray
    cells: np.ndarray
    counts: bool
    diagonal: bool

    @classmethod
    def of(cls, series: RelationalSeries) -> Panel:
        values = fill_forward(series.values, series.observed).astype(np.float32)
        counts = series.source.kind == "count"
        if counts and values.min() < 0:
            t, i, j, k = np.unravel_index(int(values.argmin()), values.shape)
            raise TRNNError(
                f"Counts must not be negative. Got {values.min():g} for {series.actors[i]} to {series.actors[j]}, "
                f"{series.actions[k]}, {series.dates[t]}; mark the series as values or correct the cell."
            )
        counts = counts and bool((values == np.rint(values)).all())
        level = np.log1p(values) if counts else values
        cells = ~np.eye(len(series.actors), dtype=bool)
        if len(series.actors) == 1:
            cells = np.ones((1, 1), dtype=bool)
        return cls(values, level, series.observed, cells, counts, series.source.diagonal)

    @property
    def n_periods(self) -> int:
        return len(self.values)

    @cached_property
    def activity(self) -> np.ndarray:
        """How busy each cell has been of late: a slow average of its counts (of its absolute changes, for values)."""
        if self.counts:
            return ewma(self.values, _ACTIVITY)
        return ewma(np.abs(np.diff(self.values, axis=0, prepend=self.values[:1])), _ACTIVITY)
