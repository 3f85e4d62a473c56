"""Transforms between the counts or values of a series and the scale a network works on.

Fitted on training periods only, applied to any period, invertible, and stored as plain arrays with the run.
Each series (i, j, k) of the tensor has its own parameters; several transforms may follow each other:
"log1p+standardise".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from trnn_core.errors import TRNNError

Parameters = dict[str, np.ndarray]
BLOCK_CELLS = 20_000_000  # fitted at once, in double precision

NAMES: dict[str, str] = {
    "none": "the values as they are",
    "log1p": "log(1 + value): large counts weigh less, zero stays zero",
    "normal scores": "each series' ranks as quantiles of the normal distribution, mean zero (Hoff 2015)",
    "standardise": "each series minus its mean, divided by its standard deviation",
    "min-max": "each series stretched to the range 0 to 1",
}


@dataclass(frozen=True)
class Transform:
    """A fitted transform of (..., N, M, K) arrays; missing cells (NaN) stay missing.

    >>> x = np.array([0.0, 1.0, 3.0, 0.0]).reshape(4, 1, 1, 1)
    >>> transform = fit_transform("log1p+standardise", x)
    >>> z = transform.apply(x)
    >>> round(float(z.mean()), 12), np.allclose(transform.invert(z), x)
    (0.0, True)
    """

    name: str
    shape: tuple[int, ...]  # (N, M, K) of the series it was fitted on
    steps: tuple[tuple[str, Parameters], ...]

    def apply(self, values: np.ndarray) -> np.ndarray:
        z = self._checked(values)
        for name, parameters in self.steps:
            z = _FORWARD[name](z, parameters)
        return z

    def invert(self, z: np.ndarray) -> np.ndarray:
        """Back to the scale of the data; not rounded, and not cut at zero."""
        x = self._checked(z)
        for name, parameters in reversed(self.steps):
            x = _BACKWARD[name](x, parameters)
        return x

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Plain numeric arrays, fit for NPZ and safetensors alike."""
        arrays: dict[str, np.ndarray] = {
            "name": np.frombuffer(self.name.encode(), dtype=np.uint8).copy(),
            "shape": np.array(self.shape, dtype=np.int64),
        }
        for i, (_, parameters) in enumerate(self.steps):
            arrays |= {f"{i}.{key}": value for key, value in parameters.items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Transform:
        missing = {"name", "shape"} - set(arrays)
        if missing:
            raise TRNNError(
                f"A stored transform must hold the arrays 'name' and 'shape'. Got {sorted(arrays)} instead."
            )
        name = np.asarray(arrays["name"], dtype=np.uint8).tobytes().decode("utf-8", "replace")
        steps = []
        for i, step in enumerate(_step_names(name)):
            expected = _PARAMETERS[step]
            absent = [key for key in expected if f"{i}.{key}" not in arrays]
            if absent:
                raise TRNNError(
                    f"A stored transform {name!r} must hold the arrays {[f'{i}.{key}' for key in expected]}. "
                    f"{[f'{i}.{key}' for key in absent]} are missing; the file is damaged or from another version."
                )
            steps.append((step, {key: np.asarray(arrays[f"{i}.{key}"]) for key in expected}))
        return cls(name, tuple(int(n) for n in arrays["shape"]), tuple(steps))

    def _checked(self, values: np.ndarray) -> np.ndarray:
        values = np.asarray(values)
        if values.shape[-len(self.shape) :] != self.shape:
            raise TRNNError(
                f"The transform {self.name!r} was fitted on series of shape {self.shape}. "
                f"Got an array of shape {values.shape}, whose last modes must be the same."
            )
        return values if np.issubdtype(values.dtype, np.floating) else values.astype(np.float64)


def fit_transform(name: str, values: np.ndarray, observed: np.ndarray | None = None) -> Transform:
    """Fit a transform on the *training* periods `values` (T, N, M, K); cells not observed are left out.

    A series without spread in training keeps the scale 1, one without any observation the centre 0.
    """
    if np.ndim(values) < 2 or len(values) == 0:
        raise TRNNError(
            f"A transform is fitted on at least one period of series. Got an array of shape {np.shape(values)}."
        )
    n_rows = max(1, BLOCK_CELLS * np.shape(values)[1] // np.size(values))
    if n_rows < np.shape(values)[1] and "normal scores" not in _step_names(name):
        return _fit_in_parts(name, values, observed, n_rows)
    x = np.asarray(values, dtype=np.float64)
    if observed is not None:
        x = np.where(observed, x, np.nan)
    steps: list[tuple[str, Parameters]] = []
    for step in _step_names(name):
        parameters = _FIT[step](x)
        x = _FORWARD[step](x, parameters)
        steps.append((step, parameters))
    return Transform(name, x.shape[1:], tuple(steps))


def _fit_in_parts(name: str, values: np.ndarray, observed: np.ndarray | None, n_rows: int) -> Transform:
    """The same, some senders at a time: every series has its own parameters, and a large set is not held twice over."""
    parts = []
    for start in range(0, values.shape[1], n_rows):
        some = (slice(None), slice(start, start + n_rows))
        parts.append(fit_transform(name, values[some], None if observed is None else observed[some]))
    steps = []
    for i, (step, first) in enumerate(parts[0].steps):
        steps.append((step, {key: np.concatenate([p.steps[i][1][key] for p in parts]) for key in first}))
    return Transform(name, values.shape[1:], tuple(steps))


def _step_names(name: str) -> list[str]:
    steps = [step.strip() for step in name.split("+")]
    for step in steps:
        if step not in NAMES:
            raise TRNNError(f"A transform must be one of {', '.join(NAMES)}, or several joined by '+'. Got {step!r}.")
    return steps


def _log1p(x: np.ndarray, _: Parameters) -> np.ndarray:
    if np.nanmin(x, initial=0.0) <= -1:
        raise TRNNError(
            f"The transform log1p needs values above -1. Got {np.nanmin(x):g}; use 'standardise', 'min-max' or 'normal"
            " scores'."
        )
    return np.log1p(x)


def _fit_standardise(x: np.ndarray) -> Parameters:
    n = np.maximum((~np.isnan(x)).sum(axis=0), 1)
    centre = np.nansum(x, axis=0) / n
    spread = np.sqrt(np.nansum((x - centre) ** 2, axis=0) / n)
    return {"centre": centre, "scale": _usable(spread, centre)}


def _fit_minmax(x: np.ndarray) -> Parameters:
    seen = ~np.isnan(x).all(axis=0)
    low = np.where(seen, np.min(np.where(np.isnan(x), np.inf, x), axis=0), 0.0)
    high = np.where(seen, np.max(np.where(np.isnan(x), -np.inf, x), axis=0), 0.0)
    return {"centre": low, "scale": _usable(high - low, low)}


def _usable(scale: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Rounding error is no spread: a constant series of 0.1 has a standard deviation of 1e-17."""
    return np.where(scale > 1e-9 * np.maximum(np.abs(centre), 1e-30), scale, 1.0)


def _affine(x: np.ndarray, p: Parameters) -> np.ndarray:
    return (x - p["centre"].astype(x.dtype)) / p["scale"].astype(x.dtype)


def _affine_back(z: np.ndarray, p: Parameters) -> np.ndarray:
    return z * p["scale"].astype(z.dtype) + p["centre"].astype(z.dtype)


def _fit_scores(x: np.ndarray) -> Parameters:
    """Per series: its distinct training values, and for each the normal score of its average rank, rank / (n + 1)."""
    normal = NormalDist().inv_cdf
    knots, scores, sizes, spreads = [], [], [], []
    for series in x.reshape(len(x), -1).T:
        seen = series[~np.isnan(series)]
        if not len(seen):
            seen = np.zeros(1)
        distinct, counts = np.unique(seen, return_counts=True)
        average_rank = np.cumsum(counts) - (counts - 1) / 2
        score = np.array([normal(r) for r in average_rank / (len(seen) + 1)])
        score -= (counts * score).sum() / len(seen)
        knots.append(distinct)
        scores.append(score)
        sizes.append(len(distinct))
        spreads.append((distinct[-1] - distinct[0]) / (score[-1] - score[0]) if len(distinct) > 1 else 1.0)
    return {
        "knots": np.concatenate(knots),
        "scores": np.concatenate(scores),
        "ends": np.cumsum(sizes).astype(np.int64),
        "spread": np.array(spreads),
    }


def _scores(x: np.ndarray, p: Parameters) -> np.ndarray:
    return _piecewise(x, p["knots"], p["scores"], p, _log_tail)


def _scores_back(z: np.ndarray, p: Parameters) -> np.ndarray:
    return _piecewise(z, p["scores"], p["knots"], p, _exp_tail)


def _piecewise(x: np.ndarray, here: np.ndarray, there: np.ndarray, p: Parameters, tail) -> np.ndarray:
    """Linear between the knots of each series; beyond them a tail that is slow one way and exact the other."""
    flat = x.reshape(-1, len(p["ends"]))
    out = np.empty_like(flat)
    starts = np.append(0, p["ends"][:-1])
    for s, (a, b) in enumerate(zip(starts, p["ends"], strict=True)):
        column = flat[:, s].astype(np.float64)
        low, high = here[a], here[b - 1]
        inside = np.interp(column, here[a:b], there[a:b])
        beyond = np.where(np.isnan(column), 0.0, np.maximum(column - high, 0) - np.maximum(low - column, 0))
        out[:, s] = np.where(np.isnan(column), np.nan, inside + tail(beyond, p["spread"][s]))
    return out.reshape(x.shape)


def _log_tail(excess: np.ndarray, spread: float) -> np.ndarray:
    """Values beyond the training range: logarithmic, so that a burst does not become a score of hundreds."""
    return np.sign(excess) * np.log1p(np.abs(excess) / spread)


def _exp_tail(excess: np.ndarray, spread: float) -> np.ndarray:
    return np.sign(excess) * spread * np.expm1(np.minimum(np.abs(excess), 80.0))  # stays finite in float32


_FIT = {
    "none": lambda x: {},
    "log1p": lambda x: {},
    "normal scores": _fit_scores,
    "standardise": _fit_standardise,
    "min-max": _fit_minmax,
}
_PARAMETERS: dict[str, tuple[str, ...]] = {
    "none": (),
    "log1p": (),
    "normal scores": ("knots", "scores", "ends", "spread"),
    "standardise": ("centre", "scale"),
    "min-max": ("centre", "scale"),
}
_FORWARD = {
    "none": lambda x, p: x,
    "log1p": _log1p,
    "normal scores": _scores,
    "standardise": _affine,
    "min-max": _affine,
}
_BACKWARD = {
    "none": lambda z, p: z,
    "log1p": lambda z, p: np.expm1(z),
    "normal scores": _scores_back,
    "standardise": _affine_back,
    "min-max": _affine_back,
}
