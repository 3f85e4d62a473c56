"""Recommended: the relational autoregression with a dyad-shared tGRU on top, and a count likelihood; a small ensemble.

The linear model and its negative binomial noise are the start: the network begins exactly there and learns
corrections of the log mean and the log size by likelihood, and of the level by squared error. The point forecast is the
expected log(1 + count) of the corrected distribution.

Dimension letters: O origins, T periods, P pairs, F channels, L steps of a window, N sources, M targets, K actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch

from trnn_core.data.series import Period, RelationalSeries
from trnn_core.models.baselines.level_forecaster import LevelForecaster
from trnn_core.models.channels import Channels
from trnn_core.models.distributions import Distribution, NegativeBinomial
from trnn_core.models.dyad_network import DyadNetwork
from trnn_core.models.dyad_training import Member, Rows, TrainingPlan, joint_correction, make_members
from trnn_core.models.features import AR_FEATURES
from trnn_core.models.linear import LinearStart
from trnn_core.models.model_config import DYAD_PERIODS
from trnn_core.models.panel import Panel

_START = 20  # periods before this have hardly any past
_BLOCK = 16  # periods whose channels are in memory at once
_BUDGET = 300_000_000  # numbers kept for training; beyond it a random part of the dyads is learnt from
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
_CLIP = 6.0


@dataclass(frozen=True)
class Parts:
    """What the model is made of; parts are taken away only to see what each is worth."""

    relational: bool = True  # whether channels and linear model see other dyads than the own one and its reverse

    def linear(self) -> LinearStart:
        return LinearStart() if self.relational else LinearStart(AR_FEATURES)


class Recommended(LevelForecaster):
    """tGRU corrections to a relational autoregression, weights shared by all dyads.

    `fit` trains it in one go. `begin` hands out the members for somebody else to train step by step; their networks are
    those the model forecasts with at any time.
    """

    name = "recommended"
    min_periods = DYAD_PERIODS

    def __init__(self, n_members: int = 3, plan: TrainingPlan | None = None, parts: Parts | None = None) -> None:
        super().__init__()
        self.n_members, self.plan, self.parts = n_members, plan or TrainingPlan(), parts or Parts()
        self.members: list[DyadNetwork] = []
        self._in_training: list[Member] = []
        self.linear: LinearStart = self.parts.linear()
        self._period: Period = "week"
        self._centre, self._spread, self._unit = np.zeros(0), np.ones(0), np.ones(0)
        self._shares: dict[int, float] = {1: 1.0}
        self._known: list[tuple[Panel, Channels]] = []

    def fit(self, series: RelationalSeries) -> Self:
        members = self.begin(series)
        for epoch in range(1, self.plan.epochs + 1):
            for member in members:
                for rows in member.schedule.rows(member.number, member.schedule.steps(epoch)):
                    member.gradient(rows)
                    member.update()
        self.end()
        return self

    def begin(self, series: RelationalSeries) -> list[Member]:
        """Learn all but the networks: linear model, noise, scaling; the untrained members with their data."""
        self.check_length(series)
        self.linear = self.parts.linear().fit(series)
        self._period = series.period
        super().fit(series)
        return self._in_training

    def end(self) -> None:
        """Let go of the training data once the members are trained."""
        self._in_training = []

    def _learn(self, panel: Panel) -> None:
        self._shares, self._known = {1: 1.0}, []
        first = min(_START, panel.n_periods // 3)
        origins = np.arange(first, panel.n_periods - 1)
        pairs = self._some_pairs(panel, len(origins))
        inputs, linear = self._inputs(panel, origins, 1, pairs)  # (T, P, F, K), (T, P, 3, K)
        self._centre, self._spread = inputs.mean((0, 1)), inputs.std((0, 1))
        self._spread += 1e-3 if panel.counts else 1e-4 * np.abs(self._centre) + 1e-30  # values may be of any scale
        self._unit = self._level_unit(panel, origins, pairs, linear)
        self._in_training = make_members(self._rows(panel, origins, pairs, inputs, linear), self.plan, self.n_members)
        self.members = [member.network for member in self._in_training]

    def held_rows(self, series: RelationalSeries, first: int) -> Rows:
        """The periods of a series from `first` on as rows, to see how well the members forecast what they never saw."""
        panel = Panel.of(series)
        origins = np.arange(max(first - self.plan.window, 0), panel.n_periods - 1)
        pairs = self._some_pairs(panel, len(origins))
        return self._rows(panel, origins, pairs, *self._inputs(panel, origins, 1, pairs))

    def _rows(
        self, panel: Panel, origins: np.ndarray, pairs: np.ndarray, inputs: np.ndarray, linear: np.ndarray
    ) -> Rows:
        _standardise(inputs, self._centre, self._spread)
        targets = _pick((panel.values if panel.counts else panel.level)[origins + 1], pairs)
        observed = _pick(panel.observed[origins + 1], pairs)
        tensors = [torch.from_numpy(np.ascontiguousarray(x)) for x in (inputs, linear, targets, observed)]
        unit = torch.from_numpy(self._unit.astype(np.float32))
        return Rows(tensors[0], tensors[1], tensors[2], tensors[3], self._channels(panel).recurrent, panel.counts, unit)

    @staticmethod
    def _level_unit(panel: Panel, origins: np.ndarray, pairs: np.ndarray, linear: np.ndarray) -> np.ndarray:
        """(K,): 1 for counts; values have no scale of their own, so they are measured by the linear model's usual
        error."""
        if panel.counts:
            return np.ones(panel.level.shape[-1])
        error = _pick(panel.level[origins + 1], pairs) - linear[:, :, 2].astype(float)
        observed = _pick(panel.observed[origins + 1], pairs)
        spread = np.sqrt(np.where(observed, error**2, 0.0).sum((0, 1)) / np.maximum(observed.sum((0, 1)), 1))
        return np.where(spread > 0, spread, 1.0)

    def attach(self, series: RelationalSeries) -> Self:
        """Give a model that was saved its training periods back, so that it can learn how to look further ahead."""
        self._check_labels(series)
        self._train = self.linear._train = self.linear._learnt = Panel.of(series)
        return self

    def _levels(self, panel: Panel, origins: np.ndarray, step: int) -> np.ndarray:
        return self._corrected(panel, origins, step)[2]

    def _predict(self, panel: Panel, origins: np.ndarray, step: int) -> tuple[np.ndarray, Distribution]:
        if not panel.counts:
            return super()._predict(panel, origins, step)
        log_mean, log_size, _ = self._corrected(panel, origins, step)
        distribution = NegativeBinomial(np.exp(log_mean), np.exp(log_size))
        return distribution.expected_log1p(), distribution

    def _corrected(self, panel: Panel, origins: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log mean, log size and level, (O, N, M, K) each; further steps take the share of the correction that held."""
        if step not in self._shares:
            self._shares[step] = self._fit_share(step)
        linear, correction = self._run(panel, origins, step)
        corrected = linear + self._shares[step] * correction
        return corrected[..., 0, :], corrected[..., 1, :], corrected[..., 2, :]

    def _run(self, panel: Panel, origins: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray]:
        """The linear forecast and the members' mean correction, (O, N, M, 3, K) each."""
        window, pairs = self.plan.window, np.arange(panel.cells.size)
        recurrent = list(self._channels(panel).recurrent)
        starts, added = [], []
        for part in np.array_split(origins, -(-len(origins) // _BLOCK)):
            periods = np.arange(max(part.min() - window + 1, 0), part.max() + 1)
            inputs, linear = self._inputs(panel, periods, step, pairs)
            _standardise(inputs, self._centre, self._spread)
            steps = np.maximum(part[:, None] + np.arange(1 - window, 1), 0) - periods[0]  # (O, L)
            course = inputs[:, :, recurrent][steps].swapaxes(1, 2)  # (O, P, L, R, K)
            course, now = (torch.from_numpy(x.reshape(-1, *x.shape[2:])) for x in (course, inputs[part - periods[0]]))
            starts.append(linear[part - periods[0]])
            added.append(joint_correction(self.members, course, now).numpy())
        shape = (len(origins), *panel.cells.shape, 3, panel.level.shape[-1])
        return np.concatenate(starts).reshape(shape).astype(float), np.concatenate(added).reshape(shape)

    def _inputs(self, panel: Panel, periods: np.ndarray, step: int, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Channels with the linear forecast's three numbers behind them (T, P, F, K), and those alone (T, P, 3, K)."""
        channels, inputs, starts = self._channels(panel), [], []
        for part in np.array_split(periods, -(-len(periods) // _BLOCK)):
            level, spread = self.linear._predict(panel, part, step)
            size = spread.size if isinstance(spread, NegativeBinomial) else np.sqrt(spread.variance)
            mean = np.log(np.maximum(spread.mean, 1e-9)) if panel.counts else level
            start = _pick(np.stack([mean, np.log(size), level], axis=-2), pairs).astype(np.float32)
            inputs.append(np.concatenate([_pick(channels.at(part, step), pairs), start], axis=-2))
            starts.append(start)
        return np.concatenate(inputs), np.concatenate(starts)

    def _channels(self, panel: Panel) -> Channels:
        """Those of the training panel and of the panel last asked about are kept: every step ahead needs both."""
        for known, channels in self._known:
            if known is panel:
                return channels
        made = Channels(panel, self._period, self.parts.relational)
        self._known = [*(k for k in self._known if k[0] is self._train), (panel, made)]
        return made

    def _some_pairs(self, panel: Panel, n_periods: int) -> np.ndarray:
        """Flat positions of all pairs, or of as many at random as memory allows."""
        pairs = np.flatnonzero(panel.cells)
        per_pair = n_periods * (len(self._channels(panel).names) + 3) * panel.level.shape[-1]
        n_kept = max(50, _BUDGET // per_pair)
        if n_kept < len(pairs):
            chosen = np.random.default_rng(self.plan.seed).choice(len(pairs), n_kept, replace=False)
            pairs = pairs[np.sort(chosen)]
        return pairs

    def _fit_share(self, step: int) -> float:
        """How much of a correction still holds `step` periods ahead: the likeliest share over recent training
        periods."""
        panel = self._training_panel(step)
        last = panel.n_periods - 1 - step
        origins = np.unique(np.linspace(max(last - 160, min(_START, last)), last, 32).astype(int))
        linear, correction = self._run(panel, origins, step)
        use = panel.observed[origins + step] & panel.cells[..., None]
        targets = panel.values[origins + step]
        losses = []
        for share in _SHARES:
            log_mean, log_size, level = np.moveaxis(linear + share * correction, -2, 0)
            if panel.counts:
                log_likelihood = NegativeBinomial(np.exp(log_mean), np.exp(log_size)).log_probability(targets)
                losses.append(-log_likelihood[use].mean())
            else:
                losses.append(((level - panel.level[origins + step]) ** 2)[use].mean())
        return _SHARES[int(np.argmin(losses))]


def _pick(x: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """(T, N, M, ...) -> (T, P, ...) for flat positions of pairs."""
    return x.reshape(len(x), -1, *x.shape[3:])[:, pairs]


def _standardise(inputs: np.ndarray, centre: np.ndarray, spread: np.ndarray) -> None:
    """In place: training mean 0 and spread 1 per channel and action, held within a few spreads."""
    inputs -= centre
    inputs /= spread
    np.clip(inputs, -_CLIP, _CLIP, out=inputs)
