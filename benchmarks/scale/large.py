"""Large networks in 8 GB: simulate, train, forecast and draw, each in a process of its own whose peak memory is read.

python benchmarks/scale/large.py                     # 152 actors, 20 actions, 260 weeks
python benchmarks/scale/large.py --actors 250 --weeks 120
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]
ROOT = HERE.parents[1]
LIMIT_GB = 8.0


def make(out: str, actors: int, weeks: int) -> None:
    from sets import large_set

    from trnn_core.data.readers.npz import write_npz

    write_npz(large_set(actors, weeks), Path(out))


def draw(runs: str, data: str) -> None:
    """The forecast's matrix and network, and the activity over time, as the pages draw them."""
    from trnn_core.charts.heatmap import heatmap
    from trnn_core.charts.lines import activity
    from trnn_core.charts.network import network
    from trnn_core.charts.order import place_actors
    from trnn_core.data.readers.npz import read_npz
    from trnn_core.training.store import RunStore

    series = read_npz(data)
    forecast = RunStore(runs).runs()[0].forecast()
    assert forecast is not None
    matrix = forecast["mean"][0][..., 0]
    sizes = {
        "heatmap": heatmap(matrix, series.actors, "Next week", simulated=True),
        "network": network(matrix, series.actors, place_actors(series, "force"), "Next week", simulated=True),
        "activity": activity(series),
    }
    print(json.dumps({name: len(figure.to_json()) for name, figure in sizes.items()}))


def measured(*command: str) -> tuple[float, float, str]:
    """Seconds and peak resident memory (GB) of a command and its children."""
    code = (
        "import resource, subprocess, sys, time\n"
        "t = time.monotonic(); p = subprocess.run(sys.argv[1:], capture_output=True, text=True)\n"
        "sys.stderr.write(p.stderr[-3000:])\n"
        "print(p.returncode, time.monotonic() - t, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
        "print(p.stdout[-3000:])"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code, *command], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    head, _, rest = done.stdout.partition("\n")
    status, seconds, kilobytes = head.split()
    if status != "0":
        raise SystemExit(f"{' '.join(command[:4])} failed: {done.stderr[-2000:]}")
    return float(seconds), float(kilobytes) / 1e6, rest


def run(actors: int, weeks: int, epochs: int, hidden: str) -> list[dict[str, object]]:
    me = [sys.executable, str(Path(__file__).resolve())]
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        data, runs = f"{folder}/x.npz", f"{folder}/runs"
        steps = {
            "simulate": [*me, "--make", data, "--actors", str(actors), "--weeks", str(weeks)],
            "train and forecast": [
                sys.executable, "-m", "trnn_core", "train", "--data", data, "--runs", runs, "--preset", "quick", "--set",
                f"train.epochs={epochs}", "--set", f"model.hidden_shape={hidden}", "--json",
            ],
            "draw": [*me, "--draw", runs, "--data", data],
        }  # fmt: skip
        for name, command in steps.items():
            began = time.monotonic()
            seconds, peak, out = measured(*command)
            rows.append({"actors": actors, "actions": 20, "weeks": weeks, "step": name, "seconds": round(seconds, 1), "peak_gb": round(peak, 2), "fits": peak < LIMIT_GB})  # fmt: skip
            print(
                f"{actors} actors, {weeks} weeks, {name}: {time.monotonic() - began:.0f} s, peak {peak:.2f} GB",
                flush=True,
            )
            if name == "draw":
                print("characters of the figures:", out.strip(), flush=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--actors", type=int, default=152)
    parser.add_argument("--weeks", type=int, default=260)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--hidden", default="32,32,8")
    parser.add_argument("--make")
    parser.add_argument("--draw")
    parser.add_argument("--data")
    args = parser.parse_args()
    if args.make:
        make(args.make, args.actors, args.weeks)
    elif args.draw:
        draw(args.draw, args.data)
    else:
        rows = run(args.actors, args.weeks, args.epochs, args.hidden)
        return 0 if all(row["fits"] for row in rows) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
