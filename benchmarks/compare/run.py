"""This tree beside another checkout of it: the same work in both, by turns, on one machine.

    git worktree add ../before REVISION
    python benchmarks/compare/run.py --before ../before [--rounds 5] [--write]

Only what both versions have in common is used: the command line, the public names and the pages. Each piece of work
runs in fresh processes, before and after by turns; the ratio is after / before (1 means as fast, less means faster),
median over the rounds, with the smallest and largest. Times are of this machine, ratios hold elsewhere.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
N_ROWS = 400_000

CELLS = """
import time, torch
from trnn_core import TensorLSTM, TensorGRU
torch.set_num_threads(1); torch.manual_seed(0)
x = torch.randn(16, 7, 25, 25, 4)
best = float("inf")
for layer in (TensorLSTM((25, 25, 4), (14, 14, 4)), TensorGRU((25, 25, 4), (14, 14, 4))):
    for _ in range(12):
        begun = time.perf_counter()
        outputs, _ = layer(x)
        outputs.square().mean().backward()
        best = min(best, time.perf_counter() - begun)
print(best)
"""
PAGES = """
import asyncio, sys, statistics, tempfile, shutil
from pathlib import Path
sys.path.insert(0, ".")
from scripts.serve import Server
from tests.load.client import Session, run_alone
home = Path(tempfile.mkdtemp())
(home / "data").mkdir()
shutil.copy("data/demo.npz", home / "data")
async def look(url):
    found = []
    for page in ("", "Data", "Train", "Forecast", "Evaluate", "Report"):
        async with Session(url, page) as visitor:
            found += [statistics.median([await visitor.rerun() for _ in range(6)])]
    return found
with Server(home / "data", home / "runs") as server:
    print(sum(run_alone(look(server.url))))
shutil.rmtree(home, ignore_errors=True)
"""


def work(folder: Path) -> dict[str, list[str]]:
    """Each piece of work as a command; `{own}` is a fresh folder."""
    program, demo = [sys.executable, "-m", "trnn_core"], "data/demo.npz"
    events = str(folder / "events.tab")
    short = ["--set", "train.epochs=6", "--runs", "{own}"]
    shortest = ["--set", "train.epochs=2", "--set", "train.epoch_share=0.02", "--runs", "{own}"]
    return {
        f"import of {N_ROWS:,} rows": [*program, "import", "icews", events, "--actors", "25", "--out", "{own}/x.npz"],
        "cells, forward and back": [sys.executable, "-c", CELLS],
        "training, preset quick, 6 epochs": [*program, "train", "--data", demo, "--preset", "quick", *short],
        "training, preset recommended, 2 short epochs": [*program, "train", "--data", demo, *shortest],
        "backtest of three baselines": [
            *(*program, "backtest", "--data", demo, "--workers", "1", "--out", "{own}/b.csv"),
            *("--models", "persistence,ewma,relational_ar"),
        ],
        "start of the command line (runs)": [*program, "runs", "--runs", "{own}"],
        "pages, rerun of six": [sys.executable, "-c", PAGES],
    }


def once(command: list[str], tree: Path) -> float:
    """Seconds of one piece of work in a tree; a script that prints a figure measures itself."""
    with tempfile.TemporaryDirectory() as own:
        begun = time.perf_counter()
        done = subprocess.run(
            [part.replace("{own}", own) for part in command],
            cwd=tree,
            env=os.environ | ONE_THREAD,
            capture_output=True,
            text=True,
            check=False,
        )
        took = time.perf_counter() - begun
    if done.returncode:
        raise SystemExit(f"{tree}: {' '.join(command)[:120]} failed: {done.stderr[-1500:]}")
    return float(done.stdout.split()[-1]) if command[1] == "-c" else took


def table(found: dict[str, list[tuple[float, float]]]) -> str:
    lines = ["| work | before, s | after, s | after / before | smallest to largest |", "|---|---|---|---|---|"]
    for name, pairs in found.items():
        ratios = sorted(after / before for before, after in pairs)
        before, after = (statistics.median(side) for side in zip(*pairs, strict=True))
        lines.append(
            f"| {name} | {before:.2f} | {after:.2f} | **{statistics.median(ratios):.2f}** "
            f"| {ratios[0]:.2f} to {ratios[-1]:.2f} |"
        )
    return "\n".join(lines)


def revision(tree: Path) -> str:
    return subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=tree, capture_output=True, text=True
    ).stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="another checkout")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="pieces of work whose name holds this")
    parser.add_argument("--write", action="store_true", help="write results.md beside this file")
    args = parser.parse_args()
    if args.before is None:
        print("Nothing to compare with: give --before CHECKOUT.")
        return 0
    found: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        maker = [sys.executable, "benchmarks/import/make_icews.py", str(N_ROWS), f"{folder}/events.tab"]
        subprocess.run(maker, cwd=ROOT, check=True, capture_output=True)
        for name, command in work(Path(folder)).items():
            if args.only and args.only not in name:
                continue
            for turn in range(args.rounds):
                trees = [args.before.resolve(), ROOT]
                sides = {tree: once(command, tree) for tree in (trees if turn % 2 else trees[::-1])}
                found.setdefault(name, []).append((sides[trees[0]], sides[trees[1]]))
                print(json.dumps({name: found[name][-1]}), flush=True)
    words = f"Before {revision(args.before)}, after {revision(ROOT)}; {args.rounds} rounds, one thread each.\n\n{table(found)}\n"
    print(words)
    if args.write:
        Path(__file__).with_name("results.md").write_text(
            f"# This version beside an earlier one\n\n`python benchmarks/compare/run.py --before CHECKOUT --write`\n\n{words}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
