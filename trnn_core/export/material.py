"""Everything a report may tell about one run, gathered once: data, recipe, history, forecast, and what else is stored.

A backtest (`backtest.parquet`, tidy: model, origin, horizon, action, metric, value) and an explanation
(`explanation.npz`: sender and receiver influence) are read where the run has them.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from trnn_core.charts.lines import unit_of
from trnn_core.charts.look import Look
from trnn_core.charts.order import order_actors, place_actors
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.evaluation.results import BacktestResult
from trnn_core.models.forecast import Forecast
from trnn_core.runs import layout
from trnn_core.runs.backtests import read_stored
from trnn_core.runs.run import Run
from trnn_core.runs.store import RunStore

BACKTEST_COLUMNS = {"model", "origin", "horizon", "action", "metric", "value"}


@dataclass(frozen=True)
class Backtest:
    """A stored backtest: the tidy scores, the protocol in words, and, where kept, scores per dyad."""

    table: pd.DataFrame
    protocol: str = ""
    dyads: pd.DataFrame | None = None
    result: BacktestResult | None = None  # all of it, where it was kept

    def mean(self, metric: str, horizon: int = 1) -> pd.Series:
        """Mean over origins by model, all actions together."""
        rows = self.table[(self.table["metric"] == metric) & (self.table["horizon"] == horizon)]
        whole = rows[rows["action"] == "all"]
        return (whole if len(whole) else rows).groupby("model", sort=False)["value"].mean()


@dataclass(frozen=True)
class Explanation:
    """Who moves whom: row is moved, column moves; (N, N) each. `solid` says which ties stand out from their errors."""

    sender: np.ndarray
    receiver: np.ndarray
    actors: tuple[str, ...]
    method: str
    solid: tuple[np.ndarray, np.ndarray] | None = None
    stability: str = ""


@dataclass(frozen=True)
class Material:
    """One run, ready to be told."""

    run: Run
    series: RelationalSeries
    forecast: Forecast
    backtest: Backtest | None = None
    explanation: Explanation | None = None
    made: str = ""  # ISO date on which the export was made

    @property
    def simulated(self) -> bool:
        return self.forecast.simulated or self.series.source.simulated

    @property
    def unit(self) -> str:
        return unit_of(self.series)

    def look(self, title: str = "", *, subtitle: str = "", height: int = 0) -> Look:
        """Of a chart of this run: on light ground."""
        return Look(title, simulated=self.simulated, subtitle=subtitle, height=height)

    @property
    def period(self) -> str:
        return self.series.period

    @property
    def title(self) -> str:
        return self.series.source.title

    @cached_property
    def summary(self) -> dict[str, Any]:
        return self.run.summary() or {}

    @cached_property
    def positions(self) -> np.ndarray:
        return place_actors(self.series)

    @cached_property
    def order(self) -> list[int]:
        return order_actors(self.series)


def gather(run_id: str, store: RunStore, made: str | None = None) -> Material:
    """Read a run with all that is stored about it; a run without a forecast cannot be reported."""
    run = store.get(run_id)
    forecast = run.forecast()
    if forecast is None:
        raise TRNNError(
            f"Run {run_id} has no forecast yet: it is {run.status().state}. Let it finish, or stop it and keep its"
            " weights."
        )
    series = store.series(run).select(actors=run.recipe.data.actors, actions=run.recipe.data.actions)
    if (forecast.actors, forecast.actions) != (series.actors, series.actions):
        raise TRNNError(f"The forecast of run {run_id} names other actors or actions than its data; train it again.")
    return Material(run, series, forecast, read_backtest(run), read_explanation(run), made or date.today().isoformat())


def read_backtest(run: Run) -> Backtest | None:
    content = run.read_checked(layout.BACKTEST_SCORES)
    if content is None:
        return None
    table = _parquet(content, run, layout.BACKTEST_SCORES)
    missing = BACKTEST_COLUMNS - set(table.columns)
    if missing:
        raise TRNNError(
            f"{run.folder / layout.BACKTEST_SCORES} must have the columns {', '.join(sorted(BACKTEST_COLUMNS))}."
            f" It lacks {', '.join(sorted(missing))}; run the backtest again."
        )
    about, dyads = run.read_checked(layout.BACKTEST_ABOUT), run.read_checked(layout.BACKTEST_DYADS)
    try:
        words = str(json.loads(about).get("protocol_in_words", "")) if about else ""
    except (ValueError, AttributeError) as e:
        raise TRNNError(f"{run.folder / layout.BACKTEST_ABOUT} cannot be read ({e}); run the backtest again.") from e
    return Backtest(
        table, words, _parquet(dyads, run, layout.BACKTEST_DYADS) if dyads else None, read_stored(run.read_checked)
    )


def read_explanation(run: Run) -> Explanation | None:
    content = run.read_checked(layout.EXPLANATION)
    if content is None:
        return None
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            actors = tuple(str(a) for a in stored["actors"])
            kept = set(stored.files)
            solid = (stored["sender_solid"], stored["receiver_solid"]) if "sender_solid" in kept else None
            words = str(stored["stability"]) if "stability" in kept else ""
            found = Explanation(stored["sender"], stored["receiver"], actors, str(stored["method"]), solid, words)
    except Exception as e:  # a zip can break in many ways; all of them mean the same here
        raise TRNNError(f"{run.folder / layout.EXPLANATION} cannot be read ({e}); explain the run again.") from e
    if found.sender.shape != (len(actors), len(actors)) or found.receiver.shape != found.sender.shape:
        raise TRNNError(
            f"{run.folder / layout.EXPLANATION} must hold two {len(actors)} x {len(actors)} matrices; explain the run"
            " again."
        )
    return found


def _parquet(content: bytes, run: Run, name: str) -> pd.DataFrame:
    try:
        return pd.read_parquet(io.BytesIO(content))
    except Exception as e:  # damaged files fail in many ways inside the reader
        raise TRNNError(f"{run.folder / name} cannot be read ({e}); run the backtest again.") from e
