"""A trained network back from its run folder, for what needs more than the stored forecast."""

from __future__ import annotations

from dataclasses import replace

import torch

from trnn_core.data.series import RelationalSeries
from trnn_core.data.windows import split_periods
from trnn_core.errors import TRNNError
from trnn_core.models.baselines.level_forecaster import LevelForecaster
from trnn_core.models.forecast import Forecast
from trnn_core.models.network import TensorNetwork
from trnn_core.models.recommended import Recommended
from trnn_core.models.recommended_state import from_arrays
from trnn_core.runs.run import Run
from trnn_core.runs.store import RunStore
from trnn_core.training.checkpoints import Arrays
from trnn_core.training.network_forecaster import network_forecaster
from trnn_core.training.networks import build_network, set_network
from trnn_core.training.prepare import Prepared, prepare


def load_network(store: RunStore, run: Run) -> tuple[TensorNetwork, Prepared]:
    """The tensorial network with the run's best weights, ready to predict, and the data it was trained on."""
    if run.recipe.model.network != "tensor":
        raise TRNNError(
            f"A tensorial network is needed here. Run {run.run_id} trained the network {run.recipe.model.network!r}"
            " instead; train one with the preset quick or one of the paper's."
        )
    weights = _weights(run)
    prepared = prepare(store.series(run), run.recipe)
    with torch.random.fork_rng(devices=[]):
        network = build_network(prepared, run.recipe)
    set_network(network, weights)
    return network.eval(), prepared


def load_forecaster(store: RunStore, run: Run) -> tuple[LevelForecaster, RelationalSeries]:
    """The run's model as a forecaster, whatever its kind, and the series (with the actors and actions it was trained
    on)."""
    if run.recipe.model.network == "tensor":
        network, prepared = load_network(store, run)
        return network_forecaster(network, prepared), prepared.series
    data, series = run.recipe.data, store.series(run)
    if data.actors or data.actions:
        series = series.select(actors=data.actors, actions=data.actions)
    weights = _weights(run)
    if "shape" not in weights:
        raise TRNNError(f"Run {run.run_id} has not ended yet, so its model cannot be loaded; wait for it, or stop it.")
    split = split_periods(len(series), data.validation, data.test)
    model: Recommended = from_arrays(weights, series)
    return model.attach(series.select(periods=slice(0, split.train.stop))), series


def _weights(run: Run) -> Arrays:
    weights = run.weights()
    if weights is None:
        raise TRNNError(f"Run {run.run_id} has no weights yet: no epoch was finished. Resume it first.")
    return weights


def extend_forecast(store: RunStore, run: Run, horizon: int) -> Forecast:
    """A forecast of any horizon, with the digits a stored one has."""
    stored = run.forecast()
    forecaster, series = load_forecaster(store, run)
    made = replace(forecaster.forecast(series, horizon), meta=stored.meta if stored else {})
    return Forecast.from_npz(made.to_npz())
