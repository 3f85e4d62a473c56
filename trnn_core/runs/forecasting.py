"""What a finished training leaves for pages to read: forecast.npz, hindcast.npz and summary.json.

The forecaster of the run looks ahead from the end of the series (the forecast) and from every period before a
validation or test period (the hindcast), as it would have done then; the summary scores the first step of the latter.

Dimension letters: O origins (the last period known), H steps ahead, N sources, M targets, K actions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from trnn_core.data.series import RelationalSeries
from trnn_core.files import npz_bytes
from trnn_core.models.baselines.level_forecaster import LevelForecaster
from trnn_core.models.coverage import activity_groups, covered, pit_bounds
from trnn_core.models.distributions import Bernoulli, NegativeBinomial
from trnn_core.models.forecast import Forecast
from trnn_core.runs import layout
from trnn_core.runs.run import Run
from trnn_core.training.learners import Learner
from trnn_core.training.trainer import Fitted

HORIZON = 8
LEVEL = 0.9
HINDCAST_BYTES = 64_000_000  # mean, lower and upper together, before compression
MIN_ORIGINS = 26  # below this many the hindcast rather looks less far ahead
GROUPS = ("quiet", "middling", "active")
_BLOCK, _BLOCK_CELLS = 64, 2_000_000  # origins forecast at once, and cells of theirs where there are many actors


@dataclass(frozen=True)
class Cells:
    """Mean, median and interval of some cells, float32."""

    mean: np.ndarray
    median: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def finish_run(fitted: Fitted, run: Run) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The bytes of forecast.npz and hindcast.npz, and the content of summary.json."""
    learner = fitted.learner
    looks = Hindcast(learner)
    summary = summarise(fitted, looks)
    common = {
        "run_id": run.run_id,
        "simulated": bool(run.config["data"]["simulated"]),
        "data": run.config["data"]["title"],
        "level": LEVEL,
        "intervals": learner.uncertainty(HORIZON),
        "model": learner.describe(),
        "units": looks.units,
    }
    ahead = {**common, "best_epoch": fitted.best_epoch, "validation": summary["validation"], "test": summary["test"]}
    forecast = make_forecast(looks.forecaster, learner.series, HORIZON, ahead)
    return {layout.FORECAST: forecast, layout.HINDCAST: looks.to_bytes(common)}, summary


def make_forecast(forecaster: LevelForecaster, series: RelationalSeries, horizon: int, meta: dict[str, Any]) -> bytes:
    """The periods after the last observed one."""
    cells = _cells(forecaster.forecast(series, horizon))
    return npz_bytes(
        dates=series.next_dates(horizon).astype(str),
        actors=np.array(series.actors),
        actions=np.array(series.actions),
        last_date=np.array(str(series.dates[-1])),
        last_values=series.values[-1].astype(np.float32),
        meta=np.array(json.dumps(meta)),
        **cells.__dict__,
    )


