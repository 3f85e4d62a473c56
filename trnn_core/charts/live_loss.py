"""Curves of a training that is being watched: Vega-Lite specifications, and the rows they draw.

The specification of a run stays the same from update to update and only its rows change, so that the browser moves the
lines of a chart that is already there. A chart drawn anew would be blank for a moment, every second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from trnn_core.charts.lines import best_epoch
from trnn_core.charts.theme import FONT, fade, palette
from trnn_core.errors import TRNNError

MOST_POINTS = 400  # of a line; more than a screen can show
TRAIN, VALIDATION, BEST = "training", "validation", "best epoch"
LINE_NAMES = (TRAIN, VALIDATION, BEST)
COLUMNS = ["epoch", "value", "series", "kind"]


def loss_rows(
    history: pd.DataFrame, *, smoothing: float = 0.0, others: Sequence[tuple[str, pd.DataFrame]] = ()
) -> pd.DataFrame:
    """One row per epoch and line: training, validation, the best epoch, and the validation loss of earlier runs."""
    if not 0 <= smoothing < 1:
        raise TRNNError(f"Smoothing must be from 0 (none) to below 1. Got {smoothing} instead.")
    parts = [_line(other, "val_loss", name, "earlier", smoothing) for name, other in others]
    parts += [_line(history, c, s, "now", smoothing) for c, s in (("train_loss", TRAIN), ("val_loss", VALIDATION))]
    best = best_epoch(history)
    if best is not None:
        parts.append(pd.DataFrame([[best[0], best[1], BEST, "best"]], columns=COLUMNS))
    return _joined(parts)


def norm_rows(history: pd.DataFrame, *, smoothing: float = 0.0) -> pd.DataFrame:
    """The length of the gradient, epoch by epoch."""
    return _joined([_line(history, "grad_norm", "gradient norm", "now", smoothing)])


def can_be_log(rows: pd.DataFrame) -> bool:
    """Whether every figure has a logarithm; a likelihood's loss may be below zero."""
    return bool((rows["value"] > 0).all())


def _line(history: pd.DataFrame, column: str, series: str, kind: str, smoothing: float) -> pd.DataFrame:
    if column not in history:
        return pd.DataFrame(columns=COLUMNS)
    values = pd.to_numeric(history[column], errors="coerce").astype(float)
    shown = values.ewm(alpha=1 - smoothing).mean().where(values.notna()) if smoothing else values
    line = pd.DataFrame({"epoch": history["epoch"].astype(float), "value": shown, "series": series, "kind": kind})
    line = line[np.isfinite(line["value"])]
    if len(line) > MOST_POINTS:
        line = line.iloc[np.unique(np.linspace(0, len(line) - 1, MOST_POINTS).astype(int))]
    return line


def _joined(parts: list[pd.DataFrame]) -> pd.DataFrame:
    filled = [p for p in parts if len(p)]
    return (
        pd.concat(filled, ignore_index=True)
        if filled
        else pd.DataFrame(columns=COLUMNS).astype({"epoch": float, "value": float})
    )


def loss_spec(
    *, simulated: bool, log: bool, names: Sequence[str] = (), dark: bool = False, height: int = 300
) -> dict[str, Any]:
    """Training and validation loss, the best epoch as a diamond, earlier runs (`names`) dashed behind."""
    colours = palette(dark)
    series = [*LINE_NAMES, *names]
    behind = (colours.lines[6], colours.lines[2], colours.lines[3], colours.lines[5], colours.lines[7])
    range_ = [
        colours.lines[0],
        colours.lines[1],
        colours.lines[4],
        *(fade(behind[i % 5], 0.8) for i in range(len(names))),
    ]
    x, y = _axes("loss (l)", log)
    colour = {
        "field": "series",
        "type": "nominal",
        "scale": {"domain": series, "range": range_},
        "legend": {
            "orient": "bottom",
            "title": None,
            "columns": 4,
            "labelLimit": 220,
            "symbolType": "stroke",
            "symbolStrokeWidth": 3,
        },
    }
    tooltip = [
        {"field": "series", "title": "line"},
        {"field": "epoch", "title": "epoch"},
        {"field": "value", "title": "loss", "format": ".5g"},
    ]
    encoding = {"x": x, "y": y, "color": colour, "tooltip": tooltip}
    return _spec("Loss", "", simulated, dark, height) | {
        "encoding": encoding,
        "layer": [
            {
                "transform": [{"filter": "datum.kind === 'earlier'"}],
                "mark": {"type": "line", "strokeWidth": 1.3, "strokeDash": [5, 3], "clip": True},
            },
            {
                "transform": [{"filter": "datum.kind === 'now'"}],
                "mark": {"type": "line", "strokeWidth": 2, "point": {"size": 14}, "clip": True},
            },
            {
                "transform": [{"filter": "datum.kind === 'best'"}],
                "mark": {
                    "type": "point",
                    "shape": "diamond",
                    "size": 140,
                    "filled": True,
                    "opacity": 1,
                    "stroke": colours.ink,
                    "strokeWidth": 1,
                },
            },
        ],
    }


def norm_spec(*, simulated: bool, log: bool, dark: bool = False, height: int = 110) -> dict[str, Any]:
    x, y = _axes("norm", log, ticks=3)
    tooltip = [{"field": "epoch", "title": "epoch"}, {"field": "value", "title": "gradient norm", "format": ".4g"}]
    return _spec("Gradient norm", "how steep the loss still is", simulated, dark, height) | {
        "encoding": {"x": x, "y": y, "tooltip": tooltip},
        "mark": {"type": "line", "strokeWidth": 2, "color": palette(dark).lines[2], "clip": True},
    }


def _axes(title: str, log: bool, ticks: int = 6) -> tuple[dict[str, Any], dict[str, Any]]:
    x = {
        "field": "epoch",
        "type": "quantitative",
        "axis": {"title": "epoch", "tickMinStep": 1, "format": "d", "grid": False},
        "scale": {"zero": False, "nice": False, "padding": 6},
    }
    scale = {"type": "log" if log else "linear", "zero": False, "nice": not log, "padding": 8 if log else 0}
    y = {
        "field": "value",
        "type": "quantitative",
        "scale": scale,
        "axis": {
            "title": title + (", log scale" if log else ""),
            "tickCount": ticks,
            "labelOverlap": True,
            "format": ".3~g",
        },
    }
    return x, y


def _spec(title: str, subtitle: str, simulated: bool, dark: bool, height: int) -> dict[str, Any]:
    colours = palette(dark)
    note = " · ".join(part for part in ("SIMULATED data" if simulated else "", subtitle) if part)
    about: dict[str, Any] = {
        "text": title,
        "anchor": "start",
        "fontSize": 17,
        "color": colours.ink,
        "subtitleColor": colours.faint,
        "subtitleFontSize": 13,
    }
    if note:
        about["subtitle"] = note
    axis = {
        "gridColor": colours.grid,
        "domainColor": colours.grid,
        "tickColor": colours.grid,
        "labelColor": colours.faint,
        "titleColor": colours.faint,
        "labelFontSize": 12,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
    }
    return {
        "title": about,
        "height": height,
        "width": "container",
        "padding": {"top": 10, "bottom": 16, "left": 2, "right": 12},
        "background": "transparent",
        "config": {
            "font": FONT,
            "axis": axis,
            "view": {"stroke": None},
            "legend": {"labelColor": colours.ink, "labelFontSize": 13},
        },
        "usermeta": {"embedOptions": {"renderer": "svg"}},
    }
