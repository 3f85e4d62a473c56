"""Multilinear tensor regression (Hoff 2015) as a forecaster: four designs, normal scores, direct steps ahead.

Dimension letters: T periods, N sources, M targets, K actions, P explanatory slices, L lags.
"""

from __future__ import annotations

import numpy as np
from scipy import special, stats

from trnn_core.data import relations
from trnn_core.models.baselines.base import _WARM_UP, LevelForecaster
from trnn_core.models.baselines.multilinear import Additive, Multilinear, fit_additive, fit_multilinear
from trnn_core.models.panel import Panel

_LAG_MEAN = 4  # periods in the second slice of the lag mode


class RelationalMLTR(LevelForecaster):
    """Y = X x1 B1 x2 B2 x3 B3 x4 B4 + E on normal scores: direct, reciprocal and transitive slices, two lags.

    Scores are fitted on the training periods only; a cell's expected score returns to the working scale by the
    straight line that best maps its scores to its levels.
    """

    name = "mltr"
    min_periods = 40
    slices: tuple[str, ...] = ("direct", "reciprocal", "transitive")
    lags = True
    joint = True
    additive = False
    shared = False

    def __init__(self, n_sweeps: int = 25) -> None:
        super().__init__()
        self.n_sweeps = n_sweeps
        self._scores: NormalScores | None = None
        self._fitted: dict[int, list[Multilinear | Additive]] = {}
        self._panel: Panel | None = None

    def _learn(self, panel: Panel) -> None:
        self._panel, self._fitted = panel, {}
        self._scores = NormalScores(panel)

    def _levels(self, panel: Panel, origins: np.ndarray, step: int) -> np.ndarray:
        assert self._scores is not None
        return self._scores.to_level(self.predict_scores(panel, origins, step))

    def predict_scores(self, panel: Panel, origins: np.ndarray, step: int = 1) -> np.ndarray:
        """Expected normal scores, (O, N, M, K)."""
        assert self._scores is not None
        parts = self.coefficients(step)
        x = self.inputs(self._scores.of(panel))[origins]
        if self.joint:
            return parts[0].predict(x)
        return np.concatenate([p.predict(x[..., k : k + 1, :]) for k, p in enumerate(parts)], axis=-1)

    def coefficients(self, step: int = 1) -> list[Multilinear | Additive]:
        """The fitted maps of one step ahead: one, or one per action."""
        if step not in self._fitted:
            assert self._panel is not None and self._scores is not None
            self._fitted[step] = self._regress(self._panel, self._scores, step)
        return self._fitted[step]

    def inputs(self, scores: np.ndarray) -> np.ndarray:
        """Explanatory tensors (T, N, M, P, L): slices of Hoff's section 4, with the mean of the last four as a lag."""
        parts = {"direct": scores, "reciprocal": relations.reciprocal(scores), "transitive": None}
        if "transitive" in self.slices:
            both = relations.ties(scores)
            paths = relations.without_diagonal(relations.common_partners(both, both))
            parts["transitive"] = paths / (2 * scores.shape[1])  # near the size of the others
        x = np.concatenate([parts[s] for s in self.slices], axis=-1)
        return np.stack([x, relations.mean_of_last(x, _LAG_MEAN)], axis=-1) if self.lags else x[..., None]

    def _regress(self, panel: Panel, scores: NormalScores, step: int) -> list[Multilinear | Additive]:
        z = scores.of(panel)
        origins = np.arange(min(_WARM_UP, len(z) - step - 1), len(z) - step)
        x, y = self.inputs(z)[origins], z[origins + step]
        seen = panel.observed[origins + step] & panel.cells[..., None]
        if self.joint:
            return [fit_multilinear(x, y, seen, self.n_sweeps)]
        fit = fit_additive if self.additive else fit_multilinear
        each = [slice(k, k + 1) for k in range(z.shape[-1])]
        parts = [(x[..., k, :], y[..., k], seen[..., k]) for k in each]
        if not self.shared:
            return [fit(*part, n_sweeps=self.n_sweeps) for part in parts]
        xs, ys, seens = (np.concatenate([part[i] for part in parts]) for i in range(3))
        return [fit(xs, ys, seens, self.n_sweeps)] * len(parts)


class JointMLTR(RelationalMLTR):
    """Y = X x1 B1 x2 B2 x3 B3 + E: the direct slices of all actions."""

    name = "mltr_joint"
    slices = ("direct",)
    lags = False


class BilinearMLTR(JointMLTR):
    """Y_k = B1 X_k B2' + E, each action by itself; `shared` gives all actions the same two country maps."""

    name = "mltr_bilinear"
    joint = False

    def __init__(self, n_sweeps: int = 25, shared: bool = False) -> None:
        super().__init__(n_sweeps)
        self.shared = shared


class AdditiveMLTR(BilinearMLTR):
    """Y_k = B1 X_k + X_k B2' + E, each action by itself or with shared country maps."""

    name = "mltr_additive"
    additive = True


class NormalScores:
    """z = qnorm(rank / (n + 1)) per cell over the training periods, average ranks for ties, mean taken away.

    A level not seen in training is placed between its neighbours.
    """

    def __init__(self, panel: Panel) -> None:
        shape = panel.level.shape
        flat = panel.level.reshape(shape[0], -1).astype(np.float64)
        ranks = stats.rankdata(flat, axis=0)
        z = special.ndtri(ranks / (len(flat) + 1))
        self.mean = z.mean(0)
        z -= self.mean
        order = np.argsort(flat, axis=0, kind="stable")
        self._levels = np.take_along_axis(flat, order, axis=0)
        self._z = np.take_along_axis(z, order, axis=0)
        deviation = flat - flat.mean(0)
        power = (z**2).sum(0)
        self._slope = np.where(power > 0, (z * deviation).sum(0) / np.maximum(power, 1e-300), 0.0).reshape(shape[1:])
        self._centre = flat.mean(0).reshape(shape[1:])

    def of(self, panel: Panel) -> np.ndarray:
        """Scores (T, N, M, K) of a panel of the same cells."""
        flat = panel.level.reshape(len(panel.level), -1).astype(np.float64)
        out = np.zeros_like(flat)
        for c in np.flatnonzero(self._levels[-1] > self._levels[0]):
            out[:, c] = np.interp(flat[:, c], self._levels[:, c], self._z[:, c])
        return out.reshape(panel.level.shape)

    def to_level(self, scores: np.ndarray) -> np.ndarray:
        return self._centre + self._slope * scores
