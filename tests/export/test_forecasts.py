"""The forecast of a run in arrays, tables and words."""

from __future__ import annotations

import numpy as np
import pytest

from trnn_core.errors import TRNNError
from trnn_core.export.forecasts import forecast_rows, headline, largest_changes
from trnn_core.models.forecast import Forecast
from trnn_core.models.hindcast import Hindcast


@pytest.fixture
def stored() -> dict:
    mean = np.zeros((2, 3, 3, 1))
    mean[0, 0, 1, 0], mean[0, 1, 2, 0], mean[0, 2, 0, 0] = 9.2, 1.0, 4.0
    last = np.zeros((3, 3, 1))
    last[0, 1, 0], last[1, 2, 0], last[2, 0, 0], last[0, 2, 0] = 3.0, 6.0, 4.0, np.nan
    return {
        "dates": np.array(["2004-01-08", "2004-01-15"]),
        "actors": np.array(["A", "B", "C"]),
        "actions": np.array(["x"]),
        "mean": mean,
        "median": mean,
        "lower": mean / 2,
        "upper": mean * 2,
        "last_values": last,
        "last_date": "2004-01-01",
        "meta": {"simulated": True, "level": 0.9},
    }


def test_the_headline_names_the_largest_rise_and_fall_with_interval(stored) -> None:
    assert headline(Forecast.from_arrays(stored)) == (
        "Next week: largest expected rise: A → B, x, from 3 to about 9.2 (90\u00a0% interval 4.6 to 18); "
        "largest expected fall: B → C, x, from 6 to about 1 (90\u00a0% interval 0.50 to 2)."
    )


def test_rises_and_falls_leave_out_what_stays_and_what_was_not_observed(stored) -> None:
    forecast = Forecast.from_arrays(stored)
    assert largest_changes(forecast)[["source", "target"]].values.tolist() == [["A", "B"]]
    assert largest_changes(forecast, falls=True)["change"].tolist() == [-5.0]


def test_a_forecast_without_change_says_so(stored) -> None:
    stored["last_values"] = stored["mean"][0]
    assert headline(Forecast.from_arrays(stored), "day") == "Next day: no change is expected."


def test_the_table_has_every_period_and_says_simulated(stored) -> None:
    table = forecast_rows(Forecast.from_arrays(stored))
    assert len(table) == 2 * 6 and set(table["data"]) == {"simulated"}
    assert list(table["date"].unique()) == ["2004-01-08", "2004-01-15"]


def test_arrays_that_do_not_fit_their_labels_are_refused(stored) -> None:
    with pytest.raises(TRNNError, match=r"'lower' must have the shape of its labels, \(2, 3, 3, 1\)"):
        Forecast.from_arrays({**stored, "lower": np.zeros((1, 3, 3, 1))})
    del stored["upper"]
    with pytest.raises(TRNNError, match="upper; train the run again"):
        Forecast.from_arrays(stored)


def hindcast_of(series, horizon: int = 2, n: int = 4) -> Hindcast:
    """Past forecasts of the last n periods but one: always twice what was last seen."""
    origins = range(len(series) - n - 1, len(series) - 1)
    mean = np.stack([np.stack([2.0 * series.values[t]] * horizon) for t in origins])
    dates, meta = series.dates[list(origins)], {"level": 0.9, "words": "w"}
    return Hindcast(dates, series.actors, series.actions, mean, mean / 2, mean * 2, meta)


def test_a_past_forecast_knows_what_happened_and_its_error(small_series) -> None:
    origin = str(small_series.dates[-2])
    past = hindcast_of(small_series).forecast(origin, small_series)
    assert str(past.last_date) == origin and past.dates[0] == small_series.dates[-1] and past.simulated
    assert np.array_equal(past.last_values, small_series.values[-2])
    assert past.is_past(0) and not past.is_past(1)  # the second step lies beyond the data
    assert past.observed is not None and past.error is not None
    assert np.array_equal(past.observed[0], small_series.values[-1])
    assert np.array_equal(past.error[0], 2 * small_series.values[-2] - small_series.values[-1])
    row = forecast_rows(past, 0).query("source == 'France' and target == 'Japan'").iloc[0]
    k = small_series.actions.index(row["action"])
    assert row["happened"] == small_series.values[-1, 0, 5, k]


def test_a_week_that_was_not_backtested_is_refused(small_series) -> None:
    with pytest.raises(TRNNError, match=r"must be one of .* Got '1999-01-01'"):
        hindcast_of(small_series).forecast("1999-01-01", small_series)


def test_a_forecast_of_the_future_has_no_error(stored) -> None:
    forecast = Forecast.from_arrays(stored)
    assert forecast.error is None and not forecast.is_past(0) and "happened" not in forecast_rows(forecast)
