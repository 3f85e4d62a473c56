"""What a series of counts looks like: zeros, spread, bursts, memory, reciprocity, blocs, slow change.

Used to describe a data set and to compare the simulated set with real ones. Acts of a country towards itself are left
out. Dimension letters: T periods, N actors, D = N (N - 1) directed dyads.
"""

from __future__ import annotations

import numpy as np

from trnn_core.data.series import RelationalSeries

MEASURES: dict[str, str] = {
    "zeros": "share of zero cells",
    "mean": "mean count per dyad and period",
    "dispersion": "variance over mean, the middle dyad of those with a mean above 0.05",
    "dispersion_large": "variance over mean, all dyads together",
    "concentration": "share of all events in the busiest 5\u00a0% of dyads",
    "bursts": "share of events in periods above three times the dyad's own mean (dyads with a mean of at least 0.5)",
    "memory_1": "autocorrelation of log(1 + count), one period later (dyads with a mean above 0.2)",
    "memory_4": "the same, four periods later",
    "memory_26": "the same, 26 periods later",
    "reciprocity": "correlation of log mean counts between the two directions of a dyad",
    "reciprocity_time": "correlation of the two directions' deviations from their means, period by period",
    "stability": "correlation over dyads of log mean counts, first against last quarter of the periods",
}


def profile(series: RelationalSeries) -> dict[str, dict[str, float]]:
    """Each measure for each action; NaN where too few dyads are active enough."""
    counts = np.nan_to_num(series.values).astype(np.float64)
    return {
        action: dict(zip(MEASURES, _measure(counts[..., k]), strict=True)) for k, action in enumerate(series.actions)
    }


def bloc_share(series: RelationalSeries, n_blocs: int = 3) -> float:
    """Share of who-deals-with-whom, beyond each actor's own activity, that the strongest few axes explain."""
    counts = np.nan_to_num(series.values).astype(np.float64).mean(axis=0)
    level = np.log(counts + 0.01).mean(axis=2)
    level = (level + level.T) / 2
    off = ~np.eye(len(level), dtype=bool)
    actor = np.where(off, level, 0.0).sum(axis=1) / off.sum(axis=1)
    rest = np.where(off, level - actor[:, None] - actor[None, :] + level[off].mean(), 0.0)
    strength = np.sort(np.linalg.eigvalsh(rest) ** 2)[::-1]
    return float(strength[:n_blocs].sum() / max(strength.sum(), 1e-300))


def _measure(y: np.ndarray) -> tuple[float, ...]:
    """The measures of one action's counts (T, N, N), in the order of MEASURES."""
    n = y.shape[1]
    x = y[:, ~np.eye(n, dtype=bool)]  # (T, D)
    mean, variance = x.mean(axis=0), x.var(axis=0)
    seen, middling, busy = mean > 0.05, mean > 0.2, mean >= 0.5
    quarter = max(len(x) // 4, 1)
    busiest = np.sort(mean)[::-1][: max(round(0.05 * len(mean)), 1)]
    early, late = (np.log(part.mean(axis=0) + 0.02) for part in (x[:quarter], x[-quarter:]))
    return (
        float((x == 0).mean()),
        float(mean.mean()),
        float(np.median(variance[seen] / mean[seen])) if seen.any() else float("nan"),
        float(variance.sum() / max(mean.sum(), 1e-300)),
        float(busiest.sum() / max(mean.sum(), 1e-300)),
        float((x * (x > 3 * mean))[:, busy].sum() / x[:, busy].sum()) if busy.any() else float("nan"),
        *(_memory(np.log1p(x[:, middling]), lag) for lag in (1, 4, 26)),
        *_reciprocity(y),
        _correlation(early, late),
    )


def _memory(z: np.ndarray, lag: int) -> float:
    """Pooled over dyads, each around its own mean."""
    if z.shape[1] < 3 or len(z) <= lag:
        return float("nan")
    z = z - z.mean(axis=0)
    return float((z[lag:] * z[:-lag]).sum() / (len(z) - lag) / max((z * z).sum() / len(z), 1e-300))


def _reciprocity(y: np.ndarray) -> tuple[float, float]:
    a, b = np.triu_indices(y.shape[1], 1)
    level = np.log(y.mean(axis=0) + 0.01)
    z = np.log1p(y) - np.log1p(y).mean(axis=0)
    there, back = z[:, a, b], z[:, b, a]
    over_time = (there * back).sum() / max(np.sqrt((there**2).sum() * (back**2).sum()), 1e-300)
    return _correlation(level[a, b], level[b, a]), float(over_time)


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    if len(a) < 3 or a.std() == 0 or b.std() == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])
