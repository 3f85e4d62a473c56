"""A run's forecast as pages, tables and reports need it: expected events, interval, change, and the same in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from trnn_core.charts.theme import number
from trnn_core.errors import TRNNError
from trnn_core.export.tables import tidy


@dataclass(frozen=True)
class RunForecast:
    """The arrays of forecast.npz, checked: H periods ahead, N senders, M receivers, K actions."""

    dates: tuple[str, ...]
    actors: tuple[str, ...]
    actions: tuple[str, ...]
    mean: np.ndarray  # (H, N, M, K)
    lower: np.ndarray
    upper: np.ndarray
    last_date: str
    last_values: np.ndarray  # (N, M, K)
    meta: Mapping[str, Any]

    @classmethod
    def from_arrays(cls, stored: Mapping[str, Any]) -> RunForecast:
        missing = {"dates", "actors", "actions", "mean", "lower", "upper", "last_values", "meta"} - set(stored)
        if missing:
            raise TRNNError(f"A forecast must hold {', '.join(sorted(missing))}; train the run again.")
        names: dict[str, Any] = {part: tuple(str(x) for x in stored[part]) for part in ("dates", "actors", "actions")}
        shape = (len(names["dates"]), len(names["actors"]), len(names["actors"]), len(names["actions"]))
        arrays: dict[str, Any] = {
            part: np.asarray(stored[part], dtype=float) for part in ("mean", "lower", "upper", "last_values")
        }
        for part, array in arrays.items():
            expected = shape[1:] if part == "last_values" else shape
            if array.shape != expected:
                raise TRNNError(f"The forecast's '{part}' must have the shape of its labels, {expected}. Got {array.shape} instead.")  # fmt: skip
        return cls(**names, **arrays, last_date=str(stored.get("last_date", ""))[:10], meta=dict(stored["meta"]))

    @property
    def simulated(self) -> bool:
        return bool(self.meta.get("simulated", False))

    @property
    def level(self) -> float:
        return float(self.meta.get("level", 0.9))

    @property
    def change(self) -> np.ndarray:
        """Expected minus last observed, (H, N, M, K); NaN where the last period was not observed."""
        return self.mean - self.last_values[None]

    def table(self, step: int | None = None) -> pd.DataFrame:
        """Tidy: one row per period, sender, receiver and action, with the interval and the last observed value."""
        chosen = slice(None) if step is None else slice(step, step + 1)
        dates = self.dates[chosen]
        columns = {
            "forecast": self.mean[chosen],
            "lower": self.lower[chosen],
            "upper": self.upper[chosen],
            "last_observed": np.broadcast_to(self.last_values, (len(dates), *self.last_values.shape)),
            "change": self.change[chosen],
        }
        return tidy(columns, dates, self.actors, self.actions, simulated=self.simulated)

    def largest(self, step: int = 0, n: int = 10, *, falls: bool = False, action: str | None = None) -> pd.DataFrame:
        """The n largest expected rises (or falls), largest first; cells without any are left out."""
        table = self.table(step)
        if action is not None:
            table = table[table["action"] == action]
        table = table[table["change"] < 0] if falls else table[table["change"] > 0]
        return table.sort_values("change", ascending=falls, kind="stable").head(n).reset_index(drop=True)

    def headlines(self, step: int = 0) -> list[str]:
        """The largest expected rise and fall, where there are any, in words.

        Names are given as they stand; a page that renders Markdown has to escape them.
        """
        parts = []
        for falls, word in ((False, "largest expected rise"), (True, "largest expected fall")):
            rows = self.largest(step, 1, falls=falls)
            if len(rows):
                r = rows.iloc[0]
                parts.append(
                    f"{word}: {r['source']} → {r['target']}, {r['action']}, from {number(r['last_observed'])} to about "
                    f"{number(r['forecast'])} ({self.level:.0%} interval {number(r['lower'])} to {number(r['upper'])})"
                )
        return parts

    def headline(self, period: str = "week", step: int = 0) -> str:
        """One sentence on what is expected to change most."""
        parts = self.headlines(step)
        when = f"Next {period}" if step == 0 else f"In {step + 1} {period}s"
        return f"{when}: {'; '.join(parts)}." if parts else f"{when}: no change is expected."
