"""How well a trained model forecast one step ahead over the parts of its series that it never learnt from.

The same definitions as in a backtest (`evaluation.metrics`), beside the error of repeating the last period.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from trnn_core.data.series import RelationalSeries
from trnn_core.evaluation.intervals import GROUPS, activity_groups
from trnn_core.evaluation.metrics import Outcome, score_entries
from trnn_core.models.forecast import Forecast


class OneStepScores:
    """Collects the scores of the first step of one forecast per period.

    first   dyads are grouped by their activity before this period
    """

    def __init__(self, series: RelationalSeries, *, diagonal: bool, first: int) -> None:
        self.series, self.diagonal, self.first, self.scale = series, diagonal, first, "value"
        self.by_period: dict[int, dict[str, np.ndarray]] = {}

    def add(self, forecast: Forecast, target: int) -> None:
        """A forecast whose first step is the period `target`."""
        observed, before = (np.nan_to_num(self.series.values[t].astype(np.float64)) for t in (target, target - 1))
        self.scale = forecast.distribution.scale
        outcome = Outcome.of(forecast, 1, observed)
        repeated = replace(outcome, expected=outcome.distribution.to_level(before))
        scores = score_entries(outcome, ("mse", "coverage90", "width90"))
        self.by_period[target] = scores | {"mse_persistence": score_entries(repeated, ("mse",))["mse"]}

    def over(self, part: range) -> dict[str, Any] | None:
        """Error and skill, coverage and width over a part of the series; None where nothing of it was scored."""
        targets = [t for t in part if t in self.by_period]
        if not targets:
            return None
        n, seen = len(self.series.actors), self.series.observed
        pairs = np.ones((n, n), dtype=bool) if self.diagonal or n == 1 else ~np.eye(n, dtype=bool)
        used = np.stack([seen[t] & seen[t - 1] for t in targets]) & pairs[..., None]
        if not used.any():
            return None
        scores = {name: np.stack([self.by_period[t][name] for t in targets]) for name in self.by_period[targets[0]]}
        mse, persistence = (float(scores[name][used].mean()) for name in ("mse", "mse_persistence"))
        groups = activity_groups(self.series.values[: self.first], pairs)
        by = {name: used & (groups == g)[..., None] for g, name in enumerate(GROUPS) if g}
        by_activity = {
            name: {group: float(scores[name][m].mean()) if m.any() else None for group, m in by.items()}
            for name in ("coverage90", "width90")
        }
        return {
            "n_origins": len(targets),
            "scale": self.scale,
            "cells": "all" if self.diagonal else "off the diagonal",
            "mse": mse,
            "mse_persistence": persistence,
            "skill": 1 - mse / persistence if persistence > 0 else None,
            "coverage90": float(scores["coverage90"][used].mean()),
            **{f"{name}_by_activity": figures for name, figures in by_activity.items()},
        }
