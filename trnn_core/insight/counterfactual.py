"""Scenarios: the forecast with and without changes to recent weeks, and the difference between the two.

Either forecast is a distribution for every relation and week. Their *difference* is taken with the same luck in both
worlds: at every quantile the forecast with the change less the forecast without it. The mean of that is the
difference of the means; its interval says how much the effect depends on how the week turns out otherwise. How wrong
the network's idea of the effect may be it does not say.

Dimension letters: H steps ahead, N actors, K actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.insight.answers import Outcome
from trnn_core.insight.shocks import Shock, plant
from trnn_core.insight.view import View
from trnn_core.models.forecast import Forecast
from trnn_core.words import percent

HORIZON = 8
LEVEL = 0.9
_LUCK = tuple(np.linspace(0.025, 0.975, 20).tolist())  # quantiles compared


def run_scenario(view: View, shocks: Sequence[Shock], horizon: int = HORIZON) -> Outcome:
    """Forecast with and without the shocks."""
    if not shocks:
        raise TRNNError(
            "A scenario needs at least one change to a recent week. Got none; for example China,Japan,material"
            " conflict,+20."
        )
    if not 1 <= horizon <= 52:
        raise TRNNError(f"The horizon must be from 1 to 52 periods. Got {horizon} instead.")
    changed = view.forecaster.forecast(change_series(view, shocks), horizon)
    usual = view.forecaster.forecast(view.series, horizon)
    return compare_forecasts(changed, usual, view.series.source.diagonal)


def change_series(view: View, shocks: Sequence[Shock]) -> RelationalSeries:
    """The series with the shocks in its last periods."""
    values = np.array(view.series.values)
    n = min(view.reach, len(values))
    values[-n:] = plant(values[-n:], shocks, view.series, view.reach)
    return replace(view.series, values=values, observed=view.series.observed | np.isfinite(values))


def compare_forecasts(changed: Forecast, usual: Forecast, diagonal: bool = False) -> Outcome:
    means = np.stack([changed.mean, usual.mean])
    difference = means[0] - means[1]
    luck = changed.distribution.quantiles(_LUCK) - usual.distribution.quantiles(_LUCK)  # (quantiles, H, N, N, K)
    low, high = np.quantile(luck, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    if not diagonal:
        own = np.arange(difference.shape[1])
        for part in (difference, low, high):
            part[:, own, own] = 0.0  # nobody acts towards itself here
    words = (
        f"{percent(LEVEL)} of what the difference can be, from a poor to a rich week, with the same luck with and"
        " without the change"
    )
    return Outcome(
        (changed.mean, *changed.interval(LEVEL)),
        (usual.mean, *usual.interval(LEVEL)),
        difference,
        np.minimum(low, difference),
        np.maximum(high, difference),
        tuple(str(d) for d in changed.dates),
        words,
    )
