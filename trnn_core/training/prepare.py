"""From a series to what a network is trained on: transform fitted on the training periods, inputs, targets, mask.

Dimension letters: T periods, N sources, M targets, K actions, B windows of a batch, L steps of a window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from trnn_core.data.designs import build_inputs, parse_slice
from trnn_core.data.series import RelationalSeries
from trnn_core.data.transforms import Transform, fit_transform
from trnn_core.data.windows import Part, Split, Windows, batches, chunks, make_windows, split_periods
from trnn_core.errors import TRNNError
from trnn_core.models.likelihoods import likelihood_of
from trnn_core.models.likelihoods.likelihood import Likelihood
from trnn_core.training.config import DataConfig, Recipe

BLOCK_CELLS = 4_000_000  # worked on at once in double precision: 32 MB for each array on the way


@dataclass(frozen=True)
class Prepared:
    """Tensors of a whole series, and where it is cut."""

    series: RelationalSeries
    data: DataConfig
    likelihood: Likelihood
    split: Split
    transform: Transform
    inputs: torch.Tensor  # (T, N, M, K_in)
    targets: torch.Tensor  # (T, N, M, K) on the scale of the loss, 0 where not scored
    mask: torch.Tensor  # (T, N, M, K) bool: cells that are scored
    input_names: tuple[str, ...]

    @property
    def input_shape(self) -> tuple[int, ...]:
        return tuple(self.inputs.shape[1:])

    @property
    def target_shape(self) -> tuple[int, ...]:
        return tuple(self.targets.shape[1:])

    @property
    def diagonal(self) -> bool:
        """Whether a country's acts towards itself are asked for and are there."""
        return self.data.diagonal and self.series.source.diagonal

    @property
    def every_step(self) -> bool:
        return self.data.design != "many-to-one"

    @property
    def entries_per_window(self) -> int:
        """Cells in the loss of one training window: the sum in eq. 15 runs over one step, in eq. 16 over all."""
        cells = int(self.mask[self.split.train.start : self.split.train.stop].any(dim=0).sum())
        return max(cells * (self.data.window if self.every_step else 1), 1)

    @property
    def loss_scale(self) -> str:
        """What the losses of this run are measured in."""
        where = "all cells" if self.diagonal else "cells off the diagonal"
        return f"{self.likelihood.loss_words.format(transform=self.data.transform)}, {where}"


def prepare(series: RelationalSeries, recipe: Recipe) -> Prepared:
    """Cut, transform and stack a series as a recipe says; nothing after the training periods shapes the transform."""
    data = recipe.data
    if data.actors or data.actions:
        series = series.select(actors=data.actors, actions=data.actions)
    split = split_periods(len(series), data.validation, data.test)
    train = slice(split.train.start, split.train.stop)
    transform = fit_transform(data.transform, series.values[train], series.observed[train])
    scored = series.observed.copy()
    if not (data.diagonal and series.source.diagonal):
        scored &= ~np.eye(series.shape[1], dtype=bool)[None, :, :, None]
    if not scored[train].any():
        raise TRNNError("The training periods must hold at least one observed cell to learn from. Got none instead.")
    inputs, targets, names = _build(series, recipe, transform, scored)
    return Prepared(
        series=series,
        data=data,
        likelihood=likelihood_of(recipe.model.likelihood),
        split=split,
        transform=transform,
        inputs=torch.from_numpy(inputs),
        targets=torch.from_numpy(targets),
        mask=torch.from_numpy(scored),
        input_names=names,
    )


