"""What training in a job costs beyond the bare loop: checkpoints, history, status, heartbeat, requests.

    python benchmarks/training/overhead.py              writes benchmarks/training/overhead.md

Bare: `fit` without listeners. Job: `train_run` as a job's process runs it. Each in a fresh process, in turns; the loop is
timed from the first epoch's start to the last one's end (saving included), on the wall clock and in processor time.
Both run at normal priority here, so that other work on the machine delays both alike.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIMIT = 0.05


class Clock:
    """Time from Started to Ended."""

    def __call__(self, event: object) -> None:
        kind = type(event).__name__
        if kind == "Started":
            self.wall, self.cpu = time.perf_counter(), time.process_time()
        elif kind == "Ended":
            self.wall, self.cpu = time.perf_counter() - self.wall, time.process_time() - self.cpu


def measure(kind: str, preset_name: str, epochs: int) -> dict[str, float]:
    from trnn_core.data.readers.npz import read_npz
    from trnn_core.training.recipes import preset
    from trnn_core.training.store import RunStore

    recipe = preset(preset_name).changed(**{"train.epochs": epochs})
    series, clock = read_npz(ROOT / "data" / "demo.npz"), Clock()
    if kind == "bare":
        from trnn_core.training.trainer import fit

        fit(series, recipe, listeners=[clock])
    else:
        from trnn_core.training.execute import train_run

        with tempfile.TemporaryDirectory(dir=HERE) as folder:  # the disk the code is on, not memory
            store = RunStore(folder)
            # The clock listens last: an epoch's saving is over before the next begins, and before Ended is heard.
            train_run(store, store.create(recipe, series), listeners=[clock])
    return {"wall": clock.wall, "cpu": clock.cpu}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", nargs=3, metavar=("KIND", "PRESET", "EPOCHS"))
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.measure[0], args.measure[1], int(args.measure[2]))))
        return
    lines = []
    for name, epochs in (("quick", 15), ("paper-case-2", 15)):
        found: dict[str, list[dict[str, float]]] = {"bare": [], "job": []}
        for _ in range(args.repeats):
            for kind, results in found.items():
                command = [sys.executable, __file__, "--measure", kind, name, str(epochs)]
                environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
                done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
                results.append(json.loads(done.stdout))
        for what, choose in (("wall", min), ("wall", median), ("cpu", median)):
            bare, job = (choose(r[what] for r in found[kind]) / epochs * 1000 for kind in ("bare", "job"))
            row = f"| {name} | {what}, {choose.__name__} of {args.repeats} | {bare:.1f} | {job:.1f} | {job / bare - 1:+.1%} |"
            lines.append(row)
            print(row, flush=True)
    text = f"""# Training in a job against the bare loop

Command: `python benchmarks/training/overhead.py`. Simulated demo set (548 x 25 x 25 x 4), one thread, {os.cpu_count()} cores
({platform.machine()}), Python {platform.python_version()}, a checkpoint flushed to disk after every epoch. Allowed: {LIMIT:.0%}.

| preset | measure | bare, ms per epoch | job, ms per epoch | more |
|---|---|---|---|---|
{chr(10).join(lines)}
"""
    (HERE / "overhead.md").write_text(text)


if __name__ == "__main__":
    main()
