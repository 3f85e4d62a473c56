"""One pair's forecast by the recommended model in torch, so that it can be differentiated by the recent past.

The formulas are those of `models/channels.py` and `models/features.py`; they are given the terms of one pair, whose
moving averages are sums of the recent periods with fixed weights on top of what the older periods left. Channels
without a derivative (whether a relation was active at all, the season) are held as they were.

Dimension letters: B histories, R recent periods, L periods of the window, N actors, K actions, F channels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

import numpy as np
import torch
from torch import Tensor

from trnn_core.data import relations
from trnn_core.data.relations import Array
from trnn_core.data.series import RelationalSeries
from trnn_core.models.dyad_network import corrections
from trnn_core.models.features import columns
from trnn_core.models.noise import _LOG_SIZE, CountNoise
from trnn_core.models.panel import _ACTIVITY, Panel
from trnn_core.models.recommended import _CLIP, Recommended
from trnn_core.models.terms import Terms, What

Both = dict[What, Array]  # the same of levels and of values


class PairTerms(Terms):
    """The terms (B, n, K) of one pair in the last n periods, from recent tensors (B, R, N, N, K) and the whole arrays
    (T, N, N, K) that they continue."""

    least_root = 1e-12  # at zero the derivative of a root has no end

    def __init__(self, recent: Both, whole: Both, pair: tuple[int, int], counts: bool, n: int) -> None:
        self.recent, self.whole, self.pair, self.counts, self.n = recent, whole, pair, counts, n
        self.n_actors, self.n_actions = recent["level"].shape[-2:]
        self._order: list[int] | None = None  # which action's term stands in the place of each
        self._averages: dict[tuple[str, What, float], Tensor] = {}

    def own(self, what: What, alpha: float | None = None) -> Tensor:
        i, j = self.pair
        found = self._of("own", what, alpha, lambda x: x[..., i, j, :])
        return found if self._order is None else found[..., self._order]

    def reciprocal(self, what: What, alpha: float | None = None) -> Tensor:
        i, j = self.pair
        return self._of("reciprocal", what, alpha, lambda x: x[..., j, i, :])

    def before(self, lag: int) -> Tensor:
        i, j = self.pair
        end = self.recent["level"].shape[1] - lag
        return self.recent["level"][:, end - self.n : end, i, j]

    def total(self, who: str, what: What, alpha: float | None = None) -> Tensor:
        i, j = self.pair
        sums = relations.TOTALS[who]
        return self._of(who, what, alpha, lambda x: sums(relations.around(x, who, i, j))[..., 0, 0, :])

    def common_partners(self, alpha: float) -> Tensor:
        mine, theirs = (self._ties(actor, alpha) for actor in self.pair)
        return relations.common_partners(mine, theirs)[..., 0, 0, :]

    def others(self) -> Sequence[Terms]:
        """The m-th has in the place of every action the m-th of its others."""
        found = []
        for m in range(self.n_actions - 1):
            other = copy(self)
            other._order = [m if m < k else m + 1 for k in range(self.n_actions)]
            found.append(other)
        return found

    def _ties(self, actor: int, alpha: float) -> Tensor:
        """What a country and everybody did to each other, (B, n, 1, N, K)."""
        sent = self._of(f"{actor} sent", "level", alpha, lambda x: x[..., actor, :, :])
        received = self._of(f"{actor} received", "level", alpha, lambda x: x[..., :, actor, :])
        return (sent + received)[..., None, :, :]

    def _of(self, name: str, what: What, alpha: float | None, pick: Callable[[Array], Array]) -> Tensor:
        if alpha is None:
            return pick(self.recent[what])[:, -self.n :]
        if (name, what, alpha) not in self._averages:
            average = relations.ewma_of_last(pick(self.recent[what]), pick(self.whole[what]), alpha, self.n)
            self._averages[name, what, alpha] = average
        return self._averages[name, what, alpha]


class CellModel:
    """The expected levels (B, K) of one pair, from recent levels (B, R, N, N, K) up to one origin."""

    def __init__(
        self, model: Recommended, series: RelationalSeries, pair: tuple[int, int], origin: int, reach: int
    ) -> None:
        self.model, self.pair, self.origin, self.reach = model, pair, origin, reach
        self.panel = Panel.of(series.select(periods=slice(0, origin + 1)))
        self.window = model.plan.window
        off = self.panel.cells[..., None]
        self._whole: Both = {
            "value": np.where(off, self.panel.values, 0.0).astype(np.float64),
            "level": np.where(off, self.panel.level, 0.0).astype(np.float64),
        }
        self._off = torch.from_numpy(off.astype(np.float64))
        self._given: dict[int, np.ndarray] = {}

    def __call__(self, pasts: Tensor, step: int) -> Tensor:
        level = pasts.double() * self._off
        recent: Both = {"level": level, "value": torch.expm1(level) if self.panel.counts else level}
        present = self._terms(recent, 1)
        now, course = self._channels(recent, present, step)
        way = self._highway(present, step)  # (B, 3, K)
        inputs = torch.cat([now, way], dim=1)
        centre, spread = (
            torch.from_numpy(np.asarray(x, dtype=np.float64)) for x in (self.model._centre, self.model._spread)
        )
        inputs = ((inputs - centre) / spread).clamp(-_CLIP, _CLIP)
        recurrent = list(self.model._channels(self.panel).recurrent)
        course = ((course - centre[recurrent]) / spread[recurrent]).clamp(-_CLIP, _CLIP)
        outputs = [m(course.float(), inputs.float()) for m in self.model.members]
        correction = torch.stack([corrections(o) for o in outputs]).double().mean(0)
        whole = way + self.model._shares[step] * correction
        return torch.log1p(torch.exp(whole[:, 0])) if self.panel.counts else whole[:, 2]

    def _terms(self, recent: Both, n: int) -> PairTerms:
        return PairTerms(recent, self._whole, self.pair, self.panel.counts, n)

    def _channels(self, recent: Both, present: PairTerms, step: int) -> tuple[Tensor, Tensor]:
        """Present channels (B, F, K), and the course of the recurrent ones (B, L, R, K), in the order of `Channels`."""
        n = min(self.window, self.panel.n_periods)
        over_time, fixed = self._terms(recent, n), self._fixed(step)
        now, course = [], []
        for place, channel in enumerate(self.model._channels(self.panel).channels):
            if channel.held:
                now.append(torch.from_numpy(fixed[place]).expand(len(recent["level"]), -1))
            elif channel.recurrent:
                course.append(channel.formula(over_time))
                now.append(course[-1][:, -1])
            else:
                now.append(channel.formula(present)[:, -1])
        stacked = torch.stack(course, dim=2)  # (B, n, R, K)
        if n < self.window:
            stacked = torch.cat([stacked[:, :1].expand(-1, self.window - n, -1, -1), stacked], dim=1)
        return torch.stack(now, dim=1), stacked

    def _fixed(self, step: int) -> np.ndarray:
        """All channels of the pair as they were, (F, K): for those held fixed."""
        if step not in self._given:
            at = self.model._channels(self.panel).at(np.array([self.origin]), step)[0]
            self._given[step] = at[self.pair].astype(np.float64)
        return self._given[step]

    def _highway(self, present: PairTerms, step: int) -> Tensor:
        """Log mean, log size and level of the linear model, (B, 3, K)."""
        ar = self.model._highway
        found = [column[:, -1] for column in columns(ar.features, present)]  # (B, K) each
        x = torch.stack([*found, torch.ones_like(found[0])], dim=-1)  # (B, K, P)
        weights = torch.from_numpy(np.asarray(ar.weights[step], dtype=np.float64))  # (K, P)
        level = torch.stack([x[:, k] @ w for k, w in enumerate(weights)], dim=-1)  # (B, K)
        noise = ar._noise[step]
        if not isinstance(noise, CountNoise):
            quiet = torch.log(torch.from_numpy(self.panel.activity[-1][self.pair].astype(np.float64)) + noise.floor)
            log_sd = (noise.coefs[0] + noise.coefs[1] * quiet).clamp_min(float(np.log(noise.floor)))
            return torch.stack([level, log_sd.expand_as(level), level], dim=1)
        mean, size = spread_of(noise, level, present.own("value", _ACTIVITY)[:, -1])
        return torch.stack([mean, size, level], dim=1)


def spread_of(noise: CountNoise, level: Tensor, activity: Tensor) -> tuple[Tensor, Tensor]:
    """Log mean and log size, as `CountNoise.distribution` gives them."""
    held = noise.distribution(level.detach().numpy(), activity.detach().numpy())
    step = 1e-4
    base = [np.log(np.maximum(held.mean, 1e-9)), np.clip(np.log(held.size), *_LOG_SIZE)]  # type: ignore[union-attr]
    slopes = []
    for move in (level, activity):
        ends = []
        for sign in (1.0, -1.0):
            shifted = [x.detach().numpy() + (sign * step if x is move else 0.0) for x in (level, activity)]
            d = noise.distribution(*shifted)
            ends.append([np.log(np.maximum(d.mean, 1e-9)), np.clip(np.log(d.size), *_LOG_SIZE)])  # type: ignore[union-attr]
        slopes.append([(a - b) / (2 * step) for a, b in zip(*ends, strict=True)])
    out = []
    for place in range(2):
        moved = [torch.from_numpy(slopes[m][place]) * (x - x.detach()) for m, x in enumerate((level, activity))]
        out.append(torch.from_numpy(base[place]) + moved[0] + moved[1])
    return out[0], out[1]
