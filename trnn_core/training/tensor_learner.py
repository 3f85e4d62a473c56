"""The tensorial networks of the paper as a learner: windows in batches, the regulariser, any optimiser."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from trnn_core.cells.kinds import CELLS
from trnn_core.data.series import RelationalSeries
from trnn_core.data.windows import Part
from trnn_core.training.checkpoints import Arrays
from trnn_core.training.config import Recipe
from trnn_core.training.learners import Gradient
from trnn_core.training.network_forecaster import NetworkForecaster, network_forecaster
from trnn_core.training.networks import build_network, learn, network_arrays, part_loss, place, set_network
from trnn_core.training.optimisers import Optimiser, rate
from trnn_core.training.prepare import Batch, make_batches, part_windows, prepare


class TensorLearner:
    """One TensorNetwork; made with the global random numbers, which the trainer has seeded."""

    def __init__(self, series: RelationalSeries, recipe: Recipe) -> None:
        self.prepared, self.recipe, self.config = prepare(series, recipe), recipe, recipe.train
        self.series, self.split, self.diagonal = self.prepared.series, self.prepared.split, self.prepared.diagonal
        self.network = place(build_network(self.prepared, recipe), self.config)
        self.optimiser = Optimiser(self.network, self.config)
        single = recipe.data.design == "single-series"
        self.n_windows = 1 if single else len(part_windows(self.prepared, "train"))
        self.n_parameters = sum(p.numel() for p in self.network.parameters())
        self.loss_scale = self.prepared.loss_scale
        self.lr = rate(self.config, 1)
        self._carried: Any = None
        per_window = self.config.regularisation_per == "window"
        self._weight = self.config.regularisation / (self.prepared.entries_per_window if per_window else 1)

    def batches(self, epoch: int, drops: int) -> list[Batch]:
        self.lr, self._carried = rate(self.config, epoch, drops), None
        self.network.train()
        return list(make_batches(self.prepared, "train", self.config.batch_size, self.config.seed, epoch))

    def gradient(self, batch: Batch) -> Gradient:
        self.optimiser.zero_grad()
        loss, self._carried = learn(self.network, batch, self._carried)
        n = batch.n_entries
        if not n:
            return Gradient(0.0, 0.0, 0.0, 0, batch.n_windows)
        penalty = self._weight * self.network.penalty()
        penalty.backward()
        return Gradient(loss.item(), penalty.item(), self.optimiser.clip(), n, batch.n_windows)

    def update(self) -> None:
        self.optimiser.step(self.lr)

    def validation_loss(self) -> float | None:
        return self._loss("validation")

    def test_loss(self) -> float | None:
        return self._loss("test")

    def _loss(self, part: Part) -> float | None:
        if not len(self.split[part]):
            return None
        self.network.eval()
        return part_loss(self.network, self.prepared, part, self.config.batch_size)

    def weights(self) -> Arrays:
        return network_arrays(self.network)

    def set_weights(self, arrays: Arrays) -> None:
        set_network(self.network, arrays)
        self.network.eval()

    def state(self) -> Arrays:
        return self.optimiser.arrays() | random_state(self.network.device)

    def restore(self, arrays: Arrays) -> None:
        self.optimiser.restore(arrays)
        set_random_state(arrays, self.network.device)

    def result(self, horizon: int) -> Arrays:
        return self.weights()

    def forecaster(self) -> NetworkForecaster:
        return network_forecaster(self.network, self.prepared)

    def describe(self) -> str:
        model, data = self.recipe.model, self.recipe.data
        shape = " x ".join(map(str, model.hidden_shape))
        return (
            f"{CELLS[model.cell].label}, hidden {shape}, {data.window} periods per window, {data.design},"
            f" {model.likelihood} loss"
        )

    def uncertainty(self, n_steps: int) -> str:
        return self.forecaster().uncertainty(n_steps)


def random_state(device: torch.device) -> Arrays:
    """Where the random numbers of dropout stand, of the processor and of the card in use."""
    found = {"random/torch": torch.random.get_rng_state()}
    if device.type == "cuda":
        found["random/cuda"] = torch.cuda.get_rng_state(device)
    return {name: state.numpy().copy() for name, state in found.items()}


def set_random_state(arrays: Arrays, device: torch.device) -> None:
    torch.random.set_rng_state(torch.from_numpy(np.array(arrays["random/torch"])))
    if device.type == "cuda" and "random/cuda" in arrays:  # not there when the run began on a processor
        torch.cuda.set_rng_state(torch.from_numpy(np.array(arrays["random/cuda"])), device)
