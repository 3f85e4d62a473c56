"""Multilinear and additive tensor regression by alternating least squares (Hoff 2015).

    multilinear  Y_t = X_t x1 B1 x2 B2 x3 B3 x4 B4 + E     additive  Y_t = B1 X_t + X_t B2' + E

Responses that were not observed are replaced by their fitted values in every sweep, which never raises the squared
error. Dimension letters: T periods, N sources, M targets, K actions, P explanatory slices, L lags.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_RIDGE = 1e-6


@dataclass(frozen=True)
class Multilinear:
    """Factors B1 (N, N), B2 (M, M), B3 (K, P), B4 (1, L)."""

    factors: tuple[np.ndarray, ...]

    def predict(self, x: np.ndarray) -> np.ndarray:
        """(T, N, M, P, L) to (T, N, M, K)."""
        for mode, factor in enumerate(self.factors, start=1):
            x = _mode_product(x, factor, mode)
        return x[..., 0]


@dataclass(frozen=True)
class Additive:
    """Factors B1 (N, N) and B2 (M, M) of one action."""

    factors: tuple[np.ndarray, np.ndarray]

    def predict(self, x: np.ndarray) -> np.ndarray:
        x = x[..., 0]
        return _mode_product(x, self.factors[0], 1) + _mode_product(x, self.factors[1], 2)


def fit_multilinear(
    x: np.ndarray, y: np.ndarray, seen: np.ndarray, n_sweeps: int = 25, tolerance: float = 1e-6
) -> Multilinear:
    """Alternate over the modes: with the others held, each factor is an ordinary least-squares problem."""
    _, n, m, p, lags = x.shape
    k = y.shape[-1]
    factors = [np.eye(n), np.eye(m), np.eye(k, p), np.full((1, lags), 1.0 / lags)]
    factors[2] *= _scale(Multilinear(tuple(factors)).predict(x), y, seen)
    before = np.inf
    for _ in range(n_sweeps):
        fitted = Multilinear(tuple(factors)).predict(x)
        error = float(((y - fitted)[seen] ** 2).sum())
        if before - error < tolerance * error:
            break
        before, target = error, np.where(seen, y, fitted)[..., None]  # (T, N, M, K, 1)
        for mode in range(4):
            z = x
            for other in range(4):
                if other != mode:
                    z = _mode_product(z, factors[other], other + 1)
            factors[mode] = _least_squares(z, target, mode + 1)
    return Multilinear(tuple(factors))


def fit_additive(
    x: np.ndarray, y: np.ndarray, seen: np.ndarray, n_sweeps: int = 25, tolerance: float = 1e-6
) -> Additive:
    """Alternate between the row and the column map, each fitted to what the other leaves."""
    z, b1, b2 = x[..., 0], np.zeros((x.shape[1],) * 2), np.zeros((x.shape[2],) * 2)
    before = np.inf
    for _ in range(n_sweeps):
        fitted = Additive((b1, b2)).predict(x)
        error = float(((y - fitted)[seen] ** 2).sum())
        if before - error < tolerance * error:
            break
        before, target = error, np.where(seen, y, fitted)
        b1 = _least_squares(z, target - _mode_product(z, b2, 2), 1)
        b2 = _least_squares(z, target - _mode_product(z, b1, 1), 2)
    return Additive((b1, b2))


def _mode_product(x: np.ndarray, factor: np.ndarray, mode: int) -> np.ndarray:
    """x of shape (T, ...) times the factor along one of its tensor modes (counted from 1)."""
    return np.moveaxis(np.tensordot(x, factor, axes=(mode, 1)), -1, mode)


def _least_squares(z: np.ndarray, y: np.ndarray, mode: int) -> np.ndarray:
    """The factor B that brings z x_mode B closest to y."""
    axes = [a for a in range(z.ndim) if a != mode]
    gram = np.tensordot(z, z, axes=(axes, axes))
    cross = np.tensordot(y, z, axes=(axes, axes))
    ridge = _RIDGE * max(float(np.trace(gram)) / len(gram), 1e-12)
    return np.linalg.solve(gram + ridge * np.eye(len(gram)), cross.T).T


def _scale(fitted: np.ndarray, y: np.ndarray, seen: np.ndarray) -> float:
    power = float((fitted[seen] ** 2).sum())
    return float((fitted[seen] * y[seen]).sum()) / power if power > 0 else 1.0
