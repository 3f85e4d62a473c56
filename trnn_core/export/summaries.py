"""What is in a series, in a few figures: who is most active, which pairs, how much of it is zero or missing."""

from __future__ import annotations

import numpy as np
import pandas as pd

from trnn_core.data.series import RelationalSeries


def most_active(series: RelationalSeries, n: int = 10) -> pd.DataFrame:
    """The n actors with most events, sent and received, over the whole series."""
    total = np.nansum(np.abs(series.values), axis=(0, 3))  # (N, M)
    table = pd.DataFrame({"actor": series.actors, "sent": total.sum(axis=1), "received": total.sum(axis=0)})
    order = (table["sent"] + table["received"]).sort_values(ascending=False, kind="stable").index
    return table.loc[order].head(n).reset_index(drop=True)


def busiest_pairs(series: RelationalSeries, n: int = 10) -> pd.DataFrame:
    """The n directed pairs with most events over the whole series, acts towards oneself left out."""
    total = np.nansum(np.abs(series.values), axis=(0, 3))
    np.fill_diagonal(total, -1.0)
    places = np.argsort(-total, axis=None, kind="stable")[:n]
    pairs = [np.unravel_index(p, total.shape) for p in places]
    rows = [(series.actors[i], series.actors[j], float(total[i, j])) for i, j in pairs if total[i, j] >= 0]
    return pd.DataFrame(rows, columns=["source", "target", "total"])


def shares(series: RelationalSeries) -> dict[str, float]:
    """Shares of cells off the diagonal that are zero (of those observed) and that were not observed.

    >>> values = np.array([[[[0.0], [3.0]], [[np.nan], [0.0]]]])
    >>> shares(RelationalSeries(values, np.array(["2004-01-01"]), ("A", "B"), ("x",)))
    {'zero': 0.0, 'missing': 0.5}
    """
    off = ~np.eye(len(series.actors), dtype=bool)
    values, observed = series.values[:, off], series.observed[:, off]
    seen = int(observed.sum())
    zero = float((values[observed] == 0).sum() / seen) if seen else 0.0
    return {"zero": zero, "missing": float(1 - observed.mean())}
