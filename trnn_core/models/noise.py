"""From an expected level to a whole predictive distribution, learnt from the training periods only.

A count given the forecaster's level m and the cell's recent activity a is taken as negative binomial, with

    log mean = x(m, a) . alpha + alpha_action        log size = x(m, a) . beta + beta_action

for a small smooth basis x. Every point forecaster gets this same treatment, so their distributions compare fairly.
One noise model is fitted per step ahead: uncertainty grows with the horizon as much as it did in the past.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from trnn_core.models.distributions import Distribution, NegativeBinomial, Normal

_MAX_EVENTS = 60_000  # events beyond this are thinned and weighted
_ZERO_GRID = (0.1, 0.15)  # zeros are counted on a grid of this step in log level and log activity
_PRIOR = (10.0, 100.0)  # weight of the pull towards mean = level, in observations: with many data, with few
_MANY = 1e6  # the pull falls as this many over the number of observations
_LOG_SIZE = (-7.0, 7.0)


@dataclass(frozen=True)
class CountNoise:
    """Coefficients of log mean and log size; levels and activities are held to the range seen in training."""

    mean_coefs: np.ndarray  # (P + K,)
    size_coefs: np.ndarray
    level_range: tuple[float, float]
    activity_range: tuple[float, float]
    max_count: float

    def distribution(self, level: np.ndarray, activity: np.ndarray) -> Distribution:
        """Level and activity (..., K) to a distribution per cell."""
        level = np.clip(level, *self.level_range)
        activity = np.clip(activity, *self.activity_range)
        basis = _basis(_log_level(level), _log_activity(activity))  # (..., P)
        n = basis.shape[-1]
        log_mean = basis @ self.mean_coefs[:n] + self.mean_coefs[n:]
        log_size = basis @ self.size_coefs[:n] + self.size_coefs[n:]
        log_mean = np.minimum(log_mean, np.log1p(self.max_count))
        return NegativeBinomial(np.exp(log_mean), np.exp(np.clip(log_size, *_LOG_SIZE)))


@dataclass(frozen=True)
class ValueNoise:
    """Normal around the level; log sd is linear in the log of the cell's recent absolute changes."""

    coefs: np.ndarray  # (2,)
    floor: float

    def distribution(self, level: np.ndarray, activity: np.ndarray) -> Distribution:
        log_sd = self.coefs[0] + self.coefs[1] * np.log(activity + self.floor)
        return Normal(np.asarray(level, dtype=float), np.maximum(np.exp(log_sd), self.floor))


Noise = CountNoise | ValueNoise


def fit_count_noise(
    level: np.ndarray, activity: np.ndarray, counts: np.ndarray, nearby: CountNoise | None = None
) -> CountNoise:
    """Maximum likelihood over samples (S, K): the level forecast, the activity at the origin, the count observed.

    `nearby` is the noise of the step before: the search starts there.
    """
    n_actions = level.shape[-1]
    action = np.broadcast_to(np.arange(n_actions), level.shape).ravel()
    log_level, log_activity, y = (
        _log_level(level).ravel(),
        _log_activity(activity).ravel(),
        counts.ravel().astype(float),
    )
    m, a, k, y, weight = _condense(log_level, log_activity, action, y)
    design = np.concatenate([_basis(m, a), np.eye(n_actions)[k]], axis=1)
    guess = None if nearby is None else np.concatenate([nearby.mean_coefs, nearby.size_coefs])
    coefs = _fit_negative_binomial(design, y, weight, guess)
    half = len(coefs) // 2
    ranges = [(float(x.min()), float(x.max())) for x in (level, activity)]
    return CountNoise(coefs[:half], coefs[half:], ranges[0], ranges[1], float(counts.max()))


