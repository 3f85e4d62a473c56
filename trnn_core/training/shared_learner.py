"""A tensorial network trained by several processes together: each learns from its own windows of every batch.

Torch's DistributedDataParallel (DDP) sums the gradients. It watches autograd hand a gradient to each parameter, while
`TensorNetwork.accumulate` goes forward and back a few windows at a time and has the gradients when its forward ends; so
they are handed to the parameters once more by a backward pass of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.parallel import DistributedDataParallel

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.models.network import TensorNetwork
from trnn_core.training.config import Recipe
from trnn_core.training.distributed import Group, current, own_share
from trnn_core.training.learners import Gradient
from trnn_core.training.networks import learn, part_sums
from trnn_core.training.prepare import Batch
from trnn_core.training.tensor_learner import TensorLearner


class SharedLearner(TensorLearner):
    """One of several equal processes; all hold the same weights after every step."""

    def __init__(self, series: RelationalSeries, recipe: Recipe, group: Group) -> None:
        if recipe.data.design == "single-series":
            raise TRNNError(
                "One long series is read in order and cannot be shared out. Got data.design=single-series under"
                " torchrun; train it in one process."
            )
        super().__init__(series, recipe)
        self.group = group
        self.shared = DistributedDataParallel(Step(self.network))

    def gradient(self, batch: Batch) -> Gradient:
        self.optimiser.zero_grad()
        mine = own_windows(batch, own_share(batch.n_windows, self.group.rank, self.group.size))
        n = mine.n_entries if mine is not None else 0
        loss, learnt = self.shared(mine if n else None)
        told = self.group.sums(torch.tensor([loss.item() * n, n, *learnt], dtype=torch.float64))
        total = round(float(told[1]))
        weight = n * self.group.size / max(total, 1)  # DDP takes the mean; each process counts by its cells
        (weight * loss).backward()
        for parameter, count in zip(self.network.parameters(), told[2:], strict=True):
            if not count:
                parameter.grad = None  # a parameter nobody learns about stays as it is
        if not total:
            return Gradient(0.0, 0.0, 0.0, 0, batch.n_windows)
        penalty = self._weight * self.network.penalty()
        penalty.backward()
        return Gradient(float(told[0]) / total, penalty.item(), self.optimiser.clip(), total, batch.n_windows)

    def validation_loss(self) -> float | None:
        """Shared out batch by batch while the group is together; afterwards each process is on its own again."""
        if current() is None or not len(self.split.validation):
            return super().validation_loss()
        self.network.eval()
        total, cells = part_sums(
            self.network, self.prepared, "validation", self.config.batch_size, self.group.rank, self.group.size
        )
        sums = self.group.sums(torch.tensor([total, float(cells)], dtype=torch.float64))
        return float(sums[0]) / max(float(sums[1]), 1.0)


def own_windows(batch: Batch, windows: range) -> Batch | None:
    """Some neighbouring windows of a batch."""
    if not len(windows):
        return None
    weeks = slice(windows.start, windows.stop + batch.length - 1)
    return replace(
        batch, weeks=batch.weeks[weeks], week_targets=batch.week_targets[weeks], week_mask=batch.week_mask[weeks]
    )


class Step(nn.Module):
    """What DDP wraps: the mean loss of some windows, whose backward pass gives out the gradient found on the way."""

    def __init__(self, network: TensorNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, batch: Batch | None) -> tuple[Tensor, list[bool]]:
        """The loss, and for each parameter whether anything was learnt about it; without windows nothing is."""
        parameters = list(self.network.parameters())
        loss = parameters[0].new_zeros(()) if batch is None else learn(self.network, batch)[0]
        found = [p.grad for p in parameters]
        for parameter in parameters:
            parameter.grad = None
        grads = [torch.zeros_like(p) if g is None else g for p, g in zip(parameters, found, strict=True)]
        return HandOver.apply(loss, grads, *parameters), [g is not None for g in found]


class HandOver(torch.autograd.Function):
    """A loss with a gradient that is known already."""

    @staticmethod
    def forward(ctx, loss: Tensor, grads: Sequence[Tensor], *parameters: Tensor) -> Tensor:  # type: ignore[override]
        ctx.grads = grads
        return loss.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor):  # type: ignore[override]
        return None, None, *(g * grad for g in ctx.grads)
