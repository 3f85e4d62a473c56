"""What a finished training leaves for pages to read: forecast.npz and summary.json.

Intervals come from the network's own errors in the validation periods, horizon by horizon, per action and per level
of the prediction (busy dyads err more than silent ones). They say how wrong the network was lately, nothing more.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from trnn_core.cells.kinds import CELLS
from trnn_core.data.windows import Part
from trnn_core.training.networks import part_loss
from trnn_core.training.predictor import Predictor
from trnn_core.training.runs import Run
from trnn_core.training.trainer import Fitted

HORIZON = 8
LEVEL = 0.9
N_BINS = 8  # levels of the prediction, per action
MIN_ORIGINS = 10  # below this many, a horizon borrows the errors of the last one that has them
QUANTILES = np.linspace(0.025, 0.975, 20)


@dataclass(frozen=True)
class Errors:
    """Quantiles of past errors on the working scale: edges (K, bins - 1), values (K, bins, quantiles)."""

    edges: np.ndarray
    quantiles: np.ndarray
    levels: np.ndarray  # which quantiles

    def at(self, point: np.ndarray) -> np.ndarray:
        """Quantiles of the outcome around a prediction (..., K): (quantiles, ..., K)."""
        out = np.empty((len(self.levels), *point.shape))
        for k in range(point.shape[-1]):
            bins = np.searchsorted(self.edges[k], point[..., k])
            out[..., k] = np.moveaxis(point[..., k, None] + self.quantiles[k][bins], -1, 0)
        return out


def fit_errors(point: np.ndarray, outcome: np.ndarray, scored: np.ndarray) -> Errors:
    """Group errors (..., K) by action and level of the prediction; cells not scored are left out."""
    levels = np.sort(np.concatenate([QUANTILES, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2]]))
    edges, tables = [], []
    for k in range(point.shape[-1]):
        p, y = point[..., k][scored[..., k]], outcome[..., k][scored[..., k]]
        if not len(p):
            p = y = np.zeros(1)
        cut = np.quantile(p, np.linspace(0, 1, N_BINS + 1)[1:-1])
        bins = np.searchsorted(cut, p)
        whole = np.quantile(y - p, levels)
        rows = [np.quantile((y - p)[bins == b], levels) if (bins == b).sum() >= 30 else whole for b in range(N_BINS)]
        edges.append(cut)
        tables.append(rows)
    return Errors(np.array(edges), np.array(tables), levels)


def finish_run(fitted: Fitted, run: Run) -> tuple[bytes, dict[str, Any]]:
    """The bytes of forecast.npz and the content of summary.json."""
    predictor = Predictor(fitted.network, fitted.prepared)
    errors, words = validation_errors(predictor, HORIZON)
    summary = summarise(fitted, predictor, errors[0])
    meta = {
        "run_id": run.run_id,
        "simulated": bool(run.config["data"]["simulated"]),
        "data": run.config["data"]["title"],
        "level": LEVEL,
        "intervals": words,
        "model": describe_model(fitted),
        "units": "probability of any event" if predictor.scale == "probability" else "expected count" if fitted.prepared.series.source.kind == "count" else "value",
        "best_epoch": fitted.best_epoch,
        "validation": summary["validation"],
        "test": summary["test"],
    }  # fmt: skip
    return make_forecast(predictor, errors, meta), summary


def make_forecast(predictor: Predictor, errors: list[Errors], meta: dict[str, Any]) -> bytes:
    """Forecast as many periods after the last observed one as there are error tables."""
    series = predictor.prepared.series
    point = predictor.roll(np.array([len(series) - 1]), len(errors))[0]  # (H, N, M, K)
    arrays: dict[str, list[np.ndarray]] = {"mean": [], "median": [], "lower": [], "upper": []}
    for h, table in enumerate(errors):
        outcomes = np.stack([predictor.to_values(z) for z in table.at(point[h])])  # (quantiles, N, M, K)
        wanted = {"lower": (1 - LEVEL) / 2, "median": 0.5, "upper": (1 + LEVEL) / 2}
        for name, q in wanted.items():
            arrays[name].append(outcomes[np.argmin(np.abs(table.levels - q))])
        arrays["mean"].append(outcomes[np.isin(table.levels, QUANTILES)].mean(axis=0))
    if predictor.scale == "probability":  # a probability is its own forecast; the outcome around it is 0 or 1
        arrays["mean"] = arrays["median"] = list(predictor.to_values(point))
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        allow_pickle=False,
        dates=series.next_dates(len(errors)).astype(str),
        actors=np.array(series.actors),
        actions=np.array(series.actions),
        last_date=np.array(str(series.dates[-1])),
        last_values=series.values[-1].astype(np.float32),
        meta=np.array(json.dumps(meta)),
        **{name: np.stack(rows).astype(np.float32) for name, rows in arrays.items()},
    )
    return buffer.getvalue()


def validation_errors(predictor: Predictor, horizon: int) -> tuple[list[Errors], str]:
    """Error tables for horizons 1 .. horizon, and in words where they come from."""
    prepared = predictor.prepared
    part: Part = "validation" if len(prepared.split.validation) else "train"
    targets, point = predictor.one_step(part)
    if part == "train":
        targets, point = targets[-60:], point[-60:]
    scale = predictor.to_scale(prepared.series.values.astype(np.float64))
    scored = prepared.mask.numpy()
    tables = [fit_errors(point, scale[targets], scored[targets])]
    n_far = horizon
    for h in range(2, horizon + 1):
        if len(targets) - h + 1 < MIN_ORIGINS:
            n_far = h - 1
            break
    if n_far > 1:
        origins = targets[: len(targets) - n_far + 1] - 1
        origins = origins[np.unique(np.linspace(0, len(origins) - 1, 20).astype(int))]
        rolled = predictor.roll(origins, n_far)
        for h in range(2, n_far + 1):
            at = origins + h
            tables.append(fit_errors(rolled[:, h - 1], scale[at], scored[at]))
    tables += [tables[-1]] * (horizon - n_far)
    words = f"{LEVEL:.0%} intervals from the network's own errors in the {len(targets)} {'validation' if part == 'validation' else 'last training'} periods, per horizon, action and level, on the scale of {predictor.scale}"  # fmt: skip
    if part == "train":
        words += "; the network was trained on these periods, so the intervals are too narrow"
    if n_far < horizon:
        words += f"; too few periods beyond horizon {n_far}, so later horizons use its errors and are too narrow"
    return tables, words


def summarise(fitted: Fitted, predictor: Predictor, errors: Errors) -> dict[str, Any]:
    """Losses of the best epoch, and one-step skill against persistence on periods the network never learnt from."""
    prepared = fitted.prepared
    best = next((row for row in fitted.history if row["epoch"] == fitted.best_epoch), {})
    parts = {p: _score(predictor, p, errors) if len(prepared.split[p]) else None for p in ("validation", "test")}
    return {
        "model": describe_model(fitted),
        "n_parameters": sum(w.numel() for w in fitted.network.parameters()),
        "epochs_done": len(fitted.history),
        "best_epoch": fitted.best_epoch,
        "train_loss": best.get("train_loss"),
        "val_loss": best.get("val_loss"),
        "test_loss": part_loss(fitted.network, prepared, "test", 64) if len(prepared.split.test) else None,
        "loss_scale": prepared.loss_scale,
        "split": {p: len(prepared.split[p]) for p in ("train", "validation", "test")},  # type: ignore[index]
        **parts,
    }


def _score(predictor: Predictor, part: Any, errors: Errors) -> dict[str, Any]:
    series = predictor.prepared.series
    targets, point = predictor.one_step(part)
    scored = predictor.prepared.mask.numpy()[targets] & series.observed[targets - 1]
    now, before = series.values[targets].astype(np.float64), series.values[targets - 1].astype(np.float64)
    outcome = predictor.to_scale(now)
    inside = np.zeros(0, dtype=bool)
    if predictor.scale != "probability":
        outcomes = errors.at(point)
        low, high = (outcomes[np.argmin(np.abs(errors.levels - q))] for q in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
        inside = ((outcome >= low - 1e-9) & (outcome <= high + 1e-9))[scored]
    if predictor.scale == "probability":
        truth, model, naive, scale = outcome, point, predictor.to_scale(before), "0 or 1 (any event)"
    elif series.source.kind == "count":
        truth, naive, scale = np.log1p(now), np.log1p(before), "log1p"
        model = np.log1p(predictor.to_values(point))
    else:
        truth, naive, scale, model = outcome, predictor.to_scale(before), predictor.scale, point
    mse, mse_naive = (float(np.mean((f - truth)[scored] ** 2)) for f in (model, naive))
    return {
        "n_origins": len(targets),
        "scale": scale,
        "cells": "all" if predictor.prepared.diagonal else "off the diagonal",
        "mse": mse,
        "mse_persistence": mse_naive,
        "skill": 1 - mse / mse_naive if mse_naive > 0 else None,
        "coverage90": float(inside.mean()) if len(inside) else None,
    }


def describe_model(fitted: Fitted) -> str:
    """The network in words."""
    model, data = fitted.recipe.model, fitted.recipe.data
    cell = CELLS[model.cell].label
    shape = " x ".join(map(str, model.hidden_shape))
    return f"{cell}, hidden {shape}, {data.window} periods per window, {data.design}, {model.likelihood} loss"
