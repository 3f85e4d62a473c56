"""Orders and positions of actors: which neighbours stand side by side, and where a node stays put from week to week."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import networkx as nx
import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import pdist

from trnn_core.charts.blocs import find_blocs
from trnn_core.charts.map import place_on_map
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError

Order = Literal["similarity", "bloc", "activity", "name"]
ORDERS: tuple[Order, ...] = ("similarity", "bloc", "activity", "name")
Layout = Literal["force", "circle", "geography"]
LAYOUTS: tuple[Layout, ...] = ("force", "circle", "geography")


def ties(series: RelationalSeries) -> np.ndarray:
    """How strongly each pair is tied over the whole series: (N, N), symmetric, on a log scale, no diagonal."""
    values = np.nan_to_num(np.abs(np.asarray(series.values, dtype=np.float64)))
    total = values.sum(axis=(0, 3))  # (N, M)
    both = np.log1p(total + total.T)
    np.fill_diagonal(both, 0.0)
    return both


def order_actors(series: RelationalSeries, by: Order = "similarity") -> list[int]:
    """Positions of the actors in the order asked for; `similarity` puts actors with like partners side by side."""
    n = len(series.actors)
    if by == "name":
        return sorted(range(n), key=lambda i: series.actors[i].casefold())
    strength = ties(series)
    if by == "activity":
        return sorted(range(n), key=lambda i: (-strength[i].sum(), i))
    if by == "bloc":
        of = find_blocs(series).of
        return sorted(range(n), key=lambda i: (of[i], -strength[i].sum(), i))
    if by != "similarity":
        raise TRNNError(f"The order must be one of {', '.join(ORDERS)}. Got {by!r} instead.")
    if n < 3 or not strength.any():
        return list(range(n))
    # A pair is near when it acts much on each other and on the same others.
    profile = strength + np.diag(strength.max(axis=1))
    return [int(i) for i in leaves_list(linkage(pdist(profile), method="average", optimal_ordering=True))]


def place_actors(series: RelationalSeries, layout: Layout = "force", seed: int = 0) -> np.ndarray:
    """Where each actor stands, (N, 2) within [-1, 1]; depends on the whole series only, so that nodes never jump."""
    n = len(series.actors)
    if layout not in LAYOUTS:
        raise TRNNError(f"The layout must be one of {', '.join(LAYOUTS)}. Got {layout!r} instead.")
    if layout == "geography":
        return place_on_map(series.actors)
    if layout == "circle" or n < 3:
        return _circle(order_actors(series), n)
    strength = ties(series)
    graph = nx.from_numpy_array(strength / max(strength.max(), 1e-12))
    start = dict(enumerate(_circle(order_actors(series), n)))
    found = nx.spring_layout(graph, pos=start, k=2.6 / np.sqrt(n), iterations=200, seed=seed, weight="weight")
    return _spread(np.array([found[i] for i in range(n)]))


def _circle(order: Sequence[int], n: int) -> np.ndarray:
    angles = np.empty(n)
    angles[list(order)] = np.pi / 2 - 2 * np.pi * np.arange(n) / max(n, 1)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _spread(positions: np.ndarray, rounds: int = 60) -> np.ndarray:
    """Fill the disc evenly and push apart what would cover each other's labels."""
    n = len(positions)
    centred = positions - positions.mean(axis=0)
    radius = np.linalg.norm(centred, axis=1)
    ranks = np.argsort(np.argsort(radius))
    even = np.sqrt((ranks + 0.5) / n)
    centred = (
        centred / np.maximum(radius, 1e-12)[:, None] * (0.35 * radius / max(radius.max(), 1e-12) + 0.65 * even)[:, None]
    )
    apart = 1.25 / np.sqrt(n)
    for _ in range(rounds):
        gap = centred[:, None, :] - centred[None, :, :]  # (N, N, 2)
        gap[..., 1] *= 1.6  # labels are wide, not tall: ask for less room upwards
        distance = np.linalg.norm(gap, axis=2) + np.eye(n)
        push = np.clip(apart - distance, 0, None) * (1 - np.eye(n))
        centred = centred + 0.25 * (gap / distance[..., None] * push[..., None]).sum(axis=1)
    low, high = centred.min(axis=0), centred.max(axis=0)
    return 2 * (centred - low) / np.maximum(high - low, 1e-12) - 1
