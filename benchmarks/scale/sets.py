"""Large simulated sets: the demo's own model of influence, its four classes split into the twenty CAMEO roots."""

from __future__ import annotations

import numpy as np

from trnn_core.data.series import Provenance, RelationalSeries
from trnn_core.data.simulation import simulate

# CAMEO root codes of each quad class, and the share of its events that each gets (a plain guess, not an estimate).
ROOTS = {
    0: ("01", "02", "03", "04", "05"),
    1: ("06", "07", "08"),
    2: ("09", "10", "11", "12", "13"),
    3: ("14", "15", "16", "17", "18", "19", "20"),
}


def large_set(n_actors: int, n_weeks: int, seed: int = 0) -> RelationalSeries:
    """Weekly counts of n actors and 20 actions; simulated, and says so."""
    quad = simulate(seed, n_actors=n_actors, n_periods=n_weeks)
    rng = np.random.default_rng([seed, 20])
    codes = [code for roots in ROOTS.values() for code in roots]
    values = np.zeros((n_weeks, n_actors, n_actors, len(codes)), dtype=np.float32)
    place = 0
    for k, roots in ROOTS.items():
        shares = 1.0 / np.arange(1, len(roots) + 1)
        active = np.nonzero(quad.values[..., k])
        counts = quad.values[..., k][active].astype(np.int64)
        values[(*active, slice(place, place + len(roots)))] = rng.multinomial(counts, shares / shares.sum())
        place += len(roots)
    source = Provenance(title=f"Simulated, {n_actors} actors, 20 CAMEO roots", simulated=True, kind="count")
    return RelationalSeries(values, quad.dates, quad.actors, tuple(f"CAMEO {c}" for c in codes), source=source)
