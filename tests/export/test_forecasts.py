"""The forecast of a run in arrays, tables and words."""

from __future__ import annotations

import numpy as np
import pytest

from trnn_core.errors import TRNNError
from trnn_core.export.forecasts import RunForecast


@pytest.fixture
def stored() -> dict:
    mean = np.zeros((2, 3, 3, 1))
    mean[0, 0, 1, 0], mean[0, 1, 2, 0], mean[0, 2, 0, 0] = 9.2, 1.0, 4.0
    last = np.zeros((3, 3, 1))
    last[0, 1, 0], last[1, 2, 0], last[2, 0, 0], last[0, 2, 0] = 3.0, 6.0, 4.0, np.nan
    return {
        "dates": np.array(["2004-01-08", "2004-01-15"]), "actors": np.array(["A", "B", "C"]), "actions": np.array(["x"]),
        "mean": mean, "median": mean, "lower": mean / 2, "upper": mean * 2, "last_values": last, "last_date": "2004-01-01",
        "meta": {"simulated": True, "level": 0.9},
    }  # fmt: skip


def test_the_headline_names_the_largest_rise_and_fall_with_interval(stored) -> None:
    assert RunForecast.from_arrays(stored).headline() == (
        "Next week: largest expected rise: A → B, x, from 3 to about 9.2 (90% interval 4.6 to 18); "
        "largest expected fall: B → C, x, from 6 to about 1 (90% interval 0.50 to 2)."
    )


def test_rises_and_falls_leave_out_what_stays_and_what_was_not_observed(stored) -> None:
    forecast = RunForecast.from_arrays(stored)
    assert forecast.largest()[["source", "target"]].values.tolist() == [["A", "B"]]
    assert forecast.largest(falls=True)["change"].tolist() == [-5.0]


def test_a_forecast_without_change_says_so(stored) -> None:
    stored["last_values"] = stored["mean"][0]
    assert RunForecast.from_arrays(stored).headline("day") == "Next day: no change is expected."


def test_the_table_has_every_period_and_says_simulated(stored) -> None:
    table = RunForecast.from_arrays(stored).table()
    assert len(table) == 2 * 6 and set(table["data"]) == {"simulated"}
    assert list(table["date"].unique()) == ["2004-01-08", "2004-01-15"]


def test_arrays_that_do_not_fit_their_labels_are_refused(stored) -> None:
    with pytest.raises(TRNNError, match=r"'lower' must have the shape of its labels, \(2, 3, 3, 1\)"):
        RunForecast.from_arrays({**stored, "lower": np.zeros((1, 3, 3, 1))})
    del stored["upper"]
    with pytest.raises(TRNNError, match="upper; train the run again"):
        RunForecast.from_arrays(stored)
