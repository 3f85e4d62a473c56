"""Networks trained by a recipe, as forecasters: the same two verbs as every baseline, so that one backtest scores all.

Dimension letters: O origins, N sources, M targets, K actions, H steps ahead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.models.baselines.base import LevelForecaster
from trnn_core.models.distributions import Distribution, NegativeBinomial
from trnn_core.models.forecast import Forecast
from trnn_core.models.panel import Panel
from trnn_core.training.config import Recipe
from trnn_core.training.predictor import Predictor
from trnn_core.training.prepare import COUNT_LIKELIHOODS
from trnn_core.training.trainer import Fitted, fit

_FAR = 8  # steps rolled at once when more than one is asked for
_PLAIN = {
    "train.epochs": 40, "train.patience": 4, "train.learning_rate": 0.005, "train.clip_norm": 1.0,
    "model.hidden_shape": (14, 14, 4),
}  # fmt: skip


class NetworkForecaster(LevelForecaster):
    """A tensorial network as a recipe describes it.

    It is trained on the series given to `fit` (the recipe's validation share at its end stops the training and teaches
    the noise model; no test part is kept back). Further steps ahead are read as if they had happened.
    """

    min_periods = 60

    def __init__(self, name: str, recipe: Recipe) -> None:
        super().__init__()
        if recipe.model.likelihood == "cross_entropy":
            raise TRNNError(
                "A backtest scores counts or values. Got a network with the likelihood 'cross_entropy', which forecasts "
                "probabilities; choose squared, poisson or negative_binomial."
            )
        self.name, self.recipe = name, recipe.changed(**{"data.test": 0.0})
        self.holdout = recipe.data.validation
        self.fitted: Fitted | None = None
        self._history: RelationalSeries | None = None
        self._rolled: dict[tuple[int, bytes], np.ndarray] = {}

    def fit(self, series: RelationalSeries) -> Self:
        self.check_length(series)
        recipe = self.recipe
        if series.source.kind == "value" and recipe.data.transform == "log1p":  # made for counts
            recipe = recipe.changed(**{"data.transform": "standardise"})
        self.fitted, self._history, self._rolled = fit(series, recipe), series, {}
        return super().fit(series)

    def forecast_many(self, series: RelationalSeries, origins: Sequence[int], horizon: int) -> Iterator[Forecast]:
        self._history, self._rolled = series, {}
        yield from super().forecast_many(series, origins, horizon)

    def _predict(self, panel: Panel, origins: np.ndarray, step: int) -> tuple[np.ndarray, Distribution]:
        level, distribution = super()._predict(panel, origins, step)
        if self.recipe.model.likelihood in COUNT_LIKELIHOODS and isinstance(distribution, NegativeBinomial):
            return distribution.expected_log1p(), distribution  # a count likelihood says the mean, not the mean level
        return level, distribution

    def _levels(self, panel: Panel, origins: np.ndarray, step: int) -> np.ndarray:
        key = (id(panel), origins.tobytes())
        if key not in self._rolled or self._rolled[key].shape[1] < step:
            self._rolled[key] = self._roll(panel, origins, 1 if step == 1 else max(step, _FAR))
        return self._rolled[key][:, step - 1]

    def _roll(self, panel: Panel, origins: np.ndarray, horizon: int) -> np.ndarray:
        """Levels 1..horizon after each origin, (O, H, N, M, K)."""
        assert self.fitted is not None and self._history is not None
        prepared = self.fitted.prepared
        series = prepared.series if panel is self._train else self._history
        predictor = Predictor(self.fitted.network, replace(prepared, series=series))
        values = predictor.to_values(predictor.roll(origins, horizon))
        return np.log1p(values) if panel.counts else values


def tlstm(**settings: Any) -> NetworkForecaster:
    """A plain tLSTM on log1p counts, stopped when its validation loss no longer falls."""
    return NetworkForecaster("tlstm", Recipe().changed(**{**_PLAIN, "model.cell": "lstm", **settings}))


def tgru(**settings: Any) -> NetworkForecaster:
    """The same with a tGRU."""
    return NetworkForecaster("tgru", Recipe().changed(**{**_PLAIN, "model.cell": "gru", **settings}))


def by_recipe(recipe: dict[str, Any] | None = None) -> NetworkForecaster:
    """The network of a run, from its recipe as plain values."""
    if recipe is None:
        raise TRNNError("The model 'network' is a run's own: name the run whose recipe it follows.")
    return NetworkForecaster("network", Recipe(**recipe))
