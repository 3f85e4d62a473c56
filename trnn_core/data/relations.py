"""Relational terms and moving averages: the one place that computes them, for the linear model, the networks' inputs,
the regressions and the explanations alike.

Every function takes NumPy arrays and torch tensors alike (torch is not imported here), so that an explanation
differentiates what the model computed and not a copy of it.

Dimension letters: T periods, N actors (sources, targets), K actions; relations stand in the last three axes
(..., N, N, K), whatever comes before them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

Array = Any  # np.ndarray or torch.Tensor


def reciprocal(x: Array) -> Array:
    """Source and target exchanged: what j did to i."""
    return x.swapaxes(-3, -2)


def sent(x: Array) -> Array:
    """What every source did to all targets together, (..., N, 1, K)."""
    return x.sum(axis=-2, keepdims=True)


def received(x: Array) -> Array:
    """What all sources together did to every target, (..., 1, N, K)."""
    return x.sum(axis=-3, keepdims=True)


def world(x: Array) -> Array:
    """What everybody did to everybody, (..., 1, 1, K)."""
    return x.sum(axis=(-3, -2), keepdims=True)


# What goes on around the pair (i, j), summed over partners; broadcasts over the pairs it is the same for.
TOTALS: dict[str, Callable[[Array], Array]] = {
    "sender": sent,  # i did to everybody
    "receiver": received,  # everybody did to j
    "sender_received": lambda x: reciprocal(received(x)),  # everybody did to i
    "receiver_sent": lambda x: reciprocal(sent(x)),  # j did to everybody
    "world": world,
}


def around(x: Array, who: str, i: int, j: int) -> Array:
    """The part of the relations that the total of one pair is a sum of, with both actor axes kept."""
    if who == "world":
        return x
    own = i if who.startswith("sender") else j
    if who in ("sender", "receiver_sent"):
        return x[..., own : own + 1, :, :]
    return x[..., :, own : own + 1, :]


def spread(x: Array, shape: tuple[int, ...]) -> Array:
    """A total given to every pair it belongs to, without a copy."""
    return namespace(x).broadcast_to(x, shape)


def without_diagonal(x: Array) -> Array:
    """A country's acts towards itself put to zero."""
    return x * (1 - namespace(x).eye(x.shape[-3], dtype=x.dtype))[:, :, None]


def ties(x: Array) -> Array:
    """What two countries did to each other, both ways: y_ij + y_ji."""
    return x + reciprocal(x)


def common_partners(mine: Array, theirs: Array) -> Array:
    """Ties through third countries: sum over m of mine_im theirs_jm (Hoff 2015), from ties (..., N, M, K)."""
    mine, theirs = _actions_first(mine), _actions_first(theirs)
    return (mine @ theirs.swapaxes(-1, -2)).swapaxes(-3, -2).swapaxes(-2, -1)


def fill_forward(values: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """The last observed value of (T, ...) wherever one is missing, 0 before the first; only the past is looked at.

    >>> fill_forward(np.array([np.nan, 2.0, np.nan, 5.0]), np.array([False, True, False, True]))
    array([0., 2., 2., 5.])
    """
    if observed.all():
        return values
    out = values.copy()
    out[:1][~observed[:1]] = 0
    for t in range(1, len(out)):
        np.copyto(out[t : t + 1], out[t - 1 : t], where=~observed[t : t + 1])
    return out


def ewma(x: np.ndarray, alpha: float) -> np.ndarray:
    """Exponentially weighted mean over (T, ...) up to and including each period, corrected for its short start.

    >>> ewma(np.array([4.0, 0.0]), 0.5).round(4)
    array([4.    , 1.3333])
    """
    out, state, weight = np.empty_like(x), np.zeros_like(x[0]), 0.0
    for t in range(len(x)):
        state = state + alpha * (x[t] - state)
        weight += alpha * (1 - weight)
        out[t] = state / weight
    return out


def ewma_of_last(recent: Array, whole: np.ndarray, alpha: float, n: int) -> Array:
    """`ewma` in the last n periods when the last R of `whole` (T, ...) are replaced by `recent` (B, R, ...), as sums
    with fixed weights on top of what the older periods left: (B, n, ...)."""
    n_recent = min(recent.shape[1], len(whole))
    older, recent = whole[: len(whole) - n_recent], recent[:, -n_recent:]
    keep, at = 1.0 - alpha, np.arange(len(whole) - n, len(whole))
    weights = alpha * keep ** np.arange(len(older))[::-1]
    left = np.tensordot(weights, older, axes=1) if len(older) else np.zeros(whole.shape[1:])
    lags = at[:, None] - np.arange(len(whole) - n_recent, len(whole))[None, :]
    fixed = _as(np.where(lags >= 0, alpha * keep ** np.maximum(lags, 0), 0.0), recent)  # (n, R)
    column = (-1, *[1] * (whole.ndim - 1))
    decay = _as(keep ** (at - len(older) + 1.0), recent).reshape(column)
    scale = _as(1.0 / (1.0 - keep ** (at + 1.0)), recent).reshape(column)
    by_period = recent.swapaxes(0, 1)  # (R, B, ...)
    total = (fixed @ by_period.reshape(n_recent, -1)).reshape(n, *by_period.shape[1:]).swapaxes(0, 1)
    return (total + decay * _as(left, recent)) * scale


def smoothed(x: Array, alpha: float, axis: int = 0) -> Array:
    """Exponentially weighted mean along an axis of periods that starts at the first one as it is."""
    rows = [_periods(x, 0, 1, axis)]
    for t in range(1, x.shape[axis]):
        rows.append((1 - alpha) * rows[-1] + alpha * _periods(x, t, t + 1, axis))
    return namespace(x).concatenate(rows, axis=axis)


def earlier(x: Array, lag: int, axis: int = 0) -> Array:
    """`lag` periods before; the first period stands for all before it."""
    lag = min(lag, x.shape[axis])
    first = spread(_periods(x, 0, 1, axis), (*x.shape[:axis], lag, *x.shape[axis + 1 :]))
    return namespace(x).concatenate([first, _periods(x, 0, x.shape[axis] - lag, axis)], axis=axis)


def mean_of_last(x: np.ndarray, n: int) -> np.ndarray:
    """The mean over (T, ...) of the last n periods, of as many as there are at the start.

    >>> mean_of_last(np.array([4.0, 0.0, 2.0]), 2)
    array([4., 2., 1.])
    """
    total = np.cumsum(x, axis=0)
    total[n:] = total[n:] - total[:-n]
    return total / np.minimum(np.arange(1, len(x) + 1), n).reshape(-1, *[1] * (x.ndim - 1))


def namespace(x: Array) -> ModuleType:
    """The library whose functions take this array: NumPy, or torch, which is loaded already if x is a tensor."""
    return np if isinstance(x, np.ndarray) else sys.modules["torch"]


def _actions_first(x: Array) -> Array:
    """(..., N, M, K) -> (..., K, N, M)."""
    return x.swapaxes(-1, -2).swapaxes(-2, -3)


def _as(x: np.ndarray, like: Array) -> Array:
    """The kind of array that `like` is."""
    return x if isinstance(like, np.ndarray) else like.new_tensor(x)


def _periods(x: Array, start: int, stop: int, axis: int) -> Array:
    return x[(slice(None),) * axis + (slice(start, stop),)]
