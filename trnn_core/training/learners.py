"""What the trainer trains: a learner has batches, gradients, weights and a state; the trainer knows nothing else of it.

A learner's whole course depends on its recipe, its weights and its state: put back both and it goes on bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from trnn_core.data.series import RelationalSeries
from trnn_core.data.windows import Split
from trnn_core.errors import TRNNError
from trnn_core.models.baselines.level_forecaster import LevelForecaster
from trnn_core.training.checkpoints import Arrays
from trnn_core.training.config import Recipe
from trnn_core.training.distributed import Group


@dataclass(frozen=True)
class Gradient:
    """What one batch had to say; `n_entries` 0 means nothing: there was nothing observed to learn from."""

    loss: float
    regulariser: float
    norm: float
    n_entries: int
    n_windows: int


class Learner(Protocol):
    """One network (or several as one) with its data and its optimiser."""

    series: RelationalSeries  # the actors and actions asked for
    split: Split
    diagonal: bool  # whether a country's acts towards itself are scored
    n_parameters: int
    n_windows: int  # examples in an epoch
    lr: float  # of the last step

    @property
    def loss_scale(self) -> str:
        """What one unit of the losses means."""
        ...

    def batches(self, epoch: int, drops: int) -> Sequence[Any]:
        """What an epoch (from 1) learns from, in order; `drops` is how often the learning rate was lowered so far."""
        ...

    def gradient(self, batch: Any) -> Gradient:
        """The gradient of a batch, ready to be followed; the weights stay as they are."""
        ...

    def update(self) -> None:
        """Follow the last gradient."""
        ...

    def validation_loss(self) -> float | None:
        """The loss over the validation periods; None where there are none."""
        ...

    def test_loss(self) -> float | None: ...

    def weights(self) -> Arrays: ...

    def set_weights(self, arrays: Arrays) -> None: ...

    def state(self) -> Arrays:
        """Moments of the optimiser and state of the random numbers."""
        ...

    def restore(self, arrays: Arrays) -> None: ...

    def result(self, horizon: int) -> Arrays:
        """What a run keeps for good: all that is needed to forecast that far."""
        ...

    def forecaster(self) -> LevelForecaster:
        """The present weights as a forecaster: levels and their distribution from any period of the series on."""
        ...

    def describe(self) -> str:
        """The network in words."""
        ...

    def uncertainty(self, n_steps: int) -> str:
        """Where the forecaster's distributions come from, in words."""
        ...


def make_learner(series: RelationalSeries, recipe: Recipe, group: Group | None = None) -> Learner:
    """The learner a recipe asks for; with a group, one that shares its batches with the group's other processes."""
    if group is not None:
        if recipe.model.network == "dyad":
            raise TRNNError(
                "Several processes train a tensorial network together. Got a dyad network under torchrun; train it in"
                " one process."
            )
        from trnn_core.training.shared_learner import SharedLearner

        return SharedLearner(series, recipe, group)
    if recipe.model.network == "dyad":
        from trnn_core.training.dyad_learner import DyadLearner

        return DyadLearner(series, recipe)
    from trnn_core.training.tensor_learner import TensorLearner

    return TensorLearner(series, recipe)
