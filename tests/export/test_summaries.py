"""Figures about a series agree with sums done by hand."""

from __future__ import annotations

import numpy as np

from trnn_core.data.series import RelationalSeries
from trnn_core.export.summaries import busiest_pairs, most_active, shares


def series_of(values: np.ndarray) -> RelationalSeries:
    dates = np.datetime64("2004-01-01") + 7 * np.arange(len(values))
    return RelationalSeries(values, dates, ("A", "B", "C"), ("x",))


def test_activity_counts_sent_and_received_once_each() -> None:
    values = np.zeros((2, 3, 3, 1))
    values[0, 0, 1, 0], values[1, 0, 1, 0], values[1, 2, 0, 0] = 3, 4, 2
    table = most_active(series_of(values), 2)
    assert table.values.tolist() == [["A", 7.0, 2.0], ["B", 0.0, 7.0]]
    assert busiest_pairs(series_of(values), 2).values.tolist() == [["A", "B", 7.0], ["C", "A", 2.0]]


def test_the_diagonal_is_no_pair() -> None:
    values = np.zeros((2, 3, 3, 1))
    values[:, 1, 1, 0] = 100
    assert ("B", "B") not in set(map(tuple, busiest_pairs(series_of(values), 9)[["source", "target"]].values))
    assert len(busiest_pairs(series_of(values), 9)) == 6


def test_missing_cells_count_neither_as_zero_nor_as_events() -> None:
    values = np.zeros((2, 3, 3, 1))
    values[0] = np.nan
    values[1, 0, 1, 0] = 1
    assert shares(series_of(values)) == {"zero": 5 / 6, "missing": 0.5}
