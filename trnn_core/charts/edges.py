"""The relations of one period that are worth drawing as arrows or ribbons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trnn_core.errors import TRNNError


@dataclass(frozen=True)
class Edge:
    source: int
    target: int
    weight: float


def strongest(
    matrix: np.ndarray, *, top: int | None = 60, threshold: float | None = None, ego: int | None = None
) -> list[Edge]:
    """The edges worth drawing: the largest by size, above a threshold, of one actor only if asked for.

    >>> strongest(np.array([[0.0, 3.0], [-5.0, 0.0]]), top=1)
    [Edge(source=1, target=0, weight=-5.0)]
    """
    n = len(matrix)
    rows, cols = np.nonzero(np.nan_to_num(matrix))
    kept = rows != cols
    if ego is not None:
        if not 0 <= ego < n:
            raise TRNNError(f"The actor in the middle must be one of 0 to {n - 1}. Got {ego} instead.")
        kept &= (rows == ego) | (cols == ego)
    weights = matrix[rows, cols]
    if threshold is not None:
        kept &= np.abs(weights) >= threshold
    rows, cols, weights = rows[kept], cols[kept], weights[kept]
    order = np.argsort(-np.abs(weights), kind="stable")[: top if top is not None else None]
    return [Edge(int(rows[i]), int(cols[i]), float(weights[i])) for i in order]
