"""A small trained store for the pages: real data, a real run, made once per test process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.jobs.ending import end_jobs
from tests.trained_store import make_home
from trnn_core.runs.store import RunStore

ROOT = Path(__file__).resolve().parents[2]
HOME = "app.py"
DATA, TRAIN, FORECAST = "pages/1_Data.py", "pages/2_Train.py", "pages/3_Forecast.py"


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data/ (one simulated set) and runs/ (one run of three epochs)."""
    return make_home(tmp_path_factory.mktemp("trained") / "home")


@pytest.fixture
def full(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the trained store that a test may change."""
    shutil.copytree(trained, tmp_path / "home")
    return _use(tmp_path / "home", monkeypatch)


@pytest.fixture
def asked(full: Path) -> Iterator[Path]:
    """A trained store whose worker and its processes are ended afterwards."""
    yield full
    end_jobs(RunStore(full / "runs"))


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing at all: no data, no runs, no demo."""
    (tmp_path / "home" / "data").mkdir(parents=True)
    return _use(tmp_path / "home", monkeypatch)


def _use(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(os.environ, "TRNN_DATA", str(home / "data"))
    monkeypatch.setitem(os.environ, "TRNN_RUNS", str(home / "runs"))
    monkeypatch.setattr("ui.demo_run.ensure_demo", lambda runs: None)
    return home


@pytest.fixture
def open_page() -> Callable[..., AppTest]:
    def opened(path: str, **parameters: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / HOME), default_timeout=60)
        for name, value in parameters.items():
            app.query_params[name] = value
        if path != HOME:
            app.switch_page(path)
        return app.run()

    return opened


CONTROLS = (
    "selectbox",
    "multiselect",
    "slider",
    "select_slider",
    "number_input",
    "toggle",
    "checkbox",
    "button",
    "button_group",
    "text_input",
    "text_area",
    "radio",
    "date_input",
    "download_button",
    "file_uploader",
    "color_picker",
    "metric",
)


def silent_controls(app: AppTest) -> list[str]:
    """Labels of the controls and figures of a page that have no help text."""
    found = [element.proto for kind in CONTROLS for element in app.get(kind)]
    return [control.label for control in found if not control.help]