class Hindcast:
    """Forecasts from the periods before each validation and test period: kept for pages, and scored one step ahead."""

    def __init__(self, learner: Learner) -> None:
        self.learner, self.series, self.split = learner, learner.series, learner.split
        self.forecaster = learner.forecaster()
        first = self.split.validation.start
        self.origins = np.arange(max(first - 1, 0), len(self.series) - 1)
        self.n_kept, self.horizon = self._room()
        self.kept: list[Cells] = []
        self.scores: dict[int, dict[str, np.ndarray]] = {}  # by target period
        self.units, self.scale = "value", "value"
        for origin, forecast in self._forecasts():
            self._describe(forecast)
            if origin >= self._first_kept:
                self.kept.append(_cells(forecast))
            self.scores[origin + 1] = self._score(forecast, origin + 1)

    def _room(self) -> tuple[int, int]:
        """How many of the latest origins are kept, and how many steps ahead."""
        per_step = 12 * int(np.prod(self.series.shape[1:]))
        horizon = HORIZON
        while horizon > 1 and HINDCAST_BYTES // (per_step * horizon) < min(MIN_ORIGINS, len(self.origins)):
            horizon //= 2
        return min(len(self.origins), HINDCAST_BYTES // (per_step * horizon)), horizon

    @property
    def _first_kept(self) -> int:
        return int(self.origins[-1]) + 1 - self.n_kept if len(self.origins) else 0

    def _forecasts(self) -> Iterator[tuple[int, Forecast]]:
        """Only the origins that are kept are forecast far."""
        for part, steps in ((self.origins < self._first_kept, 1), (self.origins >= self._first_kept, self.horizon)):
            chosen = self.origins[part].tolist()
            size = min(_BLOCK, max(1, _BLOCK_CELLS // int(np.prod(self.series.shape[1:]))))
            for at in range(0, len(chosen), size):
                block = chosen[at : at + size]
                yield from zip(block, self.forecaster.forecast_many(self.series, block, steps), strict=True)

    def _describe(self, forecast: Forecast) -> None:
        if isinstance(forecast.distribution, Bernoulli):
            self.units, self.scale = "probability of any event", "0 or 1 (any event)"
        elif isinstance(forecast.distribution, NegativeBinomial):
            self.units, self.scale = "expected count", "log1p"

    def _score(self, forecast: Forecast, target: int) -> dict[str, np.ndarray]:
        """Squared errors of the first step, of repeating the last period, and how much of the truth the interval
        holds."""
        now, before = (self.series.values[t].astype(np.float64) for t in (target, target - 1))
        if self.scale == "log1p":
            truth, naive = np.log1p(now), np.log1p(before)
        elif self.scale == "value":
            truth, naive = now, before
        else:
            now, naive = (np.where(np.isnan(x), np.nan, x > 0) for x in (now, before))
            truth = now
        distribution = forecast.distribution[0]
        low, high = distribution.quantiles(((1 - LEVEL) / 2, (1 + LEVEL) / 2))
        return {
            "squared": (forecast.point[0] - truth) ** 2,
            "naive": (naive - truth) ** 2,
            "inside": covered(*pit_bounds(distribution, np.nan_to_num(now)), LEVEL),
            "width": high - low,
        }

    def score(self, part: range) -> dict[str, Any] | None:
        """The first step over a part of the series: error and skill, coverage and width, by how active dyads are."""
        targets = [t for t in part if t in self.scores]
        if not targets:
            return None
        n = len(self.series.actors)
        pairs = np.ones((n, n), dtype=bool) if self.learner.diagonal or n == 1 else ~np.eye(n, dtype=bool)
        stacked = {name: np.stack([self.scores[t][name] for t in targets]) for name in self.scores[targets[0]]}
        observed = self.series.observed
        scored = np.stack([observed[t] & observed[t - 1] for t in targets]) & pairs[..., None]
        if not scored.any():
            return None
        mse, mse_naive = (float(stacked[name][scored].mean()) for name in ("squared", "naive"))
        groups = activity_groups(self.series.values[: self.split.validation.start], pairs)
        by = {name: scored & (groups == g)[..., None] for g, name in enumerate(GROUPS, start=1)}
        return {
            "n_origins": len(targets),
            "scale": self.scale,
            "cells": "all" if self.learner.diagonal else "off the diagonal",
            "mse": mse,
            "mse_persistence": mse_naive,
            "skill": 1 - mse / mse_naive if mse_naive > 0 else None,
            "coverage90": float(stacked["inside"][scored].mean()),
            "coverage90_by_activity": {
                k: float(stacked["inside"][m].mean()) if m.any() else None for k, m in by.items()
            },
            "width90_by_activity": {k: float(stacked["width"][m].mean()) if m.any() else None for k, m in by.items()},
        }

    def to_bytes(self, meta: dict[str, Any]) -> bytes:
        """hindcast.npz: origins (O,), mean, lower and upper (O, H, N, M, K)."""
        kept = self.origins[len(self.origins) - len(self.kept) :]
        shape = (0, self.horizon, *self.series.shape[1:])
        arrays = {
            name: np.stack([getattr(c, name) for c in self.kept]) if self.kept else np.zeros(shape, np.float32)
            for name in ("mean", "lower", "upper")
        }
        parts = {"validation": len(self.split.validation), "test": len(self.split.test)}
        words = (
            f"forecast from the {len(kept)} last periods before the validation and test periods ({parts['validation']}"
            f" and {parts['test']}), {self.horizon} steps ahead each, by the network trained on the"
            f" {len(self.split.train)} periods before them"
        )
        return npz_bytes(
            origins=self.series.dates[kept].astype(str),
            actors=np.array(self.series.actors),
            actions=np.array(self.series.actions),
            meta=np.array(json.dumps({**meta, "parts": parts, "words": words})),
            **arrays,
        )


def summarise(fitted: Fitted, looks: Hindcast) -> dict[str, Any]:
    """Losses of the best epoch, and one-step skill against persistence on periods the network never learnt from."""
    learner = fitted.learner
    best = next((row for row in fitted.history if row["epoch"] == fitted.best_epoch), {})
    return {
        "model": learner.describe(),
        "n_parameters": learner.n_parameters,
        "epochs_done": len(fitted.history),
        "best_epoch": fitted.best_epoch,
        "train_loss": best.get("train_loss"),
        "val_loss": best.get("val_loss"),
        "test_loss": learner.test_loss(),
        "loss_scale": learner.loss_scale,
        "split": {p: len(learner.split[p]) for p in ("train", "validation", "test")},  # type: ignore[index]
        "validation": looks.score(learner.split.validation),
        "test": looks.score(learner.split.test),
    }


def _cells(forecast: Forecast) -> Cells:
    """Means are kept to three digits or so: the rest would only take up room."""
    if isinstance(forecast.distribution, Bernoulli):  # a chance is its own forecast; the outcome around it is 0 or 1
        middle = forecast.mean
        lower, upper = forecast.interval(LEVEL)
    else:
        lower, middle, upper = forecast.distribution.quantiles(((1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2))
    arrays = (forecast.mean, middle, lower, upper)
    return Cells(*(_rounded(np.asarray(x, dtype=np.float32)) for x in arrays))


def _rounded(x: np.ndarray) -> np.ndarray:
    """Float32 with 12 bits of the fraction: whole numbers up to 4096 stay exact, the rest errs by at most 1 in 8000."""
    bits = x.view(np.uint32)
    return ((bits + np.uint32(0x400)) & np.uint32(0xFFFFF800)).view(np.float32)
