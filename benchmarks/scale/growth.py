"""How an epoch's time and memory grow with weeks, actors, actions, window and hidden size; fitted exponents; a plan.

    python benchmarks/scale/growth.py [--quick]

Each point is a process of its own on one thread: its median epoch, and its peak memory beyond that of an idle one. The
exponent is the slope of log(time) over log(size), fitted to the larger half of the points, where fixed costs are small.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import time
from math import log
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT)]

BASE = {"weeks": 200, "actors": 25, "actions": 4, "window": 7, "hidden": 14}
SIZES = {
    "weeks": (200, 400, 800, 1600),
    "actors": (25, 50, 100, 200),
    "actions": (4, 8, 16, 32),
    "window": (7, 14, 28, 56),
    "hidden": (14, 28, 56, 112),
}
UNITS = {"hidden": "hidden side (h x h x 4)", "window": "periods per window"}


def point(weeks: int, actors: int, actions: int, window: int, hidden: int, repeats: int) -> dict[str, float]:
    """One epoch of training a tGRU, in this process: median seconds, and peak gigabytes."""
    import resource

    import numpy as np
    import torch

    from trnn_core.data.series import Provenance, RelationalSeries
    from trnn_core.training.config import Recipe
    from trnn_core.training.tensor_learner import TensorLearner

    torch.set_num_threads(1)
    idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rng = np.random.default_rng(0)
    values = rng.poisson(0.3, size=(weeks, actors, actors, actions)).astype(np.float32)
    dates = np.datetime64("2000-01-06") + 7 * np.arange(weeks)
    series = RelationalSeries(
        values, dates, tuple(f"A{i}" for i in range(actors)), tuple(f"K{i}" for i in range(actions)),
        source=Provenance("Random counts", simulated=True),
    )  # fmt: skip
    del values
    recipe = Recipe(
        data={"window": window}, model={"cell": "gru", "hidden_shape": (hidden, hidden, 4)}, train={"clip_norm": 1.0}
    )
    torch.manual_seed(0)
    learner = TensorLearner(series, recipe)
    seconds = []
    for epoch in range(1, repeats + 2):
        began = time.perf_counter()
        for batch in learner.batches(epoch, 0):
            learner.gradient(batch)
            learner.update()
        learner.validation_loss()
        seconds.append(time.perf_counter() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": statistics.median(seconds[1:]), "gb": (peak - idle) / 1e6}


def measured(sizes: dict[str, int], repeats: int) -> dict[str, float]:
    command = [sys.executable, str(Path(__file__).resolve()), "--point", json.dumps({**sizes, "repeats": repeats})]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return json.loads(done.stdout)


def slope(xs: list[float], ys: list[float]) -> float:
    """Least-squares slope of log y over log x.

    >>> round(slope([1, 2, 4], [3, 12, 48]), 6)
    2.0
    """
    a, b = [log(x) for x in xs], [log(max(y, 1e-9)) for y in ys]
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    return sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True)) / sum((x - mean_a) ** 2 for x in a)


def grow(quick: bool) -> tuple[list[dict[str, object]], dict[str, dict[str, float]]]:
    rows: list[dict[str, object]] = []
    fits: dict[str, dict[str, float]] = {}
    base = measured(BASE, 1 if quick else 5)
    for name, sizes in SIZES.items():
        chosen = sizes[:3] if quick else sizes
        found = [base if size == BASE[name] else measured({**BASE, name: size}, 1 if quick else 3) for size in chosen]
        for size, f in zip(chosen, found, strict=True):
            rows.append({"grown": name, "size": size, "seconds": round(f["seconds"], 5), "gb": round(f["gb"], 4)})
        late = slice(len(chosen) // 2 - (len(chosen) % 2 == 1), None)
        fits[name] = {
            kind: slope([float(s) for s in chosen[late]], [f[kind] for f in found[late]]) for kind in ("seconds", "gb")
        }
        print(f"{name}: time ^ {fits[name]['seconds']:.2f}, memory ^ {fits[name]['gb']:.2f}", flush=True)
    return rows, fits


# What people have, and what they may want: sizes, epochs, and the machine named for it.
PLANS = (
    ("25 countries, 4 classes, 10 years of weeks", {"weeks": 520, "actors": 25, "actions": 4, "window": 7, "hidden": 25}),
    ("152 countries, 4 classes, 10 years of weeks", {"weeks": 520, "actors": 152, "actions": 4, "window": 7, "hidden": 50}),
    ("152 countries, 20 roots, 10 years of weeks", {"weeks": 520, "actors": 152, "actions": 20, "window": 7, "hidden": 50}),
    ("250 actors, 20 roots, 10 years of weeks", {"weeks": 520, "actors": 250, "actions": 20, "window": 7, "hidden": 64}),
    ("250 actors, 20 roots, 20 years of days", {"weeks": 7305, "actors": 250, "actions": 20, "window": 28, "hidden": 64}),
    ("all CAMEO actors (about 1,500), 20 roots, 20 years of days", {"weeks": 7305, "actors": 1500, "actions": 20, "window": 28, "hidden": 128}),
)  # fmt: skip
EPOCHS = 30


def plan(rows: list[dict[str, object]], fits: dict[str, dict[str, float]]) -> list[dict[str, object]]:
    """Time and memory of each plan by the fitted powers, from the largest measured point of each factor on."""
    out = []
    first = next(r for r in rows if r["size"] == BASE[str(r["grown"])])
    for words, sizes in PLANS:
        seconds, gigabytes = float(first["seconds"]), float(first["gb"])  # type: ignore[arg-type]
        for name, size in sizes.items():
            known = [r for r in rows if r["grown"] == name]
            at = min(known, key=lambda r: abs(log(float(r["size"]) / size)))  # type: ignore[arg-type]
            share = size / float(at["size"])  # type: ignore[arg-type]
            seconds *= float(at["seconds"]) / float(known[0]["seconds"]) * share ** fits[name]["seconds"]  # type: ignore[arg-type]
            gigabytes *= float(at["gb"]) / float(known[0]["gb"]) * share ** fits[name]["gb"]  # type: ignore[arg-type]
        cells = sizes["weeks"] * sizes["actors"] ** 2 * sizes["actions"]
        out.append({"plan": words, "epoch_seconds": seconds, "core_hours": seconds * EPOCHS / 3600, "gb": max(gigabytes, 0.0), "dense_gb": cells * 4 / 1e9})  # fmt: skip
    return out


def words(rows: list[dict[str, object]], fits: dict[str, dict[str, float]], machine: str) -> str:
    """The tables as Markdown."""
    lines = [f"Measured on {machine}; one thread, tGRU, batches of 61 windows. Base: " + ", ".join(f"{k} {v}" for k, v in BASE.items()) + "."]  # fmt: skip
    lines += ["", "| grown | sizes | seconds per epoch | peak memory beyond idle, GB | time grows with power | memory grows with power |", "|---|---|---|---|---|---|"]  # fmt: skip
    for name in SIZES:
        mine = [r for r in rows if r["grown"] == name]
        cells = [" · ".join(f"{r[k]:.3g}" if k != "size" else str(r[k]) for r in mine) for k in ("size", "seconds", "gb")]  # fmt: skip
        lines.append(f"| {UNITS.get(name, name)} | {' | '.join(cells)} | {fits[name]['seconds']:.2f} | {fits[name]['gb']:.2f} |")  # fmt: skip
    lines += ["", f"What that means, by these powers; a training of {EPOCHS} epochs:", "", "| task | seconds per epoch, one core | core hours | memory, GB | of these the dense series alone, GB |", "|---|---|---|---|---|"]  # fmt: skip
    for p in plan(rows, fits):
        lines.append(f"| {p['plan']} | {p['epoch_seconds']:,.3g} | {p['core_hours']:,.3g} | {p['gb']:,.3g} | {p['dense_gb']:,.3g} |")  # fmt: skip
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--point")
    args = parser.parse_args()
    if args.point:
        print(json.dumps(point(**json.loads(args.point))))
        return 0
    rows, fits = grow(args.quick)
    print(words(rows, fits, "this machine"))
    return 0


def write_rows(rows: list[dict[str, object]], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    sys.exit(main())
