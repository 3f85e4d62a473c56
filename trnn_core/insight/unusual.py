"""Unusual weeks: when the relations behaved unlike what the network, taught by their past, expected.

The measure, week by week, from one-step errors e = level observed - level forecast of every relation:

    z    =  e / s          s: root mean square of that relation's own errors in the 104 weeks before, together with 26
                           weeks' worth of the mean over all relations of the same action
    S    =  log of the mean of z^2 over all relations (z kept within +-8)
    surprise = (S - median) / (1.4826 MAD)      over the S of the 104 weeks before

A week is *unusual* at a surprise of 3 or more: one week in about 700 if S were normal. A *stretch* is a mean surprise
of 2 or more over 8 weeks. Weeks the network learnt from are compared with such weeks, weeks it never saw with such
weeks only, since it errs less on what it was taught; the first 26 of either kind are compared with each other.

Dimension letters: W weeks, N actors, K actions.
"""

from __future__ import annotations

import numpy as np

from trnn_core.insight.answers import Unusual
from trnn_core.insight.view import View

MEMORY, FIRST = 104, 26
SHRINK = 26  # weeks' worth of the common error that every relation's own is mixed with
_FAR = 8.0
N_CELLS = 12  # relations named per week


def find_unusual(view: View) -> Unusual:
    """Look at every week that can be forecast from the weeks before it."""
    first = min(max(view.reach, 2), len(view.series) - 1)
    weeks = np.arange(first, len(view.series))
    counts = view.series.source.kind == "count"
    level = view.expected(weeks)
    values = np.asarray(view.series.values[weeks], dtype=np.float64)
    seen = view.series.observed[weeks].copy()
    if not view.series.source.diagonal:
        seen &= ~np.eye(seen.shape[1], dtype=bool)[None, :, :, None]
    observed = _observed_levels(view, values, counts)
    errors = np.where(seen, np.nan_to_num(observed - level), 0.0)
    learnt = weeks < view.unseen
    surprise, z = np.zeros(len(weeks)), np.zeros_like(errors)
    for group in (learnt, ~learnt):
        if group.any():
            z[group] = standardise(errors[group], seen[group])
            surprise[group] = surprises(z[group], seen[group])
    dates = tuple(str(d) for d in view.series.dates[weeks])
    return Unusual(weeks, dates, surprise, learnt, *_furthest(errors, z, values, view.values(level)))


def _furthest(errors: np.ndarray, z: np.ndarray, observed: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, ...]:
    """The relations of each week that were furthest from what was expected, for them: places (W, C, 3), and three
    figures (W, C).

    Ordered by the error itself, those at least two usual errors off first: one event where there is hardly ever any is
    many usual errors, and yet little news.
    """
    flat = [x.reshape(len(z), -1) for x in (z, observed, expected)]
    far = np.abs(errors.reshape(len(z), -1)) * np.where(np.abs(flat[0]) >= 2, 1.0, 1e-3)
    top = np.argsort(-far, axis=1, kind="stable")[:, :N_CELLS]
    places = np.stack(np.unravel_index(top, z.shape[1:]), axis=-1)
    return places, *(np.take_along_axis(x, top, axis=1) for x in flat)


def _observed_levels(view: View, values: np.ndarray, counts: bool) -> np.ndarray:
    if view.unit.startswith("probability"):
        return (values > 0).astype(np.float64)
    return np.log1p(np.maximum(values, 0.0)) if counts else values


def standardise(errors: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Errors (W, N, N, K) over the root mean square of each relation's own errors before; 0 where not observed."""
    power = np.where(seen, errors**2, 0.0)
    total = np.concatenate([np.zeros((1, *errors.shape[1:])), np.cumsum(power, axis=0)])
    number = np.concatenate([np.zeros((1, *errors.shape[1:])), np.cumsum(seen, axis=0)])
    ends = np.maximum(np.arange(len(errors)), min(FIRST, len(errors)))
    starts = np.maximum(ends - MEMORY, 0)
    n = number[ends] - number[starts]
    own = (total[ends] - total[starts]) / np.maximum(n, 1)
    pooled = own.sum(axis=(1, 2), keepdims=True) / np.maximum((n > 0).sum(axis=(1, 2), keepdims=True), 1)
    size = np.sqrt((n * own + SHRINK * pooled) / (n + SHRINK))
    return np.where(seen & (size > 0), errors / np.where(size > 0, size, 1.0), 0.0)


def surprises(z: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """How far each week's S lies above the S of the weeks before it, in robust standard deviations, (W,)."""
    bounded = np.clip(z, -_FAR, _FAR) ** 2
    n = np.maximum(seen.sum(axis=(1, 2, 3)), 1)
    s = np.log(np.maximum(np.where(seen, bounded, 0.0).sum(axis=(1, 2, 3)) / n, 1e-12))
    out = np.zeros(len(s))
    first = min(FIRST, len(s))
    for t in range(len(s)):
        past = s[max(t - MEMORY, 0) : t] if t >= first else s[:first]
        middle = np.median(past)
        spread = 1.4826 * np.median(np.abs(past - middle))
        out[t] = (s[t] - middle) / max(spread, 0.05)
    return out
