"""Forecast: a predictive distribution for every cell of the coming periods; Forecaster: whatever makes one.

Dimension letters: H steps ahead, N sources, M targets, K actions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

import numpy as np

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.models.distributions import Distribution


@dataclass(frozen=True)
class Forecast:
    """What is expected of the H periods after `last_date`, and how sure one may be.

    point         (H, N, M, K) the expected level on the working scale: E log(1 + count), or E value
    distribution  (H, N, M, K) of the count (or value) itself
    """

    point: np.ndarray
    distribution: Distribution
    dates: np.ndarray
    last_date: np.datetime64
    actors: tuple[str, ...]
    actions: tuple[str, ...]

    @property
    def horizon(self) -> int:
        return len(self.dates)

    @property
    def mean(self) -> np.ndarray:
        """Expected counts (or values)."""
        return self.distribution.mean

    @property
    def median(self) -> np.ndarray:
        return self.distribution.quantile(0.5)

    @property
    def event_probability(self) -> np.ndarray:
        """P(at least one event)."""
        return 1.0 - self.distribution.cdf(np.zeros(()))

    def interval(self, level: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """The central interval: lower and upper bound, (H, N, M, K) each."""
        if not 0 < level < 1:
            raise TRNNError(f"The interval's level must lie between 0 and 1. Got {level} instead; 0.9 is usual.")
        lower, upper = self.distribution.quantiles(((1 - level) / 2, (1 + level) / 2))
        return lower, upper


@runtime_checkable
class Forecaster(Protocol):
    """The two verbs of every model. `fit` looks at the given series only; `forecast` starts after its last period."""

    name: str

    def fit(self, series: RelationalSeries) -> Self: ...

    def forecast(self, history: RelationalSeries, horizon: int) -> Forecast: ...


def forecast_each(
    model: Forecaster, series: RelationalSeries, origins: Sequence[int], horizon: int
) -> Iterator[tuple[int, Forecast]]:
    """Forecasts from several origins of one series; models that can share work between origins offer `forecast_many`.

    An origin is the index of the last period the model may see.
    """
    many = getattr(model, "forecast_many", None)
    forecasts: Iterable[Forecast] = (
        many(series, origins, horizon)
        if many is not None
        else (model.forecast(series.select(periods=slice(0, t + 1)), horizon) for t in origins)
    )
    yield from zip(origins, forecasts, strict=True)


def check_horizon(horizon: int) -> None:
    if not isinstance(horizon, int | np.integer) or horizon < 1:
        raise TRNNError(f"The horizon must be a whole number of periods, at least 1. Got {horizon!r} instead.")
