"""Negative-binomial EWMA: every cell is its own count series with its own smoothing and dispersion."""

from __future__ import annotations

import itertools

import numpy as np
from scipy import special

from trnn_core.data.relations import ewma
from trnn_core.models.baselines.base import _WARM_UP, LevelForecaster
from trnn_core.models.distributions import Distribution, NegativeBinomial
from trnn_core.models.panel import Panel

ALPHAS = (0.4, 0.2, 0.1, 0.05, 0.025, 0.01)
SIZES = (0.03, 0.1, 0.3, 1.0, 3.0, 20.0)
_BACKGROUND = 0.1  # share of the long-run rate, so that a silent cell never becomes impossible
_PRIOR_CELLS = 5.0  # a cell's likelihood is joined by that of this many average cells of its action


class NegativeBinomialEWMA(LevelForecaster):
    """Count(t + h) ~ NB(mean r(t), size s): r mixes the cell's EWMA and its long-run rate.

    Smoothing and size are chosen per cell by likelihood, the size anew for every step ahead.
    Value series have no counts: there the cell's EWMA is the level and the usual noise model follows.
    """

    name = "nb_ewma"

    def __init__(self) -> None:
        super().__init__()
        self._panel: Panel | None = None
        self._chosen: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # step -> alpha and size, (N, M, K)

    def _learn(self, panel: Panel) -> None:
        self._panel, self._chosen = panel, {}

    def _levels(self, panel: Panel, origins: np.ndarray, step: int) -> np.ndarray:
        alphas = self._choice(step)[0]
        out = np.empty((len(origins), *panel.values.shape[1:]))
        for alpha in np.unique(alphas):
            chosen = alphas == alpha
            out[:, chosen] = _rate(panel, float(alpha), chosen)[origins]
        return out

    def _predict(self, panel: Panel, origins: np.ndarray, step: int) -> tuple[np.ndarray, Distribution]:
        if not panel.counts:
            return super()._predict(panel, origins, step)
        rates = self._levels(panel, origins, step)
        distribution = NegativeBinomial(rates, np.broadcast_to(self._choice(step)[1], rates.shape))
        return distribution.expected_log1p(), distribution

    def _choice(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        if step not in self._chosen:
            assert self._panel is not None
            self._chosen[step] = _choose(self._panel, step)
        return self._chosen[step]


def _rate(panel: Panel, alpha: float, chosen: np.ndarray) -> np.ndarray:
    """EWMA and long-run rate of the chosen cells, (T, cells); the long-run rate starts as half an event."""
    y = panel.values[:, chosen].astype(np.float64)
    if not panel.counts:
        return ewma(y, alpha)
    n = np.arange(1, len(y) + 1)[:, None]
    long_run = (np.cumsum(y, axis=0) + 0.5) / (n + 50.0)
    return (1 - _BACKGROUND) * ewma(y, alpha) + _BACKGROUND * long_run


def _choose(panel: Panel, step: int) -> tuple[np.ndarray, np.ndarray]:
    """The likeliest smoothing and size of every cell, (N, M, K) each."""
    shape = panel.values.shape[1:]
    everything = np.ones(shape, dtype=bool)
    start = min(_WARM_UP, panel.n_periods - step - 1)
    y = panel.values[start + step :].reshape(panel.n_periods - start - step, -1).astype(np.float64)
    seen = panel.observed[start + step :].reshape(y.shape)
    scores = []
    for alpha in ALPHAS:
        rate = _rate(panel, alpha, everything)[start:-step]
        if panel.counts:
            scores += [_log_likelihood(rate, size, y, seen) for size in SIZES]
        else:
            scores += [-np.where(seen, (y - rate) ** 2, 0.0).sum(0)] * len(SIZES)
    likelihood = np.stack(scores).reshape(len(scores), *shape)
    pooled = likelihood[:, panel.cells].mean(axis=1)  # (candidates, K)
    best = np.argmax(likelihood + _PRIOR_CELLS * pooled[:, None, None, :], axis=0)
    candidates = np.array(list(itertools.product(ALPHAS, SIZES)))
    return candidates[best, 0], candidates[best, 1]


def _log_likelihood(rate: np.ndarray, size: float, y: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Summed over periods, per cell; terms that vanish at zero counts are computed for the events only."""
    log_lik = -size * np.log1p(rate / size)
    t, c = np.nonzero(y)
    events, mean = y[t, c], rate[t, c]
    log_lik[t, c] += events * np.log(mean / (mean + size)) + special.gammaln(events + size) - special.gammaln(size)
    return np.where(seen, log_lik, 0.0).sum(0)
