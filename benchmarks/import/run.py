"""Import a made-up ICEWS file beside pandas, polars and DuckDB: seconds, peak memory, and whether the counts agree.

    python benchmarks/import/run.py [--rows 10000000] [--repeats 3]

Each contestant runs in its own process on the same two cores, in turns; the file is written to a temporary folder and
removed afterwards. Writes result.md and result.csv beside this script.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from contestants import CONTESTANTS  # noqa: E402
from make_icews import write  # noqa: E402


def measure(name: str, file: Path, out: Path) -> dict[str, float]:
    """Seconds, processor seconds and peak resident memory in MB of one run in a fresh process."""
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1]), "OMP_NUM_THREADS": "2"}
    command = [sys.executable, str(HERE / "contestants.py"), name, str(file), str(out)]
    return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)


def cells(out: Path, actors: set[str]) -> set[tuple[str, ...]]:
    lines = (tuple(line.split("\t")) for line in out.read_text(encoding="utf-8").split("\n"))
    return {c for c in lines if c[1] in actors and c[2] in actors}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", help="where the file is written for the run")
    parser.add_argument("--file", help="a file written before by make_icews.py with as many rows; it is kept")
    parser.add_argument("--no-write", action="store_true", help="print only")
    args = parser.parse_args()
    names = list(CONTESTANTS)
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        file = Path(args.file or Path(folder) / "events.tab")
        if not args.file:
            write(args.rows, file)
        size = file.stat().st_size
        with file.open("rb") as stream:  # into the page cache, for all alike
            while stream.read(2**24):
                pass
        runs: dict[str, list[dict[str, float]]] = {n: [] for n in names}
        load = os.getloadavg()[0]
        for _ in range(args.repeats):  # in turns, so that a busy minute meets everybody
            for name in names:
                runs[name].append(measure(name, file, Path(folder) / name))
                print(name, {k: round(v, 2) for k, v in runs[name][-1].items()}, flush=True)
        actors = set(json.loads((Path(folder) / "trnn.actors").read_text()))
        ours = cells(Path(folder) / "trnn", actors)
        agree = {n: cells(Path(folder) / n, actors) == ours for n in names}
    best = {n: min(x["seconds"] for x in r) for n, r in runs.items()}
    rows = [
        {
            "contestant": n,
            "seconds": round(best[n], 2),
            "median_seconds": round(statistics.median(x["seconds"] for x in r), 2),
            "cpu_seconds": round(min(x["cpu"] for x in r), 2),
            "peak_mb": round(max(x["peak_mb"] for x in r)),
            "times_slower": round(best[n] / best["trnn"], 2),
            "same_counts": agree[n],
        }
        for n, r in runs.items()
    ]
    told = report(rows, args, size, load, len(ours))
    print(told)
    if not args.no_write:
        (HERE / "result.md").write_text(told, encoding="utf-8")
        with (HERE / "result.csv").open("w", newline="") as stream:
            writer = csv.DictWriter(stream, rows[0])
            writer.writeheader()
            writer.writerows(rows)


def report(rows: list[dict], args: argparse.Namespace, size: int, load: float, n_cells: int) -> str:
    table = "\n".join(
        f"| {r['contestant']} | {r['seconds']} | {r['median_seconds']} | {r['cpu_seconds']} | {r['times_slower']} | {r['peak_mb']} | {'yes' if r['same_counts'] else 'NO'} |"
        for r in rows
    )
    packages = ", ".join(f"{p} {version(p)}" for p in ("numpy", "pyarrow", "pandas", "polars", "duckdb"))
    busy = f"\nThe machine was busy with other work (load {load:.1f} on {os.cpu_count()} cores): seconds differ between turns, processor seconds are the steadier measure.\n"
    return f"""# Importing {args.rows:,} rows ({size / 1e9:.2f} GB)

Unique events per week, source, target and quad class, from one plain file. `trnn` is `read_series` with everything it
does on top: checks, report, the 25 most active actors, the dense series. Best and median of {args.repeats} runs in turns, each in a fresh
process, imports not counted; peak memory is the process's largest resident size. "Same counts": the {n_cells:,} cells of
the 25 actors are equal.

| contestant | best s | median s | processor s | times trnn | peak MB | same counts |
|---|---|---|---|---|---|---|
{table}
{busy if load > 1 else ""}
Command: `python benchmarks/import/run.py --rows {args.rows} --repeats {args.repeats}`
Environment: {os.cpu_count()} cores ({platform.machine()}), load {load:.1f} at the start, Python {platform.python_version()}, {packages}.
"""


if __name__ == "__main__":
    main()
