"""Large networks in 8 GB: simulate, train, forecast and draw, each in a process of its own whose peak memory is read.

python benchmarks/scale/large.py                     # 152 actors, 20 actions, 260 weeks
python benchmarks/scale/large.py --actors 250 --weeks 60
python benchmarks/scale/large.py --view X.npz        # draw a data set of yours
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]
ROOT = HERE.parents[1]
LIMIT_GB = 8.0


def make(out: str, actors: int, weeks: int) -> None:
    from sets import large_set

    from trnn_core.data.readers.npz import write_npz

    write_npz(large_set(actors, weeks), Path(out))


def draw(data: str, runs: str | None) -> None:
    """Matrix and network of the forecast, or of the last period without one, and the activity over time."""
    from trnn_core.charts.heatmap import heatmap
    from trnn_core.charts.lines import activity
    from trnn_core.charts.look import Look
    from trnn_core.charts.node_link import network
    from trnn_core.charts.order import place_actors
    from trnn_core.data.readers.npz import read_npz
    from trnn_core.runs.store import RunStore

    series = read_npz(data)
    forecast = RunStore(runs).runs()[0].forecast() if runs else None
    matrix = forecast.mean[0][..., 0] if forecast else series.values[-1, ..., 0]
    look = Look("Relations", simulated=series.source.simulated)
    figures = {
        "heatmap": heatmap(matrix, series.actors, look),
        "network": network(matrix, series.actors, place_actors(series, "force"), look),
        "activity": activity(series, Look(simulated=series.source.simulated)),
    }
    sizes = {name: len(figure.to_json()) for name, figure in figures.items()}
    print(json.dumps({"shape": series.shape, "characters": sizes}))


def measured(*command: str) -> tuple[float, float, str]:
    """Seconds, peak resident memory (GB) of a command and all its children together, and what it printed."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    began, peak = time.monotonic(), 0
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        child = psutil.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=errors, text=True)
        while child.poll() is None:
            peak = max(peak, resident(child))
            time.sleep(0.02)
        seconds = time.monotonic() - began
        out.seek(0)
        errors.seek(0)
        if child.returncode:
            raise SystemExit(f"{' '.join(command[:4])} failed: {errors.read()[-2000:]}")
        return seconds, peak / 1e9, out.read()


def resident(process: psutil.Process) -> int:
    """Bytes of a process and its descendants; shared pages count for each of them."""
    total = 0
    with suppress(psutil.NoSuchProcess):
        for one in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                total += one.memory_info().rss
    return total


def view(data: Path) -> list[dict[str, object]]:
    """The charts of a data set of yours."""
    seconds, peak, out = measured(sys.executable, str(Path(__file__).resolve()), "--draw", str(data.resolve()))
    periods, actors, _, actions = json.loads(out)["shape"]
    print(f"{data.stem}: drawn in {seconds:.0f} s, peak {peak:.2f} GB, {out.strip()}", flush=True)
    return [row_of(actors, actions, periods, f"draw {data.stem}", seconds, peak)]


def row_of(actors: int, actions: int, periods: int, step: str, seconds: float, peak: float) -> dict[str, object]:
    return {
        "actors": actors,
        "actions": actions,
        "weeks": periods,
        "step": step,
        "seconds": round(seconds, 1),
        "peak_gb": round(peak, 2),
        "fits": peak < LIMIT_GB,
    }


def run(actors: int, weeks: int, epochs: int, hidden: str) -> list[dict[str, object]]:
    me = [sys.executable, str(Path(__file__).resolve())]
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        data, runs = f"{folder}/x.npz", f"{folder}/runs"
        steps = {
            "simulate": [*me, "--make", data, "--actors", str(actors), "--weeks", str(weeks)],
            "train and forecast": [
                sys.executable,
                "-m",
                "trnn_core",
                "train",
                "--data",
                data,
                "--runs",
                runs,
                "--preset",
                "quick",
                "--set",
                f"train.epochs={epochs}",
                "--set",
                f"model.hidden_shape={hidden}",
                "--json",
            ],
            "draw": [*me, "--draw", data, "--runs", runs],
        }
        for name, command in steps.items():
            seconds, peak, out = measured(*command)
            rows.append(row_of(actors, 20, weeks, name, seconds, peak))
            print(f"{actors} actors, {weeks} weeks, {name}: {seconds:.0f} s, peak {peak:.2f} GB", flush=True)
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
    parser.add_argument("--runs")
    parser.add_argument("--view", type=Path)
    args = parser.parse_args()
    if args.make:
        make(args.make, args.actors, args.weeks)
    elif args.draw:
        draw(args.draw, args.runs)
    else:
        rows = view(args.view) if args.view else run(args.actors, args.weeks, args.epochs, args.hidden)
        return 0 if all(row["fits"] for row in rows) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
