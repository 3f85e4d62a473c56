"""Relational features of a panel, period by period: what a linear model of one dyad's next level may look at.

Only the present and the past enter a row. Dimension letters: T periods, N sources, M targets, K actions, P features.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from trnn_core.models.panel import Panel, ewma, lagged

AR_FEATURES = (
    "level",
    "lag 1",
    "lag 2",
    "lag 3",
    "ewma .3",
    "ewma .1",
    "ewma .03",
    "ewma .01",
    "reciprocal",
    "reciprocal ewma .1",
    "reciprocal ewma .3",
    "other actions",
)
RELATIONAL_FEATURES = (
    *AR_FEATURES,
    "count ewma .1",
    "sender",
    "sender ewma",
    "receiver",
    "receiver ewma",
    "world",
    "world ewma",
    "sender as receiver",
    "receiver as sender",
    "transitive",
    "ewma squared",
    "ewma x reciprocal",
    "level x ewma",
)


class Features:
    """Features of one panel; averages are computed once and shared by all actions and steps."""

    def __init__(self, panel: Panel) -> None:
        self.panel = panel
        self.level = panel.level
        n = panel.cells.shape[0]
        self._pairs = np.where(panel.cells, 1.0, 0.0).astype(np.float32)[..., None]  # the diagonal is nobody's relation
        self._others = max(n - 1, 1)
        self._averages: dict[float, np.ndarray] = {}

    def average(self, alpha: float) -> np.ndarray:
        if alpha not in self._averages:
            self._averages[alpha] = ewma(self.level, alpha)
        return self._averages[alpha]

    @cached_property
    def count_average(self) -> np.ndarray:
        average = ewma(self.panel.values, 0.1)
        return np.log1p(average) if self.panel.counts else average

    def matrix(self, names: tuple[str, ...], action: int, periods: np.ndarray) -> np.ndarray:
        """(len(periods), N, M, P + 1) for one action, the last feature a constant 1."""
        columns: list[np.ndarray] = []
        for name in names:
            columns += self._columns(name, action, periods)
        columns.append(np.ones_like(columns[0]))
        return np.stack(columns, axis=-1)

    def _columns(self, name: str, k: int, t: np.ndarray) -> list[np.ndarray]:
        now, slow = self.level[t, ..., k], self.average(0.1)[t, ..., k]  # (O, N, M)
        word, _, rest = name.partition(" ")
        if name == "level":
            return [now]
        if word == "lag":
            return [lagged(self.level[..., k], int(rest))[t]]
        if name.startswith("ewma ."):
            return [self.average(float(rest))[t, ..., k]]
        if name == "count ewma .1":
            return [self.count_average[t, ..., k]]
        if name == "other actions":
            others = [j for j in range(self.level.shape[-1]) if j != k]
            return [x[t, ..., j] for j in others for x in (self.level, self.average(0.1))]
        if word == "reciprocal":
            alpha = rest.removeprefix("ewma ")
            return [_turn(now if not rest else self.average(float(alpha))[t, ..., k])]
        if name in ("sender", "receiver", "world"):
            return [self._total(now, name)]
        if name in ("sender ewma", "receiver ewma", "world ewma"):
            return [self._total(slow, word)]
        if name == "sender as receiver":
            return [_turn(self._total(slow, "receiver"))]
        if name == "receiver as sender":
            return [_turn(self._total(slow, "sender"))]
        if name == "transitive":
            both = (slow + _turn(slow)) * self._pairs[..., 0]
            return [both @ both.transpose(0, 2, 1) / self._others]
        products = {"ewma squared": slow, "ewma x reciprocal": _turn(slow), "level x ewma": now}
        return [slow * products[name]]

    def _total(self, x: np.ndarray, what: str) -> np.ndarray:
        """Mean over a country's other relations as sender or receiver, or over the world; spread over (O, N, M)."""
        x = x * self._pairs[..., 0]
        if what == "sender":
            return np.broadcast_to(x.sum(2, keepdims=True) / self._others, x.shape)
        if what == "receiver":
            return np.broadcast_to(x.sum(1, keepdims=True) / self._others, x.shape)
        return np.broadcast_to(x.sum((1, 2), keepdims=True) / self._pairs.sum(), x.shape)


def _turn(x: np.ndarray) -> np.ndarray:
    """Source and target exchanged."""
    return x.transpose(0, 2, 1)
