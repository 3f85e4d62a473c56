"""What a finished training leaves for pages to read: forecast.npz, hindcast.npz and summary.json.

The forecaster of the run looks ahead from the end of the series (the forecast) and from every period before a
validation or test period (the hindcast), as it would have done then; the summary scores the first step of the latter.

Dimension letters: O origins (the last period known), H steps ahead, N sources, M targets, K actions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from trnn_core.evaluation.intervals import LEVEL
from trnn_core.evaluation.one_step import OneStepScores
from trnn_core.models.baselines.level_forecaster import LevelForecaster
from trnn_core.models.forecast import Forecast, rounded
from trnn_core.models.hindcast import FIGURES, Hindcast
from trnn_core.runs import layout
from trnn_core.runs.run import Run
from trnn_core.training.learners import Learner
from trnn_core.training.trainer import Fitted

HORIZON = 8
HINDCAST_BYTES = 64_000_000  # mean, lower and upper together, before compression
MIN_ORIGINS = 26  # below this many the hindcast rather looks less far ahead
_BLOCK, _BLOCK_ENTRIES = 64, 2_000_000  # origins forecast at once, and entries of theirs where there are many actors


def finish_run(fitted: Fitted, run: Run) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The bytes of forecast.npz and hindcast.npz, and the content of summary.json."""
    learner, forecaster = fitted.learner, fitted.learner.forecaster()
    hindcast, scores = look_back(learner, forecaster)
    summary = summarise(fitted, scores)
    forecast = forecaster.forecast(learner.series, HORIZON)
    common = {
        "run_id": run.run_id,
        "simulated": bool(run.config["data"]["simulated"]),
        "data": run.config["data"]["title"],
        "level": LEVEL,
        "intervals": learner.uncertainty(HORIZON),
        "model": learner.describe(),
        "units": forecast.distribution.units,
    }
    ahead = {**common, "best_epoch": fitted.best_epoch, "validation": summary["validation"], "test": summary["test"]}
    past = {**common, **hindcast.meta}
    return {
        layout.FORECAST: replace(forecast, meta=ahead).to_npz(),
        layout.HINDCAST: replace(hindcast, meta=past).to_npz(),
    }, summary


def look_back(learner: Learner, forecaster: LevelForecaster) -> tuple[Hindcast, OneStepScores]:
    """Forecasts from the periods before each validation and test period: kept for pages, and scored one step ahead."""
    series, split = learner.series, learner.split
    origins = np.arange(max(split.validation.start - 1, 0), len(series) - 1)
    n_kept, horizon = _room(series.shape[1:], len(origins))
    older, kept = np.split(origins, [len(origins) - n_kept])
    arrays = {name: np.zeros((n_kept, horizon, *series.shape[1:]), np.float32) for name in FIGURES}
    scores = OneStepScores(series, diagonal=learner.diagonal, first=split.validation.start)
    for origin, forecast in _forecasts(learner, forecaster, older.tolist(), 1):
        scores.add(forecast, origin + 1)
    for origin, forecast in _forecasts(learner, forecaster, kept.tolist(), horizon):
        scores.add(forecast, origin + 1)
        for name, array in arrays.items():
            array[origin - kept[0]] = rounded(getattr(forecast, name))
    words = (
        f"forecast from the {n_kept} last periods before the validation and test periods ({len(split.validation)}"
        f" and {len(split.test)}), {horizon} steps ahead each, by the network trained on the"
        f" {len(split.train)} periods before them"
    )
    meta = {"parts": {"validation": len(split.validation), "test": len(split.test)}, "words": words}
    return Hindcast(series.dates[kept], series.actors, series.actions, **arrays, meta=meta), scores


def _room(shape: tuple[int, ...], n_origins: int) -> tuple[int, int]:
    """How many of the latest origins are kept, and how many steps ahead."""
    per_step, horizon = 12 * int(np.prod(shape)), HORIZON
    while horizon > 1 and HINDCAST_BYTES // (per_step * horizon) < min(MIN_ORIGINS, n_origins):
        horizon //= 2
    return min(n_origins, HINDCAST_BYTES // (per_step * horizon)), horizon


def _forecasts(
    learner: Learner, forecaster: LevelForecaster, origins: list[int], horizon: int
) -> Iterator[tuple[int, Forecast]]:
    size = min(_BLOCK, max(1, _BLOCK_ENTRIES // int(np.prod(learner.series.shape[1:]))))
    for at in range(0, len(origins), size):
        block = origins[at : at + size]
        yield from zip(block, forecaster.forecast_many(learner.series, block, horizon), strict=True)


def summarise(fitted: Fitted, scores: OneStepScores) -> dict[str, Any]:
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
        "validation": scores.over(learner.split.validation),
        "test": scores.over(learner.split.test),
    }
