"""A run's forecast as pages, tables and reports need it: expected events, interval, change, and the same in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from trnn_core.charts.theme import number
from trnn_core.data.series import RelationalSeries, step_dates
from trnn_core.errors import TRNNError
from trnn_core.export.tables import tidy
from trnn_core.words import percent


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
    happened: np.ndarray | None = None  # (H, N, M, K) for a past forecast; NaN where nothing is known yet

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
                raise TRNNError(
                    f"The forecast's '{part}' must have the shape of its labels, {expected}. Got {array.shape} instead."
                )
        return cls(**names, **arrays, last_date=str(stored.get("last_date", ""))[:10], meta=dict(stored["meta"]))

    @classmethod
    def from_hindcast(cls, stored: Mapping[str, Any], origin: str, series: RelationalSeries) -> RunForecast:
        """What the run expected after a past period, as it would have then, beside what happened.

        stored  origins (O,), mean, lower, upper (O, H, N, M, K), actors, actions, meta
        """
        origins = [str(o)[:10] for o in stored["origins"]]
        known = [str(d) for d in series.dates]
        if origin not in origins or origin not in known:
            raise TRNNError(
                f"A backtested period must be one of {origins[0]} to {origins[-1]}. Got {origin!r} instead."
            )
        o, t = origins.index(origin), known.index(origin)
        horizon = np.shape(stored["mean"])[1]
        happened = np.full((horizon, *series.shape[1:]), np.nan)
        after = np.asarray(series.values[t + 1 : t + 1 + horizon], dtype=float)
        happened[: len(after)] = after
        arrays = {part: stored[part][o] for part in ("mean", "lower", "upper")}
        found = cls.from_arrays(
            arrays
            | {
                "dates": [str(d) for d in step_dates(series.dates[t], series.period, horizon)],
                "actors": stored["actors"],
                "actions": stored["actions"],
                "last_date": origin,
                "last_values": series.values[t],
                "meta": dict(stored["meta"]) | {"simulated": series.source.simulated},
            }
        )
        return replace(found, happened=happened)

    @property
    def error(self) -> np.ndarray | None:
        """Expected minus what happened, (H, N, M, K); None for a forecast of the future."""
        return None if self.happened is None else self.mean - self.happened

    def is_past(self, step: int) -> bool:
        """Whether it is known what happened in this period."""
        return self.happened is not None and bool(np.isfinite(self.happened[step]).any())

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
        if self.happened is not None:
            columns["happened"] = self.happened[chosen]
        return tidy(columns, dates, self.actors, self.actions, simulated=self.simulated)

    def largest(self, step: int = 0, n: int = 10, *, falls: bool = False, action: str | None = None) -> pd.DataFrame:
        """The n largest expected rises (or falls), largest first; cells without any are left out."""
        kept = slice(None) if action is None else slice(self.actions.index(action), self.actions.index(action) + 1)
        table = self._of(kept).table(step)
        table = table[table["change"] < 0] if falls else table[table["change"] > 0]
        return table.sort_values("change", ascending=falls, kind="stable").head(n).reset_index(drop=True)

    def _of(self, kept: slice) -> RunForecast:
        """Some of the actions: a table of them is made in a fraction of the time."""
        arrays = {part: getattr(self, part)[..., kept] for part in ("mean", "lower", "upper", "last_values")}
        happened = None if self.happened is None else self.happened[..., kept]
        return replace(self, actions=self.actions[kept], happened=happened, **arrays)

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
                    f"{word}: {r['source']} → {r['target']}, {r['action']}, from {number(r['last_observed'])} to about"
                    f" {number(r['forecast'])} ({percent(self.level)} interval {number(r['lower'])} to"
                    f" {number(r['upper'])})"
                )
        return parts

    def headline(self, period: str = "week", step: int = 0) -> str:
        """One sentence on what is expected to change most."""
        parts = self.headlines(step)
        when = f"Next {period}" if step == 0 else f"In {step + 1} {period}s"
        return f"{when}: {'; '.join(parts)}." if parts else f"{when}: no change is expected."
