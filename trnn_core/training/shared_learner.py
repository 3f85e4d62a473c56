"""A tensorial network trained by several processes together: each learns from its own windows of every batch."""

from __future__ import annotations

from dataclasses import replace

import torch

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.training.config import Recipe
from trnn_core.training.distributed import Group, current, join_gradients, own_share
from trnn_core.training.learners import Gradient
from trnn_core.training.networks import learn, part_sums
from trnn_core.training.prepare import Batch
from trnn_core.training.tensor_learner import TensorLearner


class SharedLearner(TensorLearner):
    """One of several equal processes; all hold the same weights after every step."""

    def __init__(self, series: RelationalSeries, recipe: Recipe, group: Group) -> None:
        if recipe.data.design == "single-series":
            raise TRNNError("One long series is read in order and cannot be shared out. Got data.design=single-series under torchrun; train it in one process.")  # fmt: skip
        super().__init__(series, recipe)
        self.group = group

    def gradient(self, batch: Batch) -> Gradient:
        self.optimiser.zero_grad()
        mine = own_windows(batch, own_share(batch.n_windows, self.group.rank, self.group.size))
        n = mine.n_cells if mine is not None else 0
        loss = learn(self.network, mine)[0].item() if mine is not None and n else 0.0
        loss, n = join_gradients(self.group, list(self.network.parameters()), loss, n)
        if not n:
            return Gradient(0.0, 0.0, 0.0, 0, batch.n_windows)
        penalty = self._weight * self.network.penalty()
        penalty.backward()
        return Gradient(loss, penalty.item(), self.optimiser.clip(), n, batch.n_windows)

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
    return replace(batch, weeks=batch.weeks[weeks], week_targets=batch.week_targets[weeks], week_mask=batch.week_mask[weeks])  # fmt: skip