def _build(
    series: RelationalSeries, recipe: Recipe, transform: Transform, scored: np.ndarray
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Inputs (T, N, M, K_in), targets (T, N, M, K) and the names of the inputs, worked out in double precision.

    Where no slice looks back and nothing is missing, a few periods at a time: a large series is never held twice over.
    """
    data, dtype = recipe.data, np.dtype("float64" if recipe.train.precision == "float64" else "float32")
    likelihood = likelihood_of(recipe.model.likelihood)
    likelihood.link.check(series, likelihood.name)
    by_period = all(parse_slice(s).time == "now" for s in data.slices) and bool(series.observed.all())
    size = max(1, BLOCK_CELLS // int(np.prod(series.shape[1:]))) if by_period else len(series)
    names: tuple[str, ...] = ()
    inputs, targets = np.empty(0), np.empty(series.shape, dtype)
    for start in range(0, len(series), size):
        block = slice(start, start + size)
        values = series.values[block].astype(np.float64)
        z = transform.apply(values)
        x, names = build_inputs(z, data.slices, actions=series.actions, counts=values, diagonal=series.source.diagonal)
        if not start:
            inputs = np.empty((len(series), *x.shape[1:]), dtype)
        inputs[block] = x
        targets[block] = np.where(scored[block], likelihood.link.targets(values, z), 0.0)
    return inputs, targets, names


@dataclass(frozen=True)
class Batch:
    """Consecutive weeks, and for each week what a window that ends there has to predict."""

    weeks: torch.Tensor  # (B + L - 1, N, M, K_in); for a single series (L, N, M, K_in)
    week_targets: torch.Tensor  # (B + L - 1, N, M, K)
    week_mask: torch.Tensor  # as week_targets
    length: int
    every_step: bool
    single: bool = False  # a stretch of a single series, read as one sequence
    carried: bool = False  # its state goes on from the stretch before

    @property
    def n_windows(self) -> int:
        return len(self.weeks) - self.length + 1

    @property
    def targets(self) -> torch.Tensor:
        """(B, N, M, K), or (B, L, N, M, K) for every step."""
        return self._by_window(self.week_targets)

    @property
    def mask(self) -> torch.Tensor:
        """Which targets count, as `targets`."""
        return self._by_window(self.week_mask)

    @property
    def n_entries(self) -> int:
        return int(self.mask.sum())

    def to(self, device: torch.device) -> Batch:
        if self.weeks.device == device:
            return self
        parts = {n: getattr(self, n).to(device) for n in ("weeks", "week_targets", "week_mask")}
        return replace(self, **parts)

    def _by_window(self, by_week: torch.Tensor) -> torch.Tensor:
        return by_week.unfold(0, self.length, 1).movedim(-1, 1) if self.every_step else by_week[self.length - 1 :]


def make_batches(prepared: Prepared, part: Part, size: int, seed: int | None = None, epoch: int = 0) -> Iterator[Batch]:
    """The batches of an epoch; with a seed their order and cuts depend on (seed, epoch) only."""
    if prepared.data.design == "single-series":
        yield from _chunk_batches(prepared, part)
        return
    windows = part_windows(prepared, part)
    for run in batches(windows, size, seed=seed, epoch=epoch):
        ahead = slice(run.periods.start + run.horizon, run.periods.stop + run.horizon)
        yield Batch(prepared.inputs[run.periods], *_scored(prepared, part, ahead), run.length, run.every_step)


def _scored(prepared: Prepared, part: Part, periods: slice) -> tuple[torch.Tensor, torch.Tensor]:
    """Targets of some periods, and their mask: only those in the part itself count."""
    inside = torch.zeros(len(prepared.mask), 1, 1, 1, dtype=torch.bool)
    inside[prepared.split[part].start : prepared.split[part].stop] = True
    return prepared.targets[periods], prepared.mask[periods] & inside[periods]


def part_windows(prepared: Prepared, part: Part) -> Windows:
    return make_windows(prepared.split, part, prepared.data.window, every_step=prepared.every_step)


def _chunk_batches(prepared: Prepared, part: Part) -> Iterator[Batch]:
    for chunk in chunks(prepared.split, part, prepared.data.window):
        weeks = prepared.inputs[chunk.inputs]
        ahead = _scored(prepared, part, chunk.targets)
        yield Batch(weeks, *ahead, len(weeks), every_step=True, single=True, carried=not chunk.fresh)