def fit_value_noise(level: np.ndarray, activity: np.ndarray, values: np.ndarray) -> ValueNoise:
    """Gaussian maximum likelihood for the two coefficients of log sd."""
    residual = (values - level).ravel()
    floor = 1e-3 * float(residual.std()) or 1e-6
    x = np.log(activity.ravel() + floor)

    def loss(c: np.ndarray) -> float:
        log_sd = np.clip(c[0] + c[1] * x, -20, 20)
        return float(np.mean(log_sd + 0.5 * (residual * np.exp(-log_sd)) ** 2))

    start = np.array([np.log(residual.std() + floor), 0.0])
    return ValueNoise(optimize.minimize(loss, start, method="Nelder-Mead").x, floor)


def _log_level(level: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(level, 0.0).astype(float) + 0.01)


def _log_activity(activity: np.ndarray) -> np.ndarray:
    return np.log(activity.astype(float) + 0.003)


def _basis(s: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Smooth terms in the log level s and the log activity a; (..., 6)."""
    return np.stack([s, s**2 / 4, np.exp(s), a, a**2 / 5, s * a / 5], axis=-1)


def _condense(
    s: np.ndarray, a: np.ndarray, action: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same likelihood in fewer rows: zeros counted on a fine grid, events kept (a weighted part if very many)."""
    zeros, events = y == 0, np.flatnonzero(y)
    cell = np.stack([np.rint(s[zeros] / _ZERO_GRID[0]), np.rint(a[zeros] / _ZERO_GRID[1])]).astype(np.int64)
    key = ((cell[0] + 1000) * 4000 + cell[1] + 1000) * (int(action.max()) + 1) + action[zeros]
    _, first, where, n = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    means = [np.bincount(where, x[zeros], minlength=len(n)) / np.maximum(n, 1) for x in (s, a)]
    weight = max(1.0, len(events) / _MAX_EVENTS)
    if weight > 1:
        events = events[np.linspace(0, len(events) - 1, _MAX_EVENTS).astype(np.int64)]
    return (
        np.concatenate([means[0], s[events]]),
        np.concatenate([means[1], a[events]]),
        np.concatenate([action[zeros][first], action[events]]),
        np.concatenate([np.zeros(len(n)), y[events]]),
        np.concatenate([n, np.full(len(events), weight)]),
    )


def _fit_negative_binomial(
    design: np.ndarray, y: np.ndarray, weight: np.ndarray, guess: np.ndarray | None
) -> np.ndarray:
    """Coefficients of log mean, then of log size, by L-BFGS with the analytic gradient."""
    n, total = design.shape[1], weight.sum()
    events = np.flatnonzero(y > 0)
    y_events = y[events]
    start = np.zeros(2 * n)
    start[0] = 1.0
    weight_of_prior = float(np.clip(_MANY / total, *_PRIOR))

    def loss(c: np.ndarray) -> tuple[float, np.ndarray]:
        log_mean = np.clip(design @ c[:n], -30, 30)
        log_size = np.clip(design @ c[n:], *_LOG_SIZE)
        size, lse = np.exp(log_size), np.logaddexp(log_mean, log_size)
        share = np.exp(log_mean - lse)  # mean / (mean + size)
        log_lik = size * (log_size - lse)
        d_mean, d_size = -size * share, log_lik + size * share
        r = size[events]
        log_lik[events] += y_events * (log_mean - lse)[events] + special.gammaln(y_events + r) - special.gammaln(r)
        d_mean[events] += y_events * (1 - share[events])
        d_size[events] += -y_events * (1 - share[events]) + r * (special.psi(y_events + r) - special.psi(r))
        gradient = -np.concatenate([design.T @ (weight * d_mean), design.T @ (weight * d_size)]) / total
        value = -float(weight @ log_lik) / total
        pull = weight_of_prior / total * (c - start)
        return value + float(pull @ (c - start)) / 2, gradient + pull

    begin = start if guess is None else guess
    return optimize.minimize(loss, begin, jac=True, method="L-BFGS-B", options={"maxiter": 150, "ftol": 1e-9}).x
