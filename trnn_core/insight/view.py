"""View: a trained model as one function from the recent past to the coming periods, which can be differentiated.

Pasts and answers are *levels*: log(1 + count) for counts, the value itself for other series, and the probability of any
event for a network that forecasts only that. Every question of this room is asked of a view, whatever model is behind it.

Dimension letters: B histories, T periods, H steps ahead, N actors, K actions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from trnn_core.data.designs import parse_slice, warm_up
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.insight.curves import LevelCurve
from trnn_core.insight.slices import LONG_MEMORY, stack_slices
from trnn_core.models.network import TensorNetwork
from trnn_core.models.panel import fill_forward
from trnn_core.training.forecasting import LEVEL, QUANTILES, Errors, validation_errors
from trnn_core.training.predictor import MEMORY, Predictor
from trnn_core.training.prepare import COUNT_LIKELIHOODS, Prepared

Nudge = Callable[[np.ndarray, float], np.ndarray]


class View(Protocol):
    """What a model must offer to be questioned.

    series    what it was trained on
    reach     how many past periods enter a forecast
    unseen    the first period that it did not learn from
    """

    series: RelationalSeries
    reach: int
    unseen: int

    @property
    def unit(self) -> str: ...

    def past(self, origin: int | None = None) -> Tensor:
        """Levels (T, N, N, K) of the `reach` periods up to the origin (the last period), gaps filled."""
        ...

    def levels(self, past: Tensor, horizon: int = 1, errors: Tensor | None = None) -> Tensor:
        """(B, T, N, N, K) -> expected levels (B, H, N, N, K); each step is read as if it had happened.

        errors (B, H, N, N, K), on the model's own scale, are added to what is read as having happened and is answered.
        """
        ...

    def intervals(self, pasts: Tensor, horizon: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Expected events (or values) and the 90 % interval, (B, H, N, N, K) each, as the run's own forecast gives them."""
        ...

    def past_errors(self) -> np.ndarray | None:
        """One-step errors (E, N, N, K) of periods not learnt from, on the model's own scale; None where there are none."""
        ...

    def values(self, levels: np.ndarray) -> np.ndarray:
        """From levels to counts, values or probabilities."""
        ...

    def spread(self) -> np.ndarray:
        """The usual variation (N, N, K) of each cell's level over the periods learnt from; 0 where it never moves."""
        ...

    def nudger(self, pasts: Tensor) -> Nudge:
        """How the period after each past (B, T, N, N, K) answers when its last one is moved up and down.

        The function given back takes directions (B, N, N, K) and a size, both in usual variations of each cell on the
        model's own scale, and answers in usual variations per unit, (B, N, N, K).
        """
        ...


