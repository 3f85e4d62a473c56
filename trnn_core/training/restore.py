"""A trained network back from its run folder, for what needs more than the stored forecast."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import torch

from trnn_core.errors import TRNNError
from trnn_core.models.network import TensorNetwork
from trnn_core.training.forecasting import make_forecast, validation_errors
from trnn_core.training.networks import build_network, set_network
from trnn_core.training.predictor import Predictor
from trnn_core.training.prepare import Prepared, prepare
from trnn_core.training.runs import Run
from trnn_core.training.store import RunStore


def load_network(store: RunStore, run: Run) -> tuple[TensorNetwork, Prepared]:
    """The network with the run's best weights, ready to predict, and the data it was trained on."""
    weights = run.weights()
    if weights is None:
        raise TRNNError(f"Run {run.run_id} has no weights yet: no epoch was finished. Resume it first.")
    prepared = prepare(store.series(run), run.recipe)
    with torch.random.fork_rng(devices=[]):
        network = build_network(prepared, run.recipe)
    set_network(network, weights)
    return network.eval(), prepared


def extend_forecast(store: RunStore, run: Run, horizon: int) -> dict[str, Any]:
    """A forecast of any horizon, in the form of `Run.forecast`."""
    stored = run.forecast()
    predictor = Predictor(*load_network(store, run))
    errors, words = validation_errors(predictor, horizon)
    meta = {**(stored["meta"] if stored else {}), "intervals": words}
    with np.load(io.BytesIO(make_forecast(predictor, errors, meta)), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files} | {"meta": meta}
