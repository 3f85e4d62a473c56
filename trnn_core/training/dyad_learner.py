"""The recommended model as a learner: members of an ensemble side by side, each epoch a part of a pass over the data.

The linear model, its noise and the scaling are learnt from the training periods before the first epoch; the networks
learn corrections from the same periods. The validation periods choose the best epoch and teach nothing; the test
periods are only forecast.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from torch import Tensor

from trnn_core.data.series import RelationalSeries
from trnn_core.data.windows import split_periods
from trnn_core.errors import TRNNError
from trnn_core.models.dyad_training import Member, Rows, TrainingPlan, ensemble_cost
from trnn_core.models.recommended import Recommended
from trnn_core.models.recommended_state import to_arrays
from trnn_core.training.checkpoints import Arrays
from trnn_core.training.config import Recipe
from trnn_core.training.learners import Gradient
from trnn_core.training.networks import network_arrays, set_network


class DyadLearner:
    """All members of a `Recommended`; a batch is (member, its rows)."""

    def __init__(self, series: RelationalSeries, recipe: Recipe) -> None:
        data = recipe.data
        if data.actors or data.actions:
            series = series.select(actors=data.actors, actions=data.actions)
        self.series, self.split, self.diagonal = series, split_periods(len(series), data.validation, data.test), False
        self.recipe = recipe
        self.model = Recommended(recipe.model.members, plan_of(recipe))
        train = series.select(periods=slice(0, self.split.train.stop))
        if not train.observed[:, ~np.eye(len(series.actors), dtype=bool) if len(series.actors) > 1 else [[True]]].any():
            raise TRNNError(
                "The training periods must hold at least one observed cell to learn from. Got none instead."
            )
        self.members = self.model.begin(train)
        schedule = self.members[0].schedule
        self.n_windows = len(schedule.steps(1)) * schedule.batch * len(self.members)
        self.n_parameters = sum(p.numel() for m in self.members for p in m.network.parameters())
        self.lr = schedule.rate(0)[0]
        self._last = self.members[0]

    @property
    def counts(self) -> bool:
        return self.members[0].rows.counts

    @property
    def loss_scale(self) -> str:
        if self.counts:
            return (
                "mean negative binomial log-likelihood of the counts (without their own term) plus 2.5 times the"
                " squared error of log1p, cells off the diagonal"
            )
        return (
            "2.5 times the mean squared error of the values, in units of the linear model's own in training, cells off"
            " the diagonal"
        )

    def batches(self, epoch: int, drops: int) -> list[tuple[Member, Tensor]]:
        found = []
        for member in self.members:
            steps = member.schedule.steps(epoch)
            found += [(member, rows) for rows in member.schedule.rows(member.number, steps)]
        return found

    def gradient(self, batch: tuple[Member, Tensor]) -> Gradient:
        self._last, rows = batch
        cost, norm = self._last.gradient(rows)
        return Gradient(cost, 0.0, norm, len(rows), len(rows))

    def update(self) -> None:
        self.lr = self._last.update()

    def validation_loss(self) -> float | None:
        return None if self._held is None else ensemble_cost(self.model.members, self._held, self.model.plan.window)

    def test_loss(self) -> float | None:
        if not len(self.split.test):
            return None
        rows = self.model.held_rows(self.series, self.split.test.start)
        return ensemble_cost(self.model.members, rows, self.model.plan.window)

    @cached_property
    def _held(self) -> Rows | None:
        """The validation periods, scaled as the training ones are."""
        if not len(self.split.validation):
            return None
        known = self.series.select(periods=slice(0, self.split.validation.stop))
        return self.model.held_rows(known, self.split.validation.start)

    def weights(self) -> Arrays:
        return _joined({m.number: network_arrays(m.network) for m in self.members})

    def set_weights(self, arrays: Arrays) -> None:
        for member in self.members:
            set_network(member.network, _part(arrays, member.number))

    def state(self) -> Arrays:
        return _joined({m.number: m.state() for m in self.members})

    def restore(self, arrays: Arrays) -> None:
        for member in self.members:
            member.restore(_part(arrays, member.number))

    def result(self, horizon: int) -> Arrays:
        return to_arrays(self.model, horizon)

    def forecaster(self) -> Recommended:
        return self.model

    def describe(self) -> str:
        model, n = self.recipe.model, len(self.members)
        return (
            f"{'one tGRU' if n == 1 else f'{n} tGRU'} shared by all dyads, {model.channels} hidden channels, on top of"
            f" a relational autoregression, {self.recipe.data.window} periods per window,"
            f" {'negative binomial' if self.counts else 'squared'} loss"
        )

    def uncertainty(self, n_steps: int) -> str:
        shape = "negative binomial" if self.counts else "normal"
        return (
            f"90\u00a0% intervals of the {shape} distribution the model states for each cell and step ahead, learnt"
            f" from the {len(self.split.train)} training periods"
        )


def plan_of(recipe: Recipe) -> TrainingPlan:
    """The training plan a recipe describes."""
    train = recipe.train
    return TrainingPlan(
        window=recipe.data.window,
        hidden=recipe.model.channels,
        epochs=train.epochs,
        share=train.epoch_share,
        batch=train.batch_size,
        learning_rate=train.learning_rate,
        weight_decay=train.weight_decay,
        dropout=recipe.model.dropout,
        clip_norm=train.clip_norm,
        seed=train.seed,
    )


def _joined(parts: dict[int, Arrays]) -> Arrays:
    return {f"member{i}.{name}": array for i, arrays in parts.items() for name, array in arrays.items()}


def _part(arrays: Arrays, number: int) -> Arrays:
    start = f"member{number}."
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