class NetworkView:
    """The view of a TensorNetwork with the data it was trained on."""

    def __init__(self, network: TensorNetwork, prepared: Prepared) -> None:
        self.network, self.prepared = network.eval(), prepared
        self.predictor = Predictor(network, prepared)
        self.series, self.unseen = prepared.series, prepared.split.train.stop
        self.counts = prepared.series.source.kind == "count"
        self.dtype = prepared.inputs.dtype
        self.curve = LevelCurve(prepared.transform, self.counts, self.dtype)
        self.length = prepared.data.window + MEMORY * (prepared.data.design == "single-series")
        slow = any(parse_slice(s).time in LONG_MEMORY for s in prepared.data.slices)
        self.reach = self.length + warm_up(prepared.data.slices) + MEMORY * slow
        self._tables: dict[int, list[Errors]] = {}
        self.look_at(prepared.series)

    def look_at(self, series: RelationalSeries) -> None:
        """Take the past from another series of the same cells."""
        filled = fill_forward(series.values, series.observed).astype(np.float64)
        self.series = series
        self._levels = np.log1p(np.maximum(filled, 0.0)) if self.counts else filled

    @property
    def unit(self) -> str:
        if self.prepared.likelihood == "cross_entropy":
            return "probability of any event"
        return f"events per {self.series.period}" if self.counts else "value"

    def past(self, origin: int | None = None) -> Tensor:
        last = len(self.series) - 1 if origin is None else origin
        if not self.length - 1 <= last < len(self.series):
            raise TRNNError(f"A forecast must start after period {self.length} to {len(self.series)} of the series. Got period {last + 1} instead.")  # fmt: skip
        rows = np.maximum(np.arange(last + 1 - self.reach, last + 1), 0)  # the first period stands for all before it
        return torch.from_numpy(self._levels[rows]).to(self.dtype)

    def levels(self, past: Tensor, horizon: int = 1, errors: Tensor | None = None) -> Tensor:
        return self._to_level(self.points(past, horizon, errors))

    def points(self, past: Tensor, horizon: int, errors: Tensor | None = None) -> Tensor:
        """The same on the model's own scale."""
        seen, answers = self._seen(past.shape[1]), []
        for h in range(horizon):
            point = self._point(past, seen)
            if errors is not None:
                point = point + errors[:, h]
            answers.append(point)
            past = torch.cat([past[:, 1:], self._as_history(self._to_level(point), past)[:, None]], dim=1)
            seen = torch.cat([seen[1:], torch.ones_like(seen[:1])])
        return torch.stack(answers, dim=1)

    @torch.no_grad()
    def intervals(self, pasts: Tensor, horizon: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        tables = self._error_tables(horizon)
        points = self.points(pasts, horizon).numpy().astype(np.float64)
        parts = [outcomes_around(self.predictor, table, points[:, h]) for h, table in enumerate(tables)]
        mean, lower, upper = (np.stack([part[i] for part in parts], axis=1) for i in range(3))
        return mean, lower, upper

    def past_errors(self) -> np.ndarray | None:
        p = self.prepared
        if p.likelihood == "cross_entropy" or not len(p.split.validation):
            return None
        targets, point = self.predictor.one_step("validation")
        errors = self.predictor.to_scale(self.series.values[targets].astype(np.float64)) - point
        return np.where(p.mask.numpy()[targets], np.nan_to_num(errors), 0.0)

    def _error_tables(self, horizon: int) -> list[Errors]:
        if horizon not in self._tables:
            self._tables[horizon] = validation_errors(self.predictor, horizon)[0]
        return self._tables[horizon]

    def values(self, levels: np.ndarray) -> np.ndarray:
        return np.expm1(levels) if self.counts and self.prepared.likelihood != "cross_entropy" else np.asarray(levels)

    def spread(self) -> np.ndarray:
        return self._levels[: self.unseen].std(axis=0)

    @torch.no_grad()
    def nudger(self, pasts: Tensor) -> Nudge:
        z, seen, usual = self.curve.forward(pasts), self._seen(pasts.shape[1]), self._own_spread
        # Only the last period is moved: what the network made of the ones before is computed once.
        before = self._inputs(z, self.curve.value(pasts), seen)[:, -self.length : -1]
        state = self.network.cell(before)[1] if self.length > 1 else None
        # Count likelihoods answer with log rates: those are compared as they are, cell by cell.
        scale = usual if self.prepared.likelihood == "squared" else np.ones_like(usual)

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
        if self.prepared.likelihood in COUNT_LIKELIHOODS:
            return torch.nn.functional.softplus(raw.clamp_max(60.0))
        return torch.sigmoid(raw) if self.prepared.likelihood == "cross_entropy" else raw

    def _inputs(self, z: Tensor, counts: Tensor, seen: Tensor) -> Tensor:
        return stack_slices(z, counts, seen, self.prepared.data.slices, self.series.source.diagonal)

    def _to_level(self, point: Tensor) -> Tensor:
        if self.prepared.likelihood == "squared":
            return self.curve.backward(point)
        return point.clamp(0.0, 1.0) if self.prepared.likelihood == "cross_entropy" else point.clamp_min(0.0)

    def _as_history(self, level: Tensor, past: Tensor) -> Tensor:
        """What an answer counts as once it is read as the past; the unlearnt diagonal repeats its last period."""
        if self.prepared.likelihood == "cross_entropy":
            usual = torch.from_numpy(self.predictor._mean_when_active()).to(self.dtype)
            level = torch.log1p(level * usual) if self.counts else level * usual
        if self.prepared.diagonal:
            return level
        own = torch.eye(level.shape[1], dtype=torch.bool)[None, :, :, None]
        return torch.where(own, past[:, -1], level)


def outcomes_around(
    predictor: Predictor, table: Errors, point: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, lower and upper end of the outcomes around points (B, N, N, K), as `training/forecasting.py` stores them."""
    around = table.at(point)  # (quantiles, B, N, N, K)
    outcomes = np.stack([predictor.to_values(z) for z in around])
    lower, upper = (outcomes[np.argmin(np.abs(table.levels - q))] for q in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    if predictor.scale == "probability":
        return predictor.to_values(point), lower, upper
    return outcomes[np.isin(table.levels, QUANTILES)].mean(axis=0), lower, upper
