"""View: a trained model as one function from the recent past to the coming periods, which can be differentiated.

Pasts and answers are *levels*: log(1 + count) for counts, the value itself for other series, and the probability of any
event for a network that forecasts only that. Every question of this room is asked of a view, whatever model is behind
it.

Dimension letters: B histories, T periods, H steps ahead, N actors, K actions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from trnn_core.data.designs import LONG_MEMORY, parse_slice, stack_slices, warm_up
from trnn_core.data.relations import fill_forward
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.insight.curves import LevelCurve
from trnn_core.models.baselines.base import LevelForecaster
from trnn_core.models.network import TensorNetwork
from trnn_core.training.network_forecaster import network_forecaster
from trnn_core.training.predictor import MEMORY, Predictor
from trnn_core.training.prepare import Prepared

_AT_ONCE = 32  # histories looked at together
Nudge = Callable[[np.ndarray, float], np.ndarray]


class View(Protocol):
    """What a model must offer to be questioned.

    series      what it was trained on
    forecaster  the same model, with the distributions around its levels
    reach       how many past periods can be changed to some effect
    unseen      the first period that it did not learn from
    """

    series: RelationalSeries
    forecaster: LevelForecaster
    reach: int
    unseen: int

    @property
    def unit(self) -> str: ...

    def past(self, origin: int) -> Tensor:
        """Levels (T, N, N, K) of the `reach` periods up to the origin, gaps filled."""
        ...

    def cell_levels(self, pasts: Tensor, cell: tuple[int, int, int], step: int, origin: int) -> Tensor:
        """Pasts (B, T, N, N, K) -> the expected level of one cell `step` periods ahead, (B,), differentiable."""
        ...

    def answers(self, origins: np.ndarray, last: np.ndarray, horizon: int) -> np.ndarray:
        """Expected levels (O, H, N, N, K) when the period of each origin had the levels `last` (O, N, N, K) instead."""
        ...

    def expected(self, weeks: np.ndarray) -> np.ndarray:
        """Expected levels (W, N, N, K) of some periods, each from the periods before it."""
        ...

    def values(self, levels: np.ndarray) -> np.ndarray:
        """From levels to counts, values or probabilities."""
        ...


class NetworkView:
    """The view of a TensorNetwork with the data it was trained on."""

    def __init__(self, network: TensorNetwork, prepared: Prepared) -> None:
        self.network, self.prepared = network.eval().cpu(), prepared
        self._link = prepared.likelihood.link
        self.predictor = Predictor(network, prepared)
        self.series, self.unseen = prepared.series, prepared.split.train.stop
        self.counts = prepared.series.source.kind == "count"
        self.dtype = prepared.inputs.dtype
        self.curve = LevelCurve(prepared.transform, self.counts, self.dtype)
        self.length = prepared.data.window + MEMORY * (prepared.data.design == "single-series")
        self._slices = [parse_slice(s) for s in prepared.data.slices]
        slow = any(s.time in LONG_MEMORY for s in self._slices)
        self.reach = self.length + warm_up(prepared.data.slices) + MEMORY * slow
        self.forecaster: LevelForecaster = network_forecaster(network, prepared)
        self.look_at(prepared.series)

    def look_at(self, series: RelationalSeries) -> None:
        """Take the past from another series of the same cells."""
        filled = fill_forward(series.values, series.observed).astype(np.float64)
        self.series = series
        self._levels = np.log1p(np.maximum(filled, 0.0)) if self.counts else filled

    @property
    def unit(self) -> str:
        if self._link.chance:
            return "probability of any event"
        return f"events per {self.series.period}" if self.counts else "value"

    def past(self, origin: int) -> Tensor:
        if not self.length - 1 <= origin < len(self.series):
            raise TRNNError(
                f"A forecast must start after period {self.length} to {len(self.series)} of the series. Got period"
                f" {origin + 1} instead."
            )
        rows = np.maximum(
            np.arange(origin + 1 - self.reach, origin + 1), 0
        )  # the first period stands for all before it
        return torch.from_numpy(self._levels[rows]).to(self.dtype)

    def cell_levels(self, pasts: Tensor, cell: tuple[int, int, int], step: int, origin: int) -> Tensor:
        i, j, k = cell
        return self.levels(pasts, step)[:, step - 1, i, j, k]

    @torch.no_grad()
    def answers(self, origins: np.ndarray, last: np.ndarray, horizon: int) -> np.ndarray:
        found = []
        for part in np.array_split(np.arange(len(origins)), -(-len(origins) // _AT_ONCE)):
            pasts = torch.stack([self.past(int(t)) for t in origins[part]])
            pasts[:, -1] = torch.from_numpy(last[part]).to(self.dtype)
            found.append(self.levels(pasts, horizon).numpy().astype(np.float64))
        return np.concatenate(found)

    def expected(self, weeks: np.ndarray) -> np.ndarray:
        last = np.stack([self._levels[t - 1] for t in weeks])
        return self.answers(weeks - 1, last, 1)[:, 0]

    def levels(self, past: Tensor, horizon: int = 1) -> Tensor:
        """(B, T, N, N, K) -> expected levels (B, H, N, N, K); each step is read as if it had happened."""
        return self._to_level(self.points(past, horizon))

    def points(self, past: Tensor, horizon: int) -> Tensor:
        """The same on the model's own scale."""
        seen, answers = self._seen(past.shape[1]), []
        for _ in range(horizon):
            point = self._point(past, seen)
            answers.append(point)
            past = torch.cat([past[:, 1:], self._as_history(self._to_level(point), past)[:, None]], dim=1)
            seen = torch.cat([seen[1:], torch.ones_like(seen[:1])])
        return torch.stack(answers, dim=1)

    def values(self, levels: np.ndarray) -> np.ndarray:
        return np.expm1(levels) if self.counts and not self._link.chance else np.asarray(levels)

    def spread(self) -> np.ndarray:
        """The usual variation (N, N, K) of each cell's level over the periods learnt from; 0 where it never moves."""
        return self._levels[: self.unseen].std(axis=0)

    @torch.no_grad()
    def nudger(self, pasts: Tensor) -> Nudge:
        """How the period after each past (B, T, N, N, K) answers when its last one is moved up and down.

        The function given back takes directions (B, N, N, K) and a size, both in usual variations of each cell on the
        network's own scale, and answers in usual variations per unit, (B, N, N, K).
        """
        z, seen, usual = self.curve.forward(pasts), self._seen(pasts.shape[1]), self._own_spread
        # Only the last period is moved: what the network made of the ones before is computed once.
        before = self._inputs(z, self.curve.value(pasts), seen)[:, -self.length : -1]
        state = self.network.cell(before)[1] if self.length > 1 else None
        # Count likelihoods answer with log rates: those are compared as they are, cell by cell.
        scale = usual if self._link.transformed else np.ones_like(usual)

        @torch.no_grad()
        def nudge(direction: np.ndarray, size: float) -> np.ndarray:
            step = torch.from_numpy(direction * size * usual).to(self.dtype)
            answers = []
            for sign in (1.0, -1.0):
                moved = torch.cat([z[:, :-1], z[:, -1:] + sign * step[:, None]], dim=1)
                inputs = self._inputs(moved, self.curve.value(self.curve.backward(moved)), seen)
                answers.append(self.network(inputs[:, -1:], state=state)[0])
            change = (answers[0] - answers[1]).numpy().astype(np.float64)
            return change / (2 * size) / np.where(scale > 0, scale, 1.0)

        return nudge

    @cached_property
    def _own_spread(self) -> np.ndarray:
        train = self.curve.forward(torch.from_numpy(self._levels[: self.unseen]).to(self.dtype))
        return train.numpy().astype(np.float64).std(axis=0)

    def _seen(self, n_periods: int) -> Tensor:
        rows = np.maximum(np.arange(len(self.series) - n_periods, len(self.series)), 0)
        return torch.from_numpy(self.series.observed[rows])

    def _point(self, past: Tensor, seen: Tensor) -> Tensor:
        """One step on the model's own scale, as `Predictor` gives it, (B, N, N, K)."""
        inputs = self._inputs(self.curve.forward(past), self.curve.value(past), seen)
        raw, _ = self.network(inputs[:, -self.length :])
        return self._link.point(raw)

    def _inputs(self, z: Tensor, counts: Tensor, seen: Tensor) -> Tensor:
        return stack_slices(z, counts, seen, self._slices, diagonal=self.series.source.diagonal, axis=1)

    def _to_level(self, point: Tensor) -> Tensor:
        return self._link.level(point, self.curve.backward)

    def _as_history(self, level: Tensor, past: Tensor) -> Tensor:
        """What an answer counts as once it is read as the past; the unlearnt diagonal repeats its last period."""
        if self._link.chance:
            usual = torch.from_numpy(self.predictor.mean_when_active()).to(self.dtype)
            level = torch.log1p(level * usual) if self.counts else level * usual
        if self.prepared.diagonal:
            return level
        own = torch.eye(level.shape[1], dtype=torch.bool)[None, :, :, None]
        return torch.where(own, past[:, -1], level)
