"""Labelled arrays as a tidy table: one row per period, sender, receiver and action.

Every table says where it came from: a `data` column reads "simulated" where the series is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trnn_core.errors import TRNNError

if TYPE_CHECKING:
    import pandas as pd


def tidy(
    columns: dict[str, np.ndarray],
    dates: Sequence[object],
    actors: Sequence[str],
    actions: Sequence[str],
    *,
    simulated: bool,
    diagonal: bool = False,
) -> pd.DataFrame:
    """One column per array of shape (H, N, M, K), one row per entry; entries observed in no array are left out.

    >>> tidy({"mean": np.array([[[[0.0], [2.5]], [[1.0], [0.0]]]])}, ["2004-01-08"], ["A", "B"], ["x"], simulated=True)
             date source target action  mean       data
    0  2004-01-08      A      B      x   2.5  simulated
    1  2004-01-08      B      A      x   1.0  simulated
    """
    import pandas as pd  # half a second that a training need not wait for

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
