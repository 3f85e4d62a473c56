"""How the simulated set compares with real event data, and how well its influence ties can be found again.

    python benchmarks/simulation/compare.py              recovery only
    python benchmarks/simulation/compare.py FOLDER       with the comparison; FOLDER holds the two ICEWS tensors

Prints the tables of docs/simulation.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.simulation.measures import MEASURES, bloc_share, profile
from trnn_core.data.series import QUAD_ACTIONS, Provenance, RelationalSeries
from trnn_core.data.simulation import LINEAR, SATURATING, THRESHOLD, Dynamics, simulate, simulation_truth

FULL, SAMPLE = "icews2018_19_daily_hoff25_quad.npz", "icews0515_weekly_hoff25_quad.npz"
STRETCH = 64  # weeks in the full-density series


def read_counts(path: Path, days: int = 1) -> RelationalSeries:
    """A tensor file as it stands, its periods added up `days` at a time."""
    with np.load(path, allow_pickle=False) as file:
        actions = [str(a).replace("_", " ") for a in file["actions"]]
        values = file["values"][..., [actions.index(a) for a in QUAD_ACTIONS]].astype(np.float64)
        dates = file["dates"].astype("datetime64[D]")
        actors = tuple(str(a) for a in file["actors"])
    n = len(values) // days
    values = values[: n * days].reshape(n, days, *values.shape[1:]).sum(axis=1)
    return RelationalSeries(values, dates[: n * days : days], actors, QUAD_ACTIONS, source=Provenance(path.stem))


def mean_profile(series: RelationalSeries, length: int) -> dict[str, dict[str, float]]:
    """The profile averaged over consecutive stretches as long as the series it is compared with."""
    starts = range(0, len(series) - length + 1, length)
    profiles = [profile(series.select(periods=slice(s, s + length))) for s in starts]
    return {a: {m: _mean([p[a][m] for p in profiles]) for m in MEASURES} for a in series.actions}


def multilinear(y: np.ndarray, x: np.ndarray, n: int = 12, ridge: float = 0.01) -> list[np.ndarray]:
    """Hoff's Y = X x1 A x2 B x3 C by alternating ridge regressions; A and B scaled to mean square 1 per row."""
    factors = [np.eye(size) for size in y.shape[1:]]
    for _ in range(n):
        for mode in range(3):
            z = x
            for other in range(3):
                if other != mode:
                    z = np.moveaxis(np.tensordot(factors[other], z, axes=(1, other + 1)), 0, other + 1)
            z_rows = np.moveaxis(z, mode + 1, 0).reshape(z.shape[mode + 1], -1)
            y_rows = np.moveaxis(y, mode + 1, 0).reshape(y.shape[mode + 1], -1)
            gram = z_rows @ z_rows.T
            gram += ridge * np.trace(gram) / len(gram) * np.eye(len(gram))
            factor = np.linalg.solve(gram, z_rows @ y_rows.T).T
            factors[mode] = factor if mode == 2 else factor / np.linalg.norm(factor) * np.sqrt(len(factor))
    return factors


def recovery(seed: int, dynamics: Dynamics = LINEAR, *, felt: bool = False) -> dict[str, tuple[float, float]]:
    """Correlation of the estimated with the true influence, over all entries and over those off the diagonal.

    felt  give the regression the nonlinearity of the truth: the most that a model that learns it could reach
    """
    z = np.log1p(simulate(seed, dynamics=dynamics).values.astype(np.float64))
    z -= z.mean(axis=0)
    x = z
    if felt and dynamics.response == "threshold":
        x = np.clip(z - dynamics.level, 0.0, 1.0)
        x = x - x.mean(axis=0)
    truth = simulation_truth(seed, dynamics=dynamics)
    found = multilinear(z[1:], x[:-1])
    true = (truth.sender_influence, truth.receiver_influence, truth.action_influence)
    names = ("sender", "receiver", "action")
    return {name: _agreement(a, b) for name, a, b in zip(names, found, true, strict=True)}


def _agreement(found: np.ndarray, true: np.ndarray) -> tuple[float, float]:
    off = ~np.eye(len(true), dtype=bool)
    return float(np.corrcoef(found.ravel(), true.ravel())[0, 1]), float(np.corrcoef(found[off], true[off])[0, 1])


def _mean(values: list[float]) -> float:
    known = [v for v in values if not np.isnan(v)]
    return float(np.mean(known)) if known else float("nan")


def _comparison(folder: Path) -> None:
    demo, full, sample = simulate(0), read_counts(folder / FULL, 7), read_counts(folder / SAMPLE)
    short, real, long, thin = mean_profile(demo, STRETCH), profile(full), profile(demo), profile(sample)
    for title, a, b in (("64 weeks", short, real), ("548 and 573 weeks", long, thin)):
        print(f"\n| {title}: simulated / real | " + " | ".join(QUAD_ACTIONS) + " |\n|---|" + "---|" * 4)
        for m, words in MEASURES.items():
            print(f"| {words} | " + " | ".join(f"{a[k][m]:.2f} / {b[k][m]:.2f}" for k in QUAD_ACTIONS) + " |")
    print(f"\nblocs: {bloc_share(demo):.2f} / {bloc_share(full):.2f} (64 weeks) / {bloc_share(sample):.2f} (573 weeks)")


def _recovery_table() -> None:
    print("\n| truth | seed | regression | sender | receiver | action |\n|---|---|---|---|---|---|")
    for name, dynamics in (("linear", LINEAR), ("saturating", SATURATING), ("threshold", THRESHOLD)):
        for seed in (0, 1):
            for felt in (False, True) if name == "threshold" else (False,):
                r = recovery(seed, dynamics, felt=felt)
                cells = " | ".join(f"{whole:.2f} ({off:.2f})" for whole, off in r.values())
                print(f"| {name} | {seed} | {'given the true response' if felt else 'multilinear'} | {cells} |")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _comparison(Path(sys.argv[1]))
    _recovery_table()
