"""152 countries of real years on the pages: matrix, network and chord, before and after a training."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import DATA, FORECAST
from tests.pages.test_pages import is_sound
from tests.shared_data import shared_file
from trnn_core.data.readers.npz import read_npz
from trnn_core.runs.execute import train_run
from trnn_core.runs.store import RunStore
from trnn_core.training.config import Recipe

NAME = "icews_yearly_152_quad"


@pytest.fixture
def years(bare: Path) -> Path:
    shutil.copy(shared_file(f"{NAME}.npz"), bare / "data")
    return bare


def drawn(app: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def has_matrix(figure: dict) -> bool:
    return any(trace["type"] == "heatmap" for trace in figure["data"])


def test_a_year_of_152_countries_as_matrix_and_network(years: Path, open_page) -> None:
    app = open_page(DATA, data=NAME, data_view="Heatmap")
    is_sound(app)
    assert has_matrix(drawn(app)[0]) and "6,000 largest cells" in json.dumps(drawn(app)[0]["layout"])
    app = open_page(DATA, data=NAME, data_view="Network")
    is_sound(app)
    assert not any(map(has_matrix, drawn(app))) and "Observed" in json.dumps(drawn(app)[0]["layout"]["title"])


def test_a_forecast_of_152_countries_as_matrix_network_and_chord(years: Path, open_page) -> None:
    store = RunStore(years / "runs")
    recipe = Recipe(data={"window": 2}, model={"cell": "gru", "hidden_shape": (3, 3, 2)}, train={"epochs": 1})
    status = train_run(store, store.create(recipe, read_npz(years / "data" / f"{NAME}.npz"), run_id="years"))
    assert status.state == "finished", status
    assert np.shape(store.get("years").forecast().mean)[1:] == (152, 152, 4)
    for view in ("Heatmap", "Network", "Chord"):
        app = open_page(FORECAST, run="years", view=view)
        is_sound(app)
        first = drawn(app)[0]
        assert has_matrix(first) == (view == "Heatmap")
        assert "Expected" in json.dumps(first["layout"]["title"])
        if view == "Chord":
            assert "wide at the sender" in json.dumps(first["layout"]["title"])
