"""LevelForecaster: what all point baselines share; a subclass says only how it learns and what level it expects.

Dimension letters: T periods, O origins, H steps ahead, N sources, M targets, K actions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np

from trnn_core.data.series import RelationalSeries, step_dates
from trnn_core.errors import TRNNError
from trnn_core.models.distributions import Bernoulli, Distribution, NegativeBinomial, Normal
from trnn_core.models.forecast import Forecast, check_horizon
from trnn_core.models.noise import CountNoise, Noise, fit_count_noise, fit_value_noise
from trnn_core.models.panel import Panel

_WARM_UP = 10  # origins before this have hardly any past
_NOISE_ORIGINS = 400  # the noise is learnt from the most recent training periods
_NOISE_CELLS = 8_000_000  # and from at most so many of their cells
_MIN_NOISE_ORIGINS = 40  # a held-out part shorter than this is too little to learn a distribution from


class LevelForecaster:
    """A level per cell, turned into a distribution by one noise model per step ahead.

    Subclasses write `_learn(panel)` and `_levels(panel, origins, step) -> (O, N, M, K)` on the working scale;
    `_levels` may look at periods up to each origin only. `holdout` is the share of the training periods (their end)
    from which a model with many weights takes no gradient (`_learnt_until` is where it starts): its noise is learnt
    there, so that it cannot mistake its own fit for accuracy.
    """

    name = ""
    min_periods = 20
    holdout = 0.0

    def __init__(self) -> None:
        self._train: Panel | None = None
        self._labels: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
        self._noise: dict[int, Noise] = {}
        self._learnt_until = 0

    def fit(self, series: RelationalSeries) -> Self:
        """Learn from the whole series given; returns self."""
        self.check_length(series)
        panel = Panel.of(series)
        self._labels, self._noise = (series.actors, series.actions), {}
        self._learnt_until = len(series) - int(self.holdout * len(series))
        self._learn(panel)
        self._train = panel
        return self

    def forecast(self, history: RelationalSeries, horizon: int) -> Forecast:
        """The `horizon` periods after the last one of the history."""
        return next(self.forecast_many(history, [len(history) - 1], horizon))

    def forecast_many(self, series: RelationalSeries, origins: Sequence[int], horizon: int) -> Iterator[Forecast]:
        """One forecast per origin (index of the last period seen), sharing the work between them."""
        check_horizon(horizon)
        self._check_labels(series)
        periods = np.asarray(origins)
        panel = Panel.of(series.select(periods=slice(0, int(periods.max()) + 1)))
        steps = [self._predict(panel, periods, h) for h in range(1, horizon + 1)]
        structural_zero = np.zeros_like(panel.cells) if panel.diagonal else ~panel.cells
        for o, t in enumerate(periods):
            point = np.stack([levels[o] for levels, _ in steps]).astype(float)
            spread = stack([distribution[o] for _, distribution in steps])
            if panel.counts and structural_zero.any():
                point[:, structural_zero] = 0.0
                spread.mean[:, structural_zero] = 0.0
            dates = step_dates(series.dates[t], series.period, horizon)
            yield Forecast(point, spread, dates, series.dates[t], series.actors, series.actions)

    def _learn(self, panel: Panel) -> None:
        """Nothing to learn unless a subclass says so."""

    def _levels(self, panel: Panel, origins: np.ndarray, step: int) -> np.ndarray:
        raise NotImplementedError

    def _predict(self, panel: Panel, origins: np.ndarray, step: int) -> tuple[np.ndarray, Distribution]:
        """Levels (O, N, M, K) and their distribution; a model with a likelihood of its own overrides this."""
        levels = self._levels(panel, origins, step)
        if step not in self._noise:
            self._noise[step] = self._fit_noise(step)
        return levels, self._noise[step].distribution(levels, panel.activity[origins])

    def _fit_noise(self, step: int) -> Noise:
        """The errors made `step` periods ahead over the recent training periods."""
        panel = self._training_panel(step)
        last = panel.n_periods - 1 - step
        held_out = min(self._learnt_until - 1, last + 1 - _MIN_NOISE_ORIGINS) if self.holdout else 0
        first = max(min(_WARM_UP, last), last + 1 - _NOISE_ORIGINS, held_out)
        origins = np.arange(first, last + 1)
        levels = self._levels(panel, origins, step)
        targets, seen = panel.values[origins + step], panel.observed[origins + step] & panel.cells[..., None]
        seen = _thinned(seen.all(-1) if seen.all(-1).any() else seen.any(-1), levels.shape[-1])
        level, activity, value = (x[seen] for x in (levels, panel.activity[origins], targets))  # (S, K) each
        if not panel.counts:
            return fit_value_noise(level, activity, value)
        nearby = self._noise.get(step - 1)
        return fit_count_noise(level, activity, value, nearby if isinstance(nearby, CountNoise) else None)

    def _training_panel(self, step: int) -> Panel:
        if self._train is None:
            raise TRNNError(
                f"The saved model '{self.name}' was kept for fewer steps ahead than {step}; ask for fewer, or fit it"
                " again."
            )
        return self._train

    def check_length(self, series: RelationalSeries) -> None:
        if len(series) < self.min_periods:
            raise TRNNError(
                f"The model '{self.name}' needs at least {self.min_periods} periods to learn from. "
                f"Got {len(series)} instead; choose a longer series or a simpler model."
            )

    def _check_labels(self, series: RelationalSeries) -> None:
        if not self._labels[0]:
            raise TRNNError(f"The model '{self.name}' must be fitted before it forecasts; call fit(series) first.")
        if (series.actors, series.actions) != self._labels:
            raise TRNNError(
                f"The history must have the actors and actions the model '{self.name}' was fitted on, in that order: "
                f"{len(self._labels[0])} actors and {len(self._labels[1])} actions. "
                f"Got {len(series.actors)} actors and {len(series.actions)} actions instead."
            )


def _thinned(seen: np.ndarray, n_actions: int) -> np.ndarray:
    """As many evenly spaced dyad-periods as a noise model needs; with many actors all of them would not fit."""
    places = np.flatnonzero(seen)
    wanted = _NOISE_CELLS // n_actions
    if len(places) <= wanted:
        return seen
    out = np.zeros(seen.size, dtype=bool)
    out[places[np.linspace(0, len(places) - 1, wanted).astype(np.int64)]] = True
    return out.reshape(seen.shape)


def stack(distributions: Sequence[Distribution]) -> Distribution:
    """Distributions of the steps ahead on a leading axis; a further step is never surer of itself than a nearer one."""
    mean = np.stack([d.mean for d in distributions])
    if isinstance(distributions[0], NegativeBinomial):
        sizes = np.stack([d.size for d in distributions])  # type: ignore[union-attr]
        return NegativeBinomial(mean, np.minimum.accumulate(sizes, axis=0))
    if isinstance(distributions[0], Bernoulli):
        return Bernoulli(mean)
    return Normal(mean, np.maximum.accumulate(np.stack([d.sd for d in distributions]), axis=0))  # type: ignore[union-attr]
