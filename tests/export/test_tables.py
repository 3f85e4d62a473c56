"""Tables open again elsewhere with every name intact and none of them a formula."""

from __future__ import annotations

import io

import duckdb
import numpy as np
import polars as pl
import pytest

from trnn_core.data.long_table import tidy
from trnn_core.errors import TRNNError
from trnn_core.export.tables import to_csv


def test_every_cell_off_the_diagonal_is_one_row(small_series) -> None:
    table = tidy(
        {"mean": small_series.values[:2]},
        small_series.dates[:2],
        small_series.actors,
        small_series.actions,
        simulated=True,
    )
    assert len(table) == 2 * 6 * 5 * 4
    assert set(table["data"]) == {"simulated"}
    row = table[(table["source"] == "France") & (table["target"] == "Japan")].iloc[0]
    assert row["mean"] == small_series.values[0, 0, 5, 0]


def test_missing_cells_are_left_out_not_turned_into_zero(small_series) -> None:
    values = small_series.values[:1].copy()
    values[0, 0, 1, :] = np.nan
    table = tidy({"mean": values}, small_series.dates[:1], small_series.actors, small_series.actions, simulated=False)
    assert len(table) == 6 * 5 * 4 - 4


def test_an_independent_reader_gets_the_same_figures_and_names(small_series, tmp_path) -> None:
    table = tidy(
        {"mean": small_series.values[:1]},
        small_series.dates[:1],
        small_series.actors,
        small_series.actions,
        simulated=True,
    )
    raw = to_csv(table)
    again = pl.read_csv(io.BytesIO(raw))
    assert again["mean"].to_list() == table["mean"].tolist()
    assert {"Korea, South", "Côte d'Ivoire", "<script>x</script>", "'=cmd()"} <= set(again["source"])
    file = tmp_path / "f.csv"
    file.write_bytes(raw)
    assert duckdb.sql(f"select count(*) from '{file}'").fetchall() == [(len(table),)]


@pytest.mark.parametrize("name", ["=1+1", "+A1", "-2", "@SUM(A1)", "\t=1"])
def test_no_name_reaches_a_spreadsheet_as_a_formula(name) -> None:
    values = np.ones((1, 2, 2, 1))
    raw = to_csv(tidy({"mean": values}, ["2004-01-01"], [name, "B"], ["x"], simulated=False))
    sources = pl.read_csv(io.BytesIO(raw))["source"].to_list()
    assert sources[0] == f"'{name}"


def test_a_column_of_the_wrong_shape_is_refused() -> None:
    with pytest.raises(TRNNError, match=r"'mean' must have the shape of its labels, \(1, 2, 2, 1\)"):
        tidy({"mean": np.ones((2, 2))}, ["2004-01-01"], ["A", "B"], ["x"], simulated=False)
