"""Who keeps with whom: groups of actors that cooperate more with each other than with the rest, found by networkx."""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx
import numpy as np

from trnn_core.data.series import RelationalSeries


@dataclass(frozen=True)
class Blocs:
    """`of[i]` is the bloc of actor i, 0 for the largest; `names` are plain: after the most active member."""

    of: tuple[int, ...]
    names: tuple[str, ...]


def cooperation(series: RelationalSeries) -> np.ndarray:
    """How much each pair cooperated over the whole series, both ways, (N, N): actions named so, all where none is."""
    chosen = [k for k, a in enumerate(series.actions) if "cooperat" in a.lower()] or list(range(len(series.actions)))
    total = np.nansum(np.abs(np.asarray(series.values[..., chosen], dtype=np.float64)), axis=(0, 3))
    both = total + total.T
    np.fill_diagonal(both, 0.0)
    return both


def find_blocs(series: RelationalSeries, seed: int = 0) -> Blocs:
    """Communities of the network of observed cooperation (Louvain), each actor's own activity allowed for."""
    both = cooperation(series)
    graph = nx.from_numpy_array(both)
    found = [sorted(c) for c in nx.community.louvain_communities(graph, weight="weight", seed=seed)]
    activity = both.sum(axis=1)
    # Actors without any cooperation are communities of one; they are told together.
    alone = sorted(i for c in found if len(c) == 1 for i in c)
    groups = sorted((c for c in found if len(c) > 1), key=lambda c: (-activity[c].sum(), c[0]))
    names = [f"around {series.actors[max(c, key=lambda i: (activity[i], -i))]}" for c in groups]
    if alone:
        groups.append(alone)
        names.append("in no bloc")
    of = np.empty(len(series.actors), dtype=int)
    for b, members in enumerate(groups):
        of[members] = b
    return Blocs(tuple(int(b) for b in of), tuple(names))
