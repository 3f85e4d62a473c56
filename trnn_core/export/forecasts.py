"""A forecast in tables and words: expected events with their interval, the largest changes, and a headline."""

from __future__ import annotations

import pandas as pd

from trnn_core.charts.theme import number
from trnn_core.models.forecast import Forecast
from trnn_core.words import percent

COLUMNS = {
    "forecast": "mean",
    "lower": "lower",
    "upper": "upper",
    "last_observed": "last_values",
    "change": "change",
    "happened": "observed",
}


def forecast_rows(forecast: Forecast, step: int | None = None) -> pd.DataFrame:
    """One row per period, sender, receiver and action: the interval, the last observed value, the change, and in a past
    forecast what came true."""
    chosen = slice(None) if step is None else slice(step, step + 1)
    return forecast.select(steps=chosen).to_frame(COLUMNS)


def largest_changes(
    forecast: Forecast, step: int = 0, n: int = 10, *, falls: bool = False, action: str | None = None
) -> pd.DataFrame:
    """The n largest expected rises (or falls), largest first; entries without any are left out."""
    if action is not None:  # a table of one action is made in a fraction of the time
        at = forecast.actions.index(action)
        forecast = forecast.select(actions=slice(at, at + 1))
    table = forecast_rows(forecast, step)
    table = table[table["change"] < 0] if falls else table[table["change"] > 0]
    return table.sort_values("change", ascending=falls, kind="stable").head(n).reset_index(drop=True)


def headlines(forecast: Forecast, step: int = 0) -> list[str]:
    """The largest expected rise and fall, where there are any, in words.

    Names are given as they stand; a page that renders Markdown has to escape them.
    """
    parts = []
    for falls, word in ((False, "largest expected rise"), (True, "largest expected fall")):
        for _, r in largest_changes(forecast, step, 1, falls=falls).iterrows():
            parts.append(
                f"{word}: {r['source']} → {r['target']}, {r['action']}, from {number(r['last_observed'])} to about"
                f" {number(r['forecast'])} ({percent(forecast.interval_level)} interval {number(r['lower'])} to"
                f" {number(r['upper'])})"
            )
    return parts


def headline(forecast: Forecast, period: str = "week", step: int = 0) -> str:
    """One sentence on what is expected to change most."""
    parts = headlines(forecast, step)
    when = f"Next {period}" if step == 0 else f"In {step + 1} {period}s"
    return f"{when}: {'; '.join(parts)}." if parts else f"{when}: no change is expected."
