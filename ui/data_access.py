"""Where data sets and runs are, and reading them once per version."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import streamlit as st

from trnn_core.charts.blocs import Blocs, find_blocs
from trnn_core.charts.order import Layout, Order, order_actors, place_actors
from trnn_core.data.readers import read_npz
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.models.forecast import Forecast
from trnn_core.models.hindcast import Hindcast
from trnn_core.runs import layout
from trnn_core.runs.run import Run
from trnn_core.runs.store import RunStore

ROOT = Path(__file__).resolve().parents[1]
DEMO = "demo"


def data_folder() -> Path:
    """Saved data sets; `TRNN_DATA` names another folder."""
    return Path(os.environ.get("TRNN_DATA", ROOT / "data"))


def runs_folder() -> Path:
    """The run store; `TRNN_RUNS` names another folder."""
    return Path(os.environ.get("TRNN_RUNS", ROOT / "runs"))


@st.cache_resource
def _store(root: str) -> RunStore:
    return RunStore(root)


def run_store() -> RunStore:
    return _store(str(runs_folder()))


def forecast_runs() -> list[Run]:
    """The runs that have something to show, newest first."""
    return [run for run in run_store().runs() if (run.folder / layout.FORECAST).exists()]


def data_sets() -> list[str]:
    """Names of the saved sets, the demo first."""
    names = sorted((p.stem for p in data_folder().glob("*.npz")), key=str.casefold)
    return sorted(names, key=lambda n: n != DEMO)


def load_set(name: str) -> RelationalSeries:
    path = data_folder() / f"{Path(name).name}.npz"
    return load_file(path)


def load_file(path: Path) -> RelationalSeries:
    """A series file, read again only when it changed. Series are frozen, so sessions may share one."""
    try:
        about = path.stat()
    except OSError as e:
        raise TRNNError(f"The data file {path.name} is not there any more ({e.strerror}); add the data again.") from e
    return _read(str(path), about.st_mtime_ns, about.st_size)


@st.cache_resource(max_entries=12, show_spinner="Reading the data ...")
def _read(path: str, modified: int, size: int) -> RelationalSeries:
    return read_npz(path)


def series_of(run: Run) -> RelationalSeries:
    """What a run was trained on: the actors and actions its recipe kept."""
    series = load_file(run_store().series_path(run.config["data"]["fingerprint"]))
    data = run.recipe.data
    if data.actors is None and data.actions is None:
        return series
    return _part(series.fingerprint, data.actors, data.actions, series)


@st.cache_resource(max_entries=12, show_spinner=False)
def _part(
    fingerprint: str, actors: tuple[str, ...] | None, actions: tuple[str, ...] | None, _series: RelationalSeries
) -> RelationalSeries:
    return _series.select(actors=actors, actions=actions)


def read_forecast(run: Run) -> Forecast | None:
    """The run's forecast, read again only when its file changed."""
    stamp = _stamp(run.folder / layout.FORECAST)
    return None if stamp is None else _read_forecast(*stamp, run)


@st.cache_resource(max_entries=16, show_spinner=False)
def _read_forecast(path: str, modified: int, size: int, _run: Run) -> Forecast | None:
    return _run.forecast()


def read_hindcast(run: Run) -> Hindcast | None:
    """What the run expected of past periods; None for a run that kept no such forecasts."""
    stamp = _stamp(run.folder / layout.HINDCAST)
    return None if stamp is None else _read_hindcast(*stamp, run)


@st.cache_resource(max_entries=4, show_spinner="Reading the past forecasts ...")
def _read_hindcast(path: str, modified: int, size: int, _run: Run) -> Hindcast | None:
    return _run.hindcast()


def _stamp(path: Path) -> tuple[str, int, int] | None:
    """Which version of a file this is; None when there is none."""
    if not path.exists():
        return None
    about = path.stat()
    return str(path), about.st_mtime_ns, about.st_size


def positions(series: RelationalSeries, layout: Layout) -> np.ndarray:
    return _positions(series.fingerprint, layout, series)


@st.cache_data(max_entries=32, show_spinner=False)
def _positions(fingerprint: str, layout: Layout, _series: RelationalSeries) -> np.ndarray:
    return place_actors(_series, layout)


def order(series: RelationalSeries, by: Order) -> list[int]:
    return _order(series.fingerprint, by, series)


@st.cache_data(max_entries=32, show_spinner=False)
def _order(fingerprint: str, by: Order, _series: RelationalSeries) -> list[int]:
    return order_actors(_series, by)


def blocs(series: RelationalSeries) -> Blocs:
    return _blocs(series.fingerprint, series)


@st.cache_resource(max_entries=32, show_spinner=False)
def _blocs(fingerprint: str, _series: RelationalSeries) -> Blocs:
    return find_blocs(_series)
