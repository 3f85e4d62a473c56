"""Attribution: what of the recent past drove one forecast cell, and by how much.

Integrated gradients (Sundararajan, Taly and Yan 2017) on the level scale, from a *usual* past (each cell at its mean
over the year before) to the past as it was, by Gauss-Legendre quadrature with as many points as completeness needs:
the contributions add up to the difference between the forecast and the forecast after a usual past, within
`TOLERANCE`.

Dimension letters: T periods, N actors, K actions.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from trnn_core.errors import TRNNError
from trnn_core.insight.answers import NOTHING, TOLERANCE, Attribution
from trnn_core.insight.view import View

USUAL_PERIODS = 52
_POINTS = (8, 16, 32, 64, 128)
_AT_ONCE = 16  # points of the path whose gradients are in memory at once


def attribute(view: View, cell: tuple[int, int, int], step: int = 1, origin: int | None = None) -> Attribution:
    """Explain the forecast of one cell `step` periods after the origin (the last period of the series)."""
    n, k = view.series.shape[1], view.series.shape[3]
    if not (0 <= cell[0] < n and 0 <= cell[1] < n and 0 <= cell[2] < k):
        raise TRNNError(
            f"A cell must be a sender and a receiver from 0 to {n - 1} and an action from 0 to {k - 1}. Got {cell}"
            " instead."
        )
    if cell[0] == cell[1] and not view.series.source.diagonal:
        raise TRNNError(
            f"A cell must go from one country to another. Got {view.series.actors[cell[0]]} to itself, which these data"
            " do not hold."
        )
    if not 1 <= step <= 52:
        raise TRNNError(f"The step ahead must be from 1 to 52 periods. Got {step} instead.")
    last = len(view.series) - 1 if origin is None else origin
    past = view.past(last)
    usual = usual_week(view, last).expand_as(past)
    start, end = (float(x) for x in view.entry_levels(torch.stack([usual, past]), cell, step, last).detach())
    found = np.zeros(tuple(past.shape))
    for n_points in _POINTS:
        found = _integrate(view, (usual, past), cell, (step, last), n_points)
        if abs(found.sum() - (end - start)) <= 0.7 * TOLERANCE * max(abs(end - start), NOTHING):
            break
    values = view.values(np.array([start, end]))
    first = last + 1 - len(past)
    return Attribution(
        cell,
        step,
        tuple(str(view.series.dates[max(t, 0)]) for t in range(first, last + 1)),
        found,
        start,
        end,
        float(values[0]),
        float(values[1]),
        _as_values(view, past.numpy()),
        _as_values(view, usual[0].numpy()),
        n_points,
    )


def usual_week(view: View, last: int, n_periods: int = USUAL_PERIODS) -> Tensor:
    """Each cell's mean level (N, N, K) over the year before the periods that enter the forecast, or what there is of
    it."""
    values = np.asarray(view.series.values, dtype=np.float64)
    end = max(
        last + 1 - min(view.reach, 13), min(last + 1, 13)
    )  # long memories reach back years: the newest quarter counts
    chosen = values[max(end - n_periods, 0) : end]
    levels = np.log1p(np.maximum(chosen, 0.0)) if view.series.source.kind == "count" else chosen
    seen = ~np.isnan(levels)
    mean = np.where(seen, levels, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    return torch.from_numpy(mean).to(view.past(last).dtype)


def _integrate(
    view: View, ends: tuple[Tensor, Tensor], cell: tuple[int, int, int], when: tuple[int, int], n_points: int
) -> np.ndarray:
    usual, past = ends
    nodes, weights = np.polynomial.legendre.leggauss(n_points)
    places, weights = (nodes + 1) / 2, weights / 2
    mean = np.zeros(tuple(past.shape))
    for part in np.array_split(np.arange(n_points), -(-n_points // _AT_ONCE)):
        share = torch.from_numpy(places[part]).to(past.dtype)[:, None, None, None, None]
        path = (usual + share * (past - usual)).requires_grad_(True)
        (gradient,) = torch.autograd.grad(view.entry_levels(path, cell, *when).sum(), path)
        mean += np.tensordot(weights[part], gradient.numpy().astype(np.float64), axes=1)
    return mean * (past - usual).numpy()


def _as_values(view: View, levels: np.ndarray) -> np.ndarray:
    """Past levels in events: a network that forecasts probabilities still reads counts."""
    return np.expm1(levels) if view.series.source.kind == "count" else levels
