"""Forecasts and networks as tidy tables: one row per period, sender, receiver and action.

Every table says where it came from: a `data` column reads "simulated" where the series is. Text that a spreadsheet
would take for a formula is led by an apostrophe, as spreadsheets themselves do.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import pandas as pd

from trnn_core.errors import TRNNError

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def tidy(
    columns: dict[str, np.ndarray],
    dates: Sequence[object],
    actors: Sequence[str],
    actions: Sequence[str],
    *,
    simulated: bool,
    diagonal: bool = False,
) -> pd.DataFrame:
    """One column per array of shape (H, N, M, K), one row per cell; cells observed in no array are left out.

    >>> tidy({"mean": np.array([[[[0.0], [2.5]], [[1.0], [0.0]]]])}, ["2004-01-08"], ["A", "B"], ["x"], simulated=True)
             date source target action  mean       data
    0  2004-01-08      A      B      x   2.5  simulated
    1  2004-01-08      B      A      x   1.0  simulated
    """
    shape = (len(dates), len(actors), len(actors), len(actions))
    for name, array in columns.items():
        if array.shape != shape:
            raise TRNNError(f"Column '{name}' must have the shape of its labels, {shape}. Got {array.shape} instead.")
    h, i, j, k = (index.ravel() for index in np.indices(shape))
    kept = (i != j) | diagonal
    kept &= ~np.all([np.isnan(a).ravel() for a in columns.values()], axis=0)
    table = pd.DataFrame(
        {
            "date": np.array([str(d)[:10] for d in dates], dtype=object)[h[kept]],
            "source": np.array(actors, dtype=object)[i[kept]],
            "target": np.array(actors, dtype=object)[j[kept]],
            "action": np.array(actions, dtype=object)[k[kept]],
        }
        | {name: np.asarray(array, dtype=float).ravel()[kept] for name, array in columns.items()}
    )
    table["data"] = "simulated" if simulated else "observed"
    return table


def to_csv(table: pd.DataFrame) -> bytes:
    """UTF-8 with a byte-order mark (Excel then shows accents), no formula can hide in a name."""
    safe = table.copy()
    for column in safe.columns:
        if not pd.api.types.is_numeric_dtype(safe[column]):
            safe[column] = safe[column].map(_harmless)
    buffer = io.StringIO()
    safe.to_csv(buffer, index=False, lineterminator="\r\n")
    return buffer.getvalue().encode("utf-8-sig")


def _harmless(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
