"""Networks trained by a recipe, as forecasters: the same two verbs as every baseline, so that one backtest scores
all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.models.baselines.base import LevelForecaster
from trnn_core.models.forecast import Forecast
from trnn_core.models.likelihoods import LIKELIHOODS, likelihood_of
from trnn_core.training.config import Recipe
from trnn_core.training.trainer import Fitted, fit

MIN_PERIODS = 40
_PLAIN = {
    "train.epochs": 40,
    "train.patience": 4,
    "train.learning_rate": 0.005,
    "train.clip_norm": 1.0,
    "model.hidden_shape": (14, 14, 4),
}


class RecipeForecaster:
    """A network trained as a recipe describes, of whatever kind.

    It is trained on the series given to `fit`; the recipe's validation share at its end chooses the best epoch (and,
    for tensorial networks, teaches the noise model); no test part is kept back.
    """

    def __init__(self, name: str, recipe: Recipe) -> None:
        if not likelihood_of(recipe.model.likelihood).scored:
            *most, last = [name for name, found in LIKELIHOODS.items() if found.scored]
            raise TRNNError(
                f"A backtest scores counts or values. Got a network with the likelihood {recipe.model.likelihood!r},"
                f" which forecasts probabilities; choose {', '.join(most)} or {last}."
            )
        self.name, self.recipe = name, recipe.changed(**{"data.test": 0.0})
        self.fitted: Fitted | None = None
        self._forecaster: LevelForecaster | None = None

    def fit(self, series: RelationalSeries) -> Self:
        if len(series) < MIN_PERIODS:
            raise TRNNError(
                f"The model '{self.name}' needs at least {MIN_PERIODS} periods to learn from. "
                f"Got {len(series)} instead; choose a longer series or a simpler model."
            )
        recipe = self.recipe
        if series.source.kind == "value" and recipe.data.transform == "log1p" and recipe.model.network == "tensor":
            recipe = recipe.changed(**{"data.transform": "standardise"})  # log1p is made for counts
        self.fitted = fit(series, recipe)
        self._forecaster = self.fitted.learner.forecaster()
        return self

    def forecast(self, history: RelationalSeries, horizon: int) -> Forecast:
        return next(iter(self.forecast_many(history, [len(history) - 1], horizon)))

    def forecast_many(self, series: RelationalSeries, origins: Sequence[int], horizon: int) -> Iterator[Forecast]:
        if self._forecaster is None:
            raise TRNNError(f"The model '{self.name}' must be fitted before it forecasts; call fit(series) first.")
        return self._forecaster.forecast_many(series, origins, horizon)


def tlstm(**settings: Any) -> RecipeForecaster:
    """A plain tLSTM on log1p counts, stopped when its validation loss no longer falls."""
    return RecipeForecaster("tlstm", Recipe().changed(**{**_PLAIN, "model.cell": "lstm", **settings}))


def tgru(**settings: Any) -> RecipeForecaster:
    """The same with a tGRU."""
    return RecipeForecaster("tgru", Recipe().changed(**{**_PLAIN, "model.cell": "gru", **settings}))


def by_recipe(recipe: dict[str, Any] | None = None) -> RecipeForecaster:
    """The network of a run, from its recipe as plain values."""
    if recipe is None:
        raise TRNNError("The model 'network' is a run's own: name the run whose recipe it follows.")
    return RecipeForecaster("network", Recipe(**recipe))
