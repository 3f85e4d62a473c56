"""How a training's time and memory grow with weeks, actors, actions, window and hidden size; fitted exponents; a plan.

    python benchmarks/scale/growth.py [--quick]
    python benchmarks/scale/growth.py --plan --core-hour 0.02 --gb-hour 0.002    # your prices, from growth.csv

Each point is a process of its own on one thread: processor seconds of its median epoch and of the end of a training
(forecast, past forecasts and their intervals), and its peak memory beyond that of an idle one. The exponent is the slope
of log(time) over log(size), fitted to the larger half of the points, where fixed costs are small.
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
from typing import Any

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
KINDS = ("seconds", "end", "gb")
CORE_HOUR, GB_HOUR = 0.05, 0.005  # an assumption, said so wherever it is used
UNITS = {"hidden": "hidden side (h x h x 4)", "window": "periods per window"}


def point(weeks: int, actors: int, actions: int, window: int, hidden: int, repeats: int) -> dict[str, float]:
    """A tGRU in this process: seconds of its median epoch and of what comes after the last one, and peak gigabytes."""
    import resource

    import numpy as np
    import torch

    from trnn_core.data.series import Provenance, RelationalSeries
    from trnn_core.runs.forecasting import HORIZON, look_back
    from trnn_core.training.config import Recipe
    from trnn_core.training.tensor_learner import TensorLearner

    torch.set_num_threads(1)
    idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rng = np.random.default_rng(0)
    values = rng.poisson(0.3, size=(weeks, actors, actors, actions)).astype(np.float32)
    dates = np.datetime64("2000-01-06") + 7 * np.arange(weeks)
    series = RelationalSeries(
        values,
        dates,
        tuple(f"A{i}" for i in range(actors)),
        tuple(f"K{i}" for i in range(actions)),
        source=Provenance("Random counts", simulated=True),
    )
    del values
    recipe = Recipe(
        data={"window": window}, model={"cell": "gru", "hidden_shape": (hidden, hidden, 4)}, train={"clip_norm": 1.0}
    )
    torch.manual_seed(0)
    learner = TensorLearner(series, recipe)
    seconds = []
    for epoch in range(1, repeats + 2):
        began = time.process_time()
        for batch in learner.batches(epoch, 0):
            learner.gradient(batch)
            learner.update()
        learner.validation_loss()
        seconds.append(time.process_time() - began)
    began = time.process_time()
    forecaster = learner.forecaster()
    look_back(learner, forecaster)
    forecaster.forecast(learner.series, HORIZON).to_npz()
    end = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": statistics.median(seconds[1:]), "end": end, "gb": (peak - idle) / 1e6}


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


def grow(quick: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    base = measured(BASE, 1 if quick else 5)
    for name, sizes in SIZES.items():
        for size in sizes[:3] if quick else sizes:
            found = base if size == BASE[name] else measured({**BASE, name: size}, 1 if quick else 3)
            rows.append({"grown": name, "size": size, **{kind: round(found[kind], 5) for kind in KINDS}})
            print(rows[-1], flush=True)
    return rows


def fit(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """The power of each factor, for each of the kinds."""
    fits = {}
    for name in SIZES:
        mine = [r for r in rows if r["grown"] == name]
        late = mine[len(mine) // 2 - (len(mine) % 2 == 1) :]
        fits[name] = {kind: slope([r["size"] for r in late], [r[kind] for r in late]) for kind in KINDS}
    return fits


# What people have, and what they may want.
PLANS = (
    (
        "25 countries, 4 classes, 10 years of weeks",
        {"weeks": 520, "actors": 25, "actions": 4, "window": 7, "hidden": 25},
    ),
    (
        "152 countries, 4 classes, 10 years of weeks",
        {"weeks": 520, "actors": 152, "actions": 4, "window": 7, "hidden": 50},
    ),
    (
        "152 countries, 20 roots, 10 years of weeks",
        {"weeks": 520, "actors": 152, "actions": 20, "window": 7, "hidden": 50},
    ),
    (
        "250 actors, 20 roots, 10 years of weeks",
        {"weeks": 520, "actors": 250, "actions": 20, "window": 7, "hidden": 64},
    ),
    (
        "250 actors, 20 roots, 20 years of days",
        {"weeks": 7305, "actors": 250, "actions": 20, "window": 28, "hidden": 64},
    ),
    (
        "all CAMEO actors (about 1,500), 20 roots, 20 years of days",
        {"weeks": 7305, "actors": 1500, "actions": 20, "window": 28, "hidden": 128},
    ),
)
EPOCHS = 30
STUDY = 33  # trainings: a search of 24 trials, 5 seeds of the best settings, a backtest with 4 refits
NOT_ZERO, BYTES = 0.014, 12  # share of the cells of 152 simulated actors and 20 roots, and a place and a value for each
SPARSE_WINDOWS = 8  # windows of a batch that would be made dense at a time


def grown(rows: list[dict[str, Any]], fits: dict[str, dict[str, float]], sizes: dict[str, int], kind: str) -> float:
    """By the fitted powers, from the nearest measured size of each factor on; factors are taken to multiply."""
    value = float(rows[0][kind])
    for name, size in sizes.items():
        known = [r for r in rows if r["grown"] == name]
        at = min(known, key=lambda r: abs(log(r["size"] / size)))
        value *= at[kind] / known[0][kind] * (size / at["size"]) ** fits[name][kind]
    return value


def plan(rows: list[dict[str, Any]], core_hour: float, gb_hour: float) -> list[dict[str, Any]]:
    """Core hours, memory of a process and price of one training and of a study; the last plan once more, kept sparse."""
    from trnn_core.training.config import Recipe
    from trnn_core.training.memory import batch_bytes, series_bytes

    fits, out = fit(rows), []
    for words, sizes in PLANS:
        hours = (EPOCHS * grown(rows, fits, sizes, "seconds") + grown(rows, fits, sizes, "end")) / 3600
        recipe = Recipe(
            data={"window": sizes["window"]},
            model={"cell": "gru", "hidden_shape": (sizes["hidden"], sizes["hidden"], 4)},
        )
        shape = (sizes["weeks"], sizes["actors"], sizes["actors"], sizes["actions"])
        whole = (
            series_bytes(recipe, shape) / 1e9
        )  # exact, while the powers of memory are those of sets with large fixed parts
        cells = sizes["weeks"] * sizes["actors"] ** 2 * sizes["actions"]
        sparse = (cells * NOT_ZERO * BYTES + batch_bytes(recipe, shape, SPARSE_WINDOWS)) / 1e9
        ways = [("", whole + grown(rows, fits, {**sizes, "weeks": BASE["weeks"]}, "gb"))]
        ways += [(", kept sparse (not built)", sparse)] if sizes is PLANS[-1][1] else []
        for way, gb in ways:
            price = hours * (core_hour + gb * gb_hour)
            out.append(
                {
                    "plan": words + way,
                    "hours": hours,
                    "gb": gb,
                    "series_gb": cells * 4 / 1e9,
                    "price": price,
                    "study": STUDY * price,
                }
            )
    return out


def plan_words(rows: list[dict[str, Any]], core_hour: float = CORE_HOUR, gb_hour: float = GB_HOUR) -> list[str]:
    lines = [
        f"What that means, by these powers, for a training of {EPOCHS} epochs and its forecast. **Prices are an assumption**: {core_hour:g} per core hour "
        f"and {gb_hour:g} per GB of memory and hour, in any currency; a lab puts in its own "
        f"(`python benchmarks/scale/growth.py --plan --core-hour {core_hour:g} --gb-hour {gb_hour:g}`). A study is {STUDY} trainings: "
        "a search of 24 trials, counted whole, 5 seeds of the best settings, and a backtest with 4 refits.",
        "",
        "| task | core hours | memory of a process, GB | of these the values alone | price of a training | of a study |",
        "|---|---|---|---|---|---|",
    ]
    return lines + [
        f"| {p['plan']} | {told(p['hours'])} | {told(p['gb'])} | {told(p['series_gb'])} | {told(p['price'])} | {told(p['study'])} |"
        for p in plan(rows, core_hour, gb_hour)
    ]


def told(number: float) -> str:
    """Two digits that mean something.

    >>> told(0.001234), told(3.72), told(43210.0)
    ('0.0012', '3.7', '43,000')
    """
    rounded = float(f"{number:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"


def words(rows: list[dict[str, Any]], machine: str) -> str:
    """The tables as Markdown."""
    fits = fit(rows)
    lines = [
        f"Measured on {machine}; one thread, tGRU, batches of 61 windows, processor seconds. Base: "
        + ", ".join(f"{k} {v}" for k, v in BASE.items())
        + "."
    ]
    lines += [
        "",
        "| grown | sizes | seconds per epoch | seconds of the forecast at the end | peak memory beyond idle, GB | powers: epoch | end | memory |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in SIZES:
        mine = [r for r in rows if r["grown"] == name]
        cells = [" · ".join(f"{r[k]:.3g}" if k != "size" else str(r[k]) for r in mine) for k in ("size", *KINDS)]
        lines.append(
            f"| {UNITS.get(name, name)} | {' | '.join(cells)} | {' | '.join(f'{fits[name][k]:.2f}' for k in KINDS)} |"
        )
    return "\n".join([*lines, "", *plan_words(rows)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--plan", action="store_true", help="no measuring: the plan from growth.csv, at your prices")
    parser.add_argument("--core-hour", type=float, default=CORE_HOUR, help=f"price of a core hour ({CORE_HOUR})")
    parser.add_argument(
        "--gb-hour", type=float, default=GB_HOUR, help=f"price of a GB of memory for an hour ({GB_HOUR})"
    )
    parser.add_argument("--point")
    args = parser.parse_args()
    if args.point:
        print(json.dumps(point(**json.loads(args.point))))
    elif args.plan:
        print("\n".join(plan_words(read_rows(HERE / "growth.csv"), args.core_hour, args.gb_hour)))
    else:
        print(words(grow(args.quick), "this machine"))
    return 0


def read_rows(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="") as file:
        return [
            {"grown": r["grown"], **{k: float(v) for k, v in r.items() if k != "grown"}} for r in csv.DictReader(file)
        ]


def write_rows(rows: list[dict[str, Any]], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    sys.exit(main())
