"""The forecast of a run, drawn: shared by the home page and the forecast page."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from trnn_core.charts.chord import chord
from trnn_core.charts.heatmap import Kind, heatmap
from trnn_core.charts.lines import Fan, dyad_history, unit_of
from trnn_core.charts.network import network, strongest
from trnn_core.charts.order import Layout, Order
from trnn_core.data.series import RelationalSeries
from trnn_core.export.forecasts import RunForecast
from trnn_core.training.runs import Run
from ui.page import is_dark
from ui.store import order, positions

Show = Literal["Forecast", "Last observed", "Expected change", "Uncertainty"]
SHOWS: tuple[Show, ...] = ("Forecast", "Last observed", "Expected change", "Uncertainty")


def read_forecast(run: Run) -> RunForecast | None:
    """The run's forecast, read again only when its file changed."""
    path = run.folder / "forecast.npz"
    if not path.exists():
        return None
    about = path.stat()
    return _read(str(path), about.st_mtime_ns, about.st_size, run)


@st.cache_resource(max_entries=16, show_spinner=False)
def _read(path: str, modified: int, size: int, _run: Run) -> RunForecast | None:
    stored = _run.forecast()
    return None if stored is None else RunForecast.from_arrays(stored)


def matrix_of(forecast: RunForecast, show: Show, step: int, action: int) -> tuple[np.ndarray, Kind]:
    """What is drawn, (N, N), and how it is coloured."""
    if show == "Last observed":
        return forecast.last_values[..., action], "count"
    if show == "Expected change":
        return forecast.change[step, ..., action], "change"
    if show == "Uncertainty":
        return forecast.upper[step, ..., action] - forecast.lower[step, ..., action], "count"
    return forecast.mean[step, ..., action], "count"


def title_of(forecast: RunForecast, show: Show, step: int, action: int, period: str) -> tuple[str, str]:
    """Title and subtitle of a view."""
    day = forecast.last_date if show == "Last observed" else forecast.dates[step]
    words = {
        "Forecast": f"Expected {forecast.actions[action]}",
        "Last observed": f"Last observed {forecast.actions[action]}",
        "Expected change": f"Expected change in {forecast.actions[action]}",
        "Uncertainty": f"Width of the {forecast.level:.0%} interval, {forecast.actions[action]}",
    }
    return words[show], f"{period} of {day}"


def draw_network(
    forecast: RunForecast,
    series: RelationalSeries,
    show: Show,
    step: int,
    action: int,
    *,
    layout: Layout | Literal["chord"] = "force",
    top: int | None = 60,
    threshold: float | None = None,
    ego: int | None = None,
    kept: list[int] | None = None,
    height: int = 620,
) -> go.Figure:
    """Arrows between places, or ribbons inside a circle (`layout` "chord"), of the strongest relations."""
    matrix, kind = matrix_of(forecast, show, step, action)
    if kept is not None:
        hidden = np.setdiff1d(np.arange(len(matrix)), kept)
        matrix = matrix.copy()
        matrix[hidden, :] = 0
        matrix[:, hidden] = 0
    title, when = title_of(forecast, show, step, action, series.period)
    edges = strongest(matrix, top=top, threshold=threshold, ego=ego)
    about: dict[str, Any] = {
        "edges": edges, "kind": kind, "unit": unit_of(series), "simulated": forecast.simulated, "dark": is_dark(), "height": height
    }  # fmt: skip
    meaning = "orange: more, blue: less than last observed" if kind == "change" else "thicker and darker: more"
    if layout == "chord":
        meaning = meaning if kind == "change" else "wide at the sender, coloured by it"
        about["subtitle"] = f"{when} · {len(edges)} strongest relations · {meaning}"
        return chord(matrix, forecast.actors, title, order=order(series, "similarity"), **about)
    about["subtitle"] = f"{when} · {len(edges)} strongest relations · {meaning}"
    return network(matrix, forecast.actors, positions(series, layout), title, **about)


def draw_heatmap(
    forecast: RunForecast, series: RelationalSeries, show: Show, step: int, action: int, *, by: Order, kept: list[int]
) -> go.Figure:
    matrix, kind = matrix_of(forecast, show, step, action)
    title, when = title_of(forecast, show, step, action, series.period)
    return heatmap(
        matrix, forecast.actors, title, kind=kind, unit=unit_of(series), subtitle=when, simulated=forecast.simulated,
        order=[i for i in order(series, by) if i in set(kept)], dark=is_dark(), details=_intervals(forecast, step, action),
    )  # fmt: skip


def _intervals(forecast: RunForecast, step: int, action: int) -> np.ndarray:
    lower, upper = forecast.lower[step, ..., action], forecast.upper[step, ..., action]
    text = [
        f"{forecast.level:.0%} interval {a:.3g} to {b:.3g}" for a, b in zip(lower.ravel(), upper.ravel(), strict=True)
    ]
    return np.array(text, dtype=object).reshape(lower.shape)


def draw_dyad(forecast: RunForecast, series: RelationalSeries, pair: tuple[int, int], action: int) -> go.Figure:
    i, j = pair
    fan = Fan(
        np.array(forecast.dates, dtype="datetime64[D]"),
        forecast.mean[:, i, j, action],
        forecast.lower[:, i, j, action],
        forecast.upper[:, i, j, action],
        forecast.level,
    )
    return dyad_history(series, i, j, action, fan=fan, dark=is_dark())
