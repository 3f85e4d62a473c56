"""The linear part of the recommended model: the relational autoregression, held back where there is little to learn
it from.

With few dyads or periods some forty weights per action fit chance. They are then pulled towards the regression on the
dyad's own moving averages alone, as strongly as blocks of time left out in turn ask for; but only if that is better
there by more than its standard error. With plenty of data nothing is pulled and this is the relational autoregression
to the last bit.

Dimension letters: P features, D blocks of time, C strengths tried.
"""

from __future__ import annotations

import numpy as np

from trnn_core.models.baselines.ar import _RIDGE, PooledAR, Sums, total
from trnn_core.models.features import RELATIONAL_FEATURES

_OWN = ("level", "ewma .3", "ewma .1", "ewma .03", "ewma .01")  # and the constant: these are never pulled
_PULLS = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 100.0)  # relative to the features' own squares
_WORTH = 1e-3  # a smaller share of the squared error is not worth a departure
_MIN_BLOCKS = 5


class LinearStart(PooledAR):
    """Weights per action and step: least squares, or pulled towards the own moving averages where that forecasts
    better."""

    name = "linear"

    def __init__(self, features: tuple[str, ...] = RELATIONAL_FEATURES) -> None:
        super().__init__()
        self.features = features

    def _block_size(self, n_origins: int) -> int:
        usual = super()._block_size(n_origins)
        return usual if n_origins >= _MIN_BLOCKS * usual else max(1, -(-n_origins // (2 * _MIN_BLOCKS)))

    def _weigh(self, sums: list[Sums]) -> np.ndarray:
        plain, whole = super()._weigh(sums), total(sums)
        own = [*(self.features.index(name) for name in _OWN), len(plain) - 1]
        free, pulled = [], []  # squared errors of each block when left out: (D,) and (D, C)
        for part in sums:
            rest = Sums(whole.gram - part.gram, whole.moment - part.moment, whole.square - part.square)
            free.append(_error(super()._weigh([rest]), part))
            pulled.append([_error(_pull(rest, own, strength), part) for strength in _PULLS])
        errors = np.array(pulled)
        best = int(errors.sum(0).argmin())
        gain = np.array(free) - errors[:, best]
        chance = gain.std(ddof=1) * len(gain) ** 0.5 if len(gain) > 1 else np.inf
        if gain.sum() > max(chance, _WORTH * sum(free)):
            return _pull(whole, own, _PULLS[best])
        return plain


def _pull(sums: Sums, own: list[int], strength: float) -> np.ndarray:
    """(P,): least squares on the own features alone, then on all with what they add held back."""
    scale = np.sqrt(np.maximum(np.diag(sums.gram), 1e-300))
    gram, moment = sums.gram / np.outer(scale, scale), sums.moment / scale
    weights = np.zeros(len(moment))
    weights[own] = np.linalg.solve(gram[np.ix_(own, own)] + _RIDGE * np.eye(len(own)), moment[own])
    weights += np.linalg.solve(gram + strength * np.eye(len(moment)), moment - gram @ weights)
    return weights / scale


def _error(weights: np.ndarray, sums: Sums) -> float:
    """The squared error of weights over the rows that were summed."""
    return float(sums.square - 2 * weights @ sums.moment + weights @ sums.gram @ weights)
