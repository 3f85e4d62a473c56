"""Networks and their data: build one, place it, move its weights in and out as arrays, predict a batch, measure the
loss."""

from __future__ import annotations

from typing import Any

import torch

from trnn_core.data.windows import Part
from trnn_core.errors import TRNNError
from trnn_core.models.losses import loss as loss_of
from trnn_core.models.network import TensorNetwork
from trnn_core.training.checkpoints import Arrays
from trnn_core.training.config import Recipe, TrainConfig
from trnn_core.training.prepare import Batch, Prepared, make_batches


def build_network(prepared: Prepared, recipe: Recipe) -> TensorNetwork:
    """On the processor, whatever the recipe says: a run can be read on any machine."""
    network = TensorNetwork(recipe.model, prepared.input_shape, prepared.target_shape)
    return network.to(prepared.inputs.dtype)


def place(network: TensorNetwork, config: TrainConfig) -> TensorNetwork:
    """The network where it is to be trained, and whether its products are rounded there."""
    device = device_of(config)
    network.mixed = config.precision == "mixed" or (config.precision == "auto" and device.type == "cuda")
    return network.to(device)


def device_of(config: TrainConfig) -> torch.device:
    there = torch.cuda.is_available()
    if config.device == "cuda" and not there:
        raise TRNNError(
            "Training on a graphics card needs one that torch can use. Got train.device=cuda where there is none; set"
            " train.device=auto."
        )
    return torch.device("cuda" if there and config.device != "cpu" else "cpu")


def network_arrays(network: torch.nn.Module) -> Arrays:
    return {name: value.detach().cpu().numpy().copy() for name, value in network.state_dict().items()}


def set_network(network: torch.nn.Module, arrays: Arrays) -> None:
    expected = network.state_dict()
    if {n: tuple(v.shape) for n, v in expected.items()} != {n: v.shape for n, v in arrays.items()}:
        raise TRNNError(
            "The saved weights must have the names and shapes of the network in the settings. They do not; was"
            " config.json of another run copied here?"
        )
    network.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in arrays.items()})


def learn(network: TensorNetwork, batch: Batch, state: Any = None) -> tuple[torch.Tensor, Any]:
    """The mean loss over the scored cells of a batch, its gradient added to the network's; and the state to go on
    with."""
    batch = batch.to(network.device)
    if batch.single:
        raw, state = predict(network, batch, state)
        loss = entry_loss(network, raw, batch)
        loss.backward()
        return loss.detach(), _detached(state)
    return network.accumulate(batch.weeks, batch.week_targets, batch.length, batch.every_step, batch.week_mask), None


def predict(network: TensorNetwork, batch: Batch, state: Any = None) -> tuple[torch.Tensor, Any]:
    """Raw predictions with the shape of the batch's targets, and the state a single series goes on with."""
    if batch.single:
        return network(batch.weeks[None], state=state if batch.carried else None, every_step=True)
    return network.windows(batch.weeks, batch.length, every_step=batch.every_step), None


def entry_loss(network: TensorNetwork, raw: torch.Tensor, batch: Batch) -> torch.Tensor:
    """The mean loss over the scored cells of a batch."""
    likelihood = network.likelihood
    parameters = {name: getattr(network, name) for name in likelihood.parameters}
    return loss_of(likelihood.name, raw, batch.targets, batch.mask, **parameters)


def part_loss(network: TensorNetwork, prepared: Prepared, part: Part, size: int) -> float:
    """The mean loss over all scored cells of a part."""
    total, cells = part_sums(network, prepared, part, size)
    return total / max(cells, 1)


@torch.no_grad()
def part_sums(
    network: TensorNetwork, prepared: Prepared, part: Part, size: int, first: int = 0, step: int = 1
) -> tuple[float, int]:
    """Summed loss and number of scored cells of every `step`-th batch of a part, from the `first` one on."""
    total, cells, state = 0.0, 0, None
    for i, batch in enumerate(make_batches(prepared, part, size)):
        if i % step != first:
            continue
        batch = batch.to(network.device)
        raw, state = predict(network, batch, state)
        n = batch.n_cells
        if n:
            total += n * float(entry_loss(network, raw, batch))
            cells += n
    return total, cells


def _detached(state: Any) -> Any:
    """Truncated BPTT: the state goes on, its past does not."""
    if isinstance(state, torch.Tensor):
        return state.detach()
    if isinstance(state, (tuple, list)):
        return type(state)(_detached(s) for s in state)
    return state
