"""One pair's forecast by the recommended model once more, in torch, so that it can be differentiated by the recent
past.

The channels of `models/channels.py` and the features of `models/features.py` are linear in levels or counts but for a
logarithm or a product at the end: moving averages of the recent periods are sums with fixed weights on top of what the
older periods left. Whether a relation was active at all (the two channels "share active") is held as it was, since it
has no derivative.

Dimension letters: B histories, R recent periods, L periods of the window, N actors, K actions, F channels.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from trnn_core.data.series import RelationalSeries
from trnn_core.models.dyad_network import corrections
from trnn_core.models.noise import _LOG_SIZE, CountNoise
from trnn_core.models.panel import _ACTIVITY, Panel
from trnn_core.models.recommended import _CLIP, Recommended


class CellModel:
    """The expected levels (B, K) of one pair, from recent levels (B, R, N, N, K) up to one origin."""

    def __init__(
        self, model: Recommended, series: RelationalSeries, pair: tuple[int, int], origin: int, reach: int
    ) -> None:
        self.model, self.pair, self.origin, self.reach = model, pair, origin, reach
        self.panel = Panel.of(series.select(periods=slice(0, origin + 1)))
        self.window = model.plan.window
        off = self.panel.cells[..., None]
        self._values, self._level = (
            np.where(off, x, 0.0).astype(np.float64) for x in (self.panel.values, self.panel.level)
        )
        self._off = torch.from_numpy(off.astype(np.float64))
        self._given: dict[int, np.ndarray] = {}

    def __call__(self, pasts: Tensor, step: int) -> Tensor:
        level = pasts.double() * self._off
        value = torch.expm1(level) if self.panel.counts else level
        now, course = self._channels(level, value, step)
        way = self._highway(level, value, step)  # (B, 3, K)
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

    def _average(self, x: Tensor, whole: np.ndarray, alpha: float, n: int) -> Tensor:
        """`models.panel.ewma` in the last n periods: x (B, R, ...) recent, `whole` (T, ...) as it was -> (B, n,
        ...)."""
        recent = min(self.reach, len(whole))
        older = whole[: len(whole) - recent]
        keep = 1.0 - alpha
        weights = alpha * keep ** np.arange(len(older))[::-1]
        state = torch.from_numpy(np.tensordot(weights, older, axes=1)) if len(older) else torch.zeros(whole.shape[1:])
        at = np.arange(len(whole) - n, len(whole))
        lags = at[:, None] - np.arange(len(whole) - recent, len(whole))[None, :]
        fixed = torch.from_numpy(np.where(lags >= 0, alpha * keep ** np.maximum(lags, 0), 0.0))  # (n, R)
        scale = torch.from_numpy(1.0 / (1.0 - keep ** (at + 1.0)))
        decay = torch.from_numpy(keep ** (at - len(older) + 1.0))
        tail = (1,) * (whole.ndim - 1)
        total = torch.tensordot(fixed, x[:, -recent:], dims=([1], [1])).movedim(0, 1) + decay.reshape(-1, *tail) * state
        return total * scale.reshape(-1, *tail)

    def _log(self, x: Tensor, floor: float) -> Tensor:
        return torch.log(x.clamp_min(0.0) + floor) if self.panel.counts else x

    def _channels(self, level: Tensor, value: Tensor, step: int) -> tuple[Tensor, Tensor]:
        """Present channels (B, F, K), and the course of the recurrent ones (B, L, R, K), in the order of `Channels`."""
        n = min(self.window, len(self._values))
        found = self._by_name(level, value, n)
        source = self.model._channels(self.panel)
        fixed = self._fixed(step)
        now, course = [], []
        for place, name in enumerate(source.names):
            if name in found:
                now.append(found[name][:, -1])
                if place in source.recurrent:
                    course.append(found[name])
            else:
                now.append(torch.from_numpy(fixed[place]).expand(len(level), -1))
        stacked = torch.stack(course, dim=2)  # (B, n, R, K)
        if n < self.window:
            stacked = torch.cat([stacked[:, :1].expand(-1, self.window - n, -1, -1), stacked], dim=1)
        return torch.stack(now, dim=1), stacked

    def _fixed(self, step: int) -> np.ndarray:
        """All channels of the pair as they were, (F, K): for those held fixed (activity as such, season)."""
        if step not in self._given:
            at = self.model._channels(self.panel).at(np.array([self.origin]), step)[0]
            self._given[step] = at[self.pair].astype(np.float64)
        return self._given[step]

    def _by_name(self, level: Tensor, value: Tensor, n: int) -> dict[str, Tensor]:
        """Channels that move with the recent past, (B, n, K) each."""
        i, j = self.pair
        log = self._log
        own, back = (level[:, -n:, i, j], level[:, -n:, j, i])
        found = {"level": own, "reciprocal level": back}
        for lag in (1, 2, 3):
            found[f"level {lag} back"] = level[:, -1 - lag : -lag, i, j]
        for a in (0.5, 0.3, 0.1, 0.03, 0.01):
            found[f"mean level {a}"] = self._average(level[:, :, i, j], self._level[:, i, j], a, n)
        counts = {a: self._average(value[:, :, i, j], self._values[:, i, j], a, n) for a in (0.3, 0.1, 0.03, 0.01)}
        found |= {f"mean count {a}": log(x, 0.2 * a**0.66) for a, x in counts.items()}
        found["reciprocal mean level"] = self._average(level[:, :, j, i], self._level[:, j, i], 0.3, n)
        for a, floor in ((0.1, 0.03), (0.03, 0.02)):
            found[f"reciprocal mean count {a}"] = log(
                self._average(value[:, :, j, i], self._values[:, j, i], a, n), floor
            )
        if not self.model.parts.relational:
            return found
        sums = {
            "sender": (value[:, :, i].sum(2), self._values[:, i].sum(1)),
            "receiver": (value[:, :, :, j].sum(2), self._values[:, :, j].sum(1)),
            "world": (value.sum((2, 3)), self._values.sum((1, 2))),
        }
        for who, (recent, whole) in sums.items():
            mean = {a: self._average(recent, whole, a, n) for a in (0.3, 0.1, 0.03)}
            found[f"{who} news"] = log(recent[:, -n:], 1.0) - log(mean[0.1], 1.0)
            found[f"{who} trend"] = log(mean[0.3], 0.5) - log(mean[0.03], 0.5)
            found[f"{who} activity"] = log(mean[0.1], 0.5)
        found["sender as receiver"] = log(
            self._average(value[:, :, :, i].sum(2), self._values[:, :, i].sum(1), 0.1, 1), 0.5
        )
        found["receiver as sender"] = log(self._average(value[:, :, j].sum(2), self._values[:, j].sum(1), 0.1, 1), 0.5)
        both = [self._ties(level, x) for x in (i, j)]
        paths = (both[0] * both[1]).sum(1, keepdim=True) / level.shape[2]
        found["common partners"] = torch.sqrt(paths.clamp_min(1e-12))
        return found

    def _ties(self, level: Tensor, x: int) -> Tensor:
        """Slow levels of a country to and from everybody, (B, N, K)."""
        sent = self._average(level[:, :, x], self._level[:, x], 0.1, 1)[:, 0]
        got = self._average(level[:, :, :, x], self._level[:, :, x], 0.1, 1)[:, 0]
        return sent + got

    def _highway(self, level: Tensor, value: Tensor, step: int) -> Tensor:
        """Log mean, log size and level of the linear model, (B, 3, K)."""
        ar = self.model._highway
        features = self._features(level, value)
        columns = []
        for k in range(level.shape[-1]):
            names = []
            for name in ar.features:
                names += [features[name][..., k]] if name in features else features_of_others(features, k)
            x = torch.stack([*names, torch.ones_like(names[0])], dim=-1)  # (B, P)
            columns.append(x @ torch.from_numpy(np.asarray(ar.weights[step][k], dtype=np.float64)))
        found = torch.stack(columns, dim=-1)  # (B, K)
        noise = ar._noise[step]
        i, j = self.pair
        if not isinstance(noise, CountNoise):
            quiet = torch.log(torch.from_numpy(self.panel.activity[-1, i, j].astype(np.float64)) + noise.floor)
            log_sd = (noise.coefs[0] + noise.coefs[1] * quiet).clamp_min(float(np.log(noise.floor)))
            return torch.stack([found, log_sd.expand_as(found), found], dim=1)
        activity = self._average(value[:, :, i, j], self._values[:, i, j], _ACTIVITY, 1)[:, 0]
        mean, size = spread_of(noise, found, activity)
        return torch.stack([mean, size, found], dim=1)

    def _features(self, level: Tensor, value: Tensor) -> dict[str, Tensor]:
        """The features of `models/features.py` at the origin, (B, K) each; "now" and "slow" serve the other actions."""
        i, j = self.pair
        n, others = level.shape[2], max(level.shape[2] - 1, 1)

        def mean(x: Tensor, whole: np.ndarray, alpha: float = 0.1) -> Tensor:
            return self._average(x, whole, alpha, 1)[:, 0]

        now, slow = level[:, -1, i, j], mean(level[:, :, i, j], self._level[:, i, j])
        turned = mean(level[:, :, j, i], self._level[:, j, i])
        found = {"level": now, "now": now, "slow": slow, "reciprocal": level[:, -1, j, i], "reciprocal ewma .1": turned}
        found |= {f"lag {lag}": level[:, -1 - lag, i, j] for lag in (1, 2, 3)}
        found |= {
            f"ewma {a}": mean(level[:, :, i, j], self._level[:, i, j], float(a)) for a in (".3", ".1", ".03", ".01")
        }
        found["reciprocal ewma .3"] = mean(level[:, :, j, i], self._level[:, j, i], 0.3)
        count = mean(value[:, :, i, j], self._values[:, i, j])
        found["count ewma .1"] = torch.log1p(count) if self.panel.counts else count
        if "sender" in self.model._highway.features:
            pairs = float(n * (n - 1)) or 1.0
            sums = {
                "sender": (level[:, :, i].sum(2), self._level[:, i].sum(1), others),
                "receiver": (level[:, :, :, j].sum(2), self._level[:, :, j].sum(1), others),
                "world": (level.sum((2, 3)), self._level.sum((1, 2)), pairs),
            }
            for who, (recent, whole, number) in sums.items():
                found[who], found[f"{who} ewma"] = recent[:, -1] / number, mean(recent, whole) / number
            found["sender as receiver"] = mean(level[:, :, :, i].sum(2), self._level[:, :, i].sum(1)) / others
            found["receiver as sender"] = mean(level[:, :, j].sum(2), self._level[:, j].sum(1)) / others
            found["transitive"] = (self._ties(level, i) * self._ties(level, j)).sum(1) / others
            found |= {"ewma squared": slow * slow, "ewma x reciprocal": slow * turned, "level x ewma": slow * now}
        return found


def features_of_others(features: dict[str, Tensor], k: int) -> list[Tensor]:
    """What the feature "other actions" stands for: level and slow level of every other action."""
    n = features["now"].shape[-1]
    return [features[x][..., other] for other in range(n) if other != k for x in ("now", "slow")]


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
