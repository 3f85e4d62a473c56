"""Predictive distributions per entry: negative binomial for counts, normal for values, Bernoulli for any event or none.

Arrays are of any common shape S. Each kind says on which `scale` its levels are and takes values there (`to_level`);
`below` is P(Y < y), beside `cdf`, P(Y <= y).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy import special

from trnn_core.errors import TRNNError
from trnn_core.models.count_distribution import NegativeBinomial, Scale


@dataclass(frozen=True)
class Normal:
    """Values with the given mean and standard deviation."""

    mean: np.ndarray
    sd: np.ndarray
    scale = units = "value"

    def __getitem__(self, index: Any) -> Normal:
        return Normal(self.mean[index], self.sd[index])

    @property
    def variance(self) -> np.ndarray:
        return self.sd**2

    def log_probability(self, y: np.ndarray) -> np.ndarray:
        return -0.5 * ((y - self.mean) / self.sd) ** 2 - np.log(self.sd) - 0.5 * np.log(2 * np.pi)

    def cdf(self, y: np.ndarray) -> np.ndarray:
        return special.ndtr((y - self.mean) / self.sd)

    below = cdf

    def to_level(self, values: np.ndarray) -> np.ndarray:
        return values

    def quantile(self, p: float) -> np.ndarray:
        return self.mean + self.sd * special.ndtri(p)

    def quantiles(self, levels: tuple[float, ...]) -> np.ndarray:
        return np.stack([self.quantile(p) for p in levels])

    def crps(self, y: np.ndarray) -> dict[Scale, np.ndarray]:
        """Closed form (Gneiting and Raftery 2007); a value series has one scale, given under both names."""
        z = (y - self.mean) / self.sd
        density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
        score = self.sd * (z * (2 * special.ndtr(z) - 1) + 2 * density - 1 / np.sqrt(np.pi))
        return {"count": score, "log1p": score}


@dataclass(frozen=True)
class Bernoulli:
    """Whether anything happens: 1 with the given chance, else 0; any count above 0 is read as 1.

    >>> Bernoulli(np.array([0.02, 0.5, 0.97])).quantiles((0.05, 0.95)).tolist()
    [[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    """

    mean: np.ndarray
    scale = "0 or 1 (any event)"
    units = "probability of any event"

    def __getitem__(self, index: Any) -> Bernoulli:
        return Bernoulli(self.mean[index])

    @property
    def variance(self) -> np.ndarray:
        return self.mean * (1 - self.mean)

    def log_probability(self, y: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(np.where(y > 0, self.mean, 1 - self.mean))

    def cdf(self, y: np.ndarray) -> np.ndarray:
        y = np.asarray(y)
        return np.where(y < 0, 0.0, np.where(y < 1, 1 - self.mean, 1.0))

    def below(self, y: np.ndarray) -> np.ndarray:
        return np.where(np.asarray(y) > 0, 1 - self.mean, 0.0)

    def to_level(self, values: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(values), np.nan, values > 0)

    def quantile(self, p: float) -> np.ndarray:
        return (1 - self.mean < p).astype(float)

    def quantiles(self, levels: tuple[float, ...]) -> np.ndarray:
        return np.stack([self.quantile(p) for p in levels])

    def crps(self, y: np.ndarray) -> dict[Scale, np.ndarray]:
        """The Brier score; a yes or no has one scale, given under both names."""
        score = ((y > 0) - self.mean) ** 2
        return {"count": score, "log1p": score}


Distribution = NegativeBinomial | Normal | Bernoulli
KINDS: dict[str, type[Distribution]] = {kind.__name__: kind for kind in (NegativeBinomial, Normal, Bernoulli)}


def parameters(distribution: Distribution) -> dict[str, np.ndarray]:
    """All that a file must keep beside the kind."""
    return {f.name: getattr(distribution, f.name) for f in fields(distribution)}


def restore(kind: str, arrays: Mapping[str, np.ndarray]) -> Distribution:
    """The distribution of these parameters."""
    if kind not in KINDS:
        raise TRNNError(
            f"A stored distribution must be one of {', '.join(KINDS)}. Got {kind!r:.60} instead; the file may come from"
            " a newer version."
        )
    return KINDS[kind](**{f.name: arrays[f.name] for f in fields(KINDS[kind])})
