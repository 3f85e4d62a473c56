"""Linear autoregressions pooled over dyads: one least-squares fit per action and step ahead.

Dimension letters: O origins, N sources, M targets, K actions, P features.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trnn_core.models.baselines.level_forecaster import _WARM_UP, LevelForecaster
from trnn_core.models.features import AR_FEATURES, RELATIONAL_FEATURES, Features
from trnn_core.models.panel import Panel

_BLOCK = 64  # periods whose features are in memory at once
_RIDGE = 1e-7


class Sums(NamedTuple):
    """What least squares needs of some rows: X'X (P, P), X'y (P,) and y'y."""

    gram: np.ndarray
    moment: np.ndarray
    square: float


class PooledAR(LevelForecaster):
    """Level m(t + h) = x(t) . w(h, action): own lags and moving averages, the reciprocal act, the other actions."""

    name = "ar"
    features: tuple[str, ...] = AR_FEATURES

    def __init__(self) -> None:
        super().__init__()
        self._learnt: Panel | None = None
        self._known: list[tuple[Panel, Features]] = []
        self.weights: dict[int, np.ndarray] = {}  # step -> (K, P)

    def _learn(self, panel: Panel) -> None:
        self._learnt, self.weights, self._known = panel, {}, []

    def _levels(self, panel: Panel, origins: np.ndarray, step: int) -> np.ndarray:
        if step not in self.weights:
            assert self._learnt is not None
            self.weights[step] = self._regress(self._learnt, step)
        features, out = self._features(panel), np.empty((len(origins), *panel.level.shape[1:]))
        for k, weights in enumerate(self.weights[step]):
            for block in _blocks(len(origins)):
                out[block, ..., k] = features.matrix(self.features, k, origins[block]) @ weights
        return out

    def _features(self, panel: Panel) -> Features:
        """Those of the training panel and of the panel last asked about are kept: every step ahead needs both."""
        for known, features in self._known:
            if known is panel:
                return features
        made = Features(panel)
        self._known = [*(k for k in self._known if k[0] is self._learnt), (panel, made)]
        return made

    def _regress(self, panel: Panel, step: int) -> np.ndarray:
        """Normal equations, summed over blocks of periods: (K, P)."""
        features, weights = self._features(panel), []
        origins = np.arange(min(_WARM_UP, panel.n_periods - step - 1), panel.n_periods - step)
        for k in range(panel.level.shape[-1]):
            sums = []
            for block in _blocks(len(origins), self._block_size(len(origins))):
                t = origins[block]
                used = panel.observed[t + step, ..., k] & panel.cells
                x = features.matrix(self.features, k, t)[used].astype(np.float64)
                y = panel.level[t + step, ..., k][used].astype(np.float64)
                sums.append(Sums(x.T @ x, x.T @ y, float(y @ y)))
            weights.append(self._weigh(sums))
        return np.stack(weights)

    def _block_size(self, n_origins: int) -> int:
        return _BLOCK

    def _weigh(self, sums: list[Sums]) -> np.ndarray:
        """(P,) for one action."""
        whole = total(sums)
        return _solve(whole.gram, whole.moment)


class RelationalAR(PooledAR):
    """The pooled AR with sender, receiver and world activity, a transitive term and a few products: the rival to
    beat."""

    name = "relational_ar"
    features = RELATIONAL_FEATURES


def total(sums: list[Sums]) -> Sums:
    whole, *rest = sums
    for part in rest:
        whole = Sums(whole.gram + part.gram, whole.moment + part.moment, whole.square + part.square)
    return whole


def _solve(gram: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """Least squares with features brought to one scale; a feature that never moves gets no weight."""
    scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    scaled = gram / np.outer(scale, scale) + _RIDGE * np.eye(len(gram))
    return np.linalg.solve(scaled, moment / scale) / scale


def _blocks(n: int, size: int = _BLOCK) -> list[slice]:
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]
