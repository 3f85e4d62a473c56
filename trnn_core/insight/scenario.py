"""Scenarios: the forecast with and without changes to recent weeks, and the difference between the two.

The forecast without the change is the run's own. The *difference* comes from paired futures: the same past errors of the
network, drawn week by week, are laid over both worlds, so that what is common to them cancels; its mean is the expected
difference, and the forecast with the change is the run's own plus that. The interval says how much the effect depends on
what else happens; it does not know how wrong the network's idea of the effect is.

Dimension letters: H steps ahead, S futures, N actors, K actions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from trnn_core.errors import TRNNError
from trnn_core.insight.answers import Outcome
from trnn_core.insight.shocks import Shock, plant
from trnn_core.insight.view import View

HORIZON = 8
LEVEL = 0.9
N_FUTURES = 48


def run_scenario(
    view: View, shocks: Sequence[Shock], horizon: int = HORIZON, n_futures: int = N_FUTURES, seed: int = 0
) -> Outcome:
    """Forecast with and without the shocks."""
    if not shocks:
        raise TRNNError("A scenario needs at least one change to a recent week. Got none; for example China,Japan,material conflict,+20.")  # fmt: skip
    if not 1 <= horizon <= 52:
        raise TRNNError(f"The horizon must be from 1 to 52 periods. Got {horizon} instead.")
    past = view.past()
    counts = view.series.source.kind == "count"
    level = past.numpy().astype(np.float64)
    moved = plant(np.expm1(level) if counts else level, shocks, view.series, view.reach)
    changed = torch.from_numpy(np.log1p(moved) if counts else moved).to(past.dtype)
    pair = torch.stack([changed, past])
    mean, lower, upper = view.intervals(pair, horizon)
    gaps = paired_futures(view, pair, horizon, n_futures, seed)
    if gaps is None:
        points = view.values(view.levels(pair, horizon).detach().numpy().astype(np.float64))
        gaps = (points[0] - points[1])[None]
        words = "no interval: this network has no past errors to draw futures from"
    else:
        words = f"{LEVEL:.0%} of {n_futures} paired futures, in which the network errs as it did in the validation periods, alike with and without the change"
    if not view.series.source.diagonal:
        gaps[:, :, np.arange(gaps.shape[2]), np.arange(gaps.shape[2])] = 0.0  # nobody acts towards itself here
    difference = gaps.mean(axis=0)
    low, high = np.quantile(gaps, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    low, high = np.minimum(low, difference), np.maximum(high, difference)
    expected = mean[1] + difference
    changed_ends = (np.minimum(lower[0], expected), np.maximum(upper[0], expected))
    dates = tuple(str(d) for d in view.series.next_dates(horizon))
    return Outcome((expected, *changed_ends), (mean[1], lower[1], upper[1]), difference, low, high, dates, words)


@torch.no_grad()
def paired_futures(view: View, pair: torch.Tensor, horizon: int, n_futures: int, seed: int) -> np.ndarray | None:
    """Differences (S, H, N, N, K) between two pasts (2, T, N, N, K) in futures that share their surprises."""
    errors = view.past_errors()
    if errors is None:
        return None
    drawn = np.random.default_rng(seed).integers(len(errors), size=(n_futures, horizon))
    gaps = []
    for part in np.array_split(drawn, -(-n_futures // 16)):
        noise = torch.from_numpy(errors[part]).to(pair.dtype)  # (S, H, N, N, K)
        both = pair.repeat_interleave(len(part), dim=0)
        answers = view.values(view.levels(both, horizon, torch.cat([noise, noise])).numpy().astype(np.float64))
        gaps.append(answers[: len(part)] - answers[len(part) :])
    return np.concatenate(gaps)
