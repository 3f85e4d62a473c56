"""What training in a job costs beyond the bare loop: checkpoints, history, status, heartbeat, requests.

    python benchmarks/training/overhead.py              writes benchmarks/training/overhead.md

Bare: `fit` without listeners. Job: `train_run` as a job's process runs it. Both in one process, in turns; the loop is
timed from the first epoch's start to the last one's end (saving included), on the wall clock and in processor time of the
whole process (the threads that flush and beat included). Both run at normal priority here, so that other work on the machine
delays both alike. Beside the ratio, which other work on the machine blurs, stands what the job's extras took by themselves:
the time the loop waited for them, and the processor time they used in any thread.
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
EPOCHS = 6


class Extras:
    """What recording takes by itself: wall and processor time in the training thread, processor time in other threads."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0

    def watch(self, owner: object, name: str, aside: bool = False) -> None:
        """Time every call of a method; `aside` for one that another thread runs."""
        real = getattr(owner, name)

        def timed(*args: object, **kwargs: object) -> object:
            wall, cpu = time.perf_counter(), time.thread_time()
            try:
                return real(*args, **kwargs)
            finally:
                self.cpu += time.thread_time() - cpu
                self.wall += 0.0 if aside else time.perf_counter() - wall

        setattr(owner, name, timed)


class Clock:
    """Time from Started to Ended."""

    def __call__(self, event: object) -> None:
        kind = type(event).__name__
        if kind == "Started":
            self.wall, self.cpu = time.perf_counter(), time.process_time()
        elif kind == "Ended":
            self.wall, self.cpu = time.perf_counter() - self.wall, time.process_time() - self.cpu


def measure(preset_name: str, epochs: int, pairs: int) -> list[dict[str, dict[str, float]]]:
    """Bare and job in turns, in one process: what else the machine does meets both alike."""
    import torch

    from trnn_core.data.readers.npz import read_npz
    from trnn_core.jobs.processes import Heartbeat
    from trnn_core.runs import execute
    from trnn_core.runs.flusher import Flusher
    from trnn_core.runs.recorder import Recorder
    from trnn_core.runs.store import RunStore
    from trnn_core.training.recipes import preset
    from trnn_core.training.trainer import fit

    execute.finish_run = lambda fitted, run: ({}, {})  # forecasts come after the loop and are not part of it
    extras = Extras()
    for owner, name, aside in (
        (Recorder, "__call__", False),
        (Recorder, "control", False),
        (Flusher, "_flush", True),
        (Heartbeat, "_beat", True),
    ):
        extras.watch(owner, name, aside)
    torch.set_num_threads(1)
    recipe = preset(preset_name).changed(**{"train.epochs": epochs, "train.warmup": 0})
    series, found = read_npz(ROOT / "data" / "demo.npz"), []
    with tempfile.TemporaryDirectory(dir=HERE) as folder:  # the disk the code is on, not memory
        store = RunStore(folder)
        for pair in range(pairs + 1):
            clocks, extras.wall, extras.cpu = {"bare": Clock(), "job": Clock()}, 0.0, 0.0
            for kind in ("bare", "job") if pair % 2 else ("job", "bare"):
                if kind == "bare":
                    fit(series, recipe, listeners=[clocks[kind]])
                else:
                    # The clock listens last: an epoch's saving is over before the next begins, and before Ended is heard.
                    execute.train_run(store, store.create(recipe, series), listeners=[clocks[kind]])
            times = {kind: {"wall": clock.wall, "cpu": clock.cpu} for kind, clock in clocks.items()}
            found.append(times | {"extras": {"wall": extras.wall, "cpu": extras.cpu}})
    return found[1:]  # the first pair warms up


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", nargs=3, metavar=("PRESET", "EPOCHS", "PAIRS"))
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="two pairs, to try the script; writes nothing")
    args = parser.parse_args()
    args.pairs = 2 if args.quick else args.pairs
    if args.measure:
        print(json.dumps(measure(args.measure[0], int(args.measure[1]), int(args.measure[2]))))
        return
    lines = []
    for name in ("quick", "paper-case-2"):
        epochs = EPOCHS
        command = [sys.executable, __file__, "--measure", name, str(epochs), str(args.pairs)]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        pairs = json.loads(
            subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment).stdout
        )
        for what in ("wall", "cpu"):
            bare, job = (median(p[kind][what] for p in pairs) / epochs * 1000 for kind in ("bare", "job"))
            more = sorted(p["job"][what] / p["bare"][what] - 1 for p in pairs)
            own = [p["extras"][what] / p["bare"][what] for p in pairs]
            row = f"| {name} | {what} | {bare:.1f} | {job:.1f} | {median(more):+.1%} | {more[0]:+.1%} .. {more[-1]:+.1%} | {median(own):.1%} |"
            lines.append(row)
            print(row, flush=True)
    text = f"""# Training in a job against the bare loop

Command: `python benchmarks/training/overhead.py`. Simulated demo set (548 x 25 x 25 x 4), one thread, {os.cpu_count()} cores
({platform.machine()}), load {os.getloadavg()[1]:.1f}, Python {platform.python_version()}, a checkpoint after every epoch;
{args.pairs} pairs of trainings of {EPOCHS} epochs in turns. Allowed: {LIMIT:.0%}. The last column is what recording takes by itself: on the wall
clock the time the training thread spends in it, in processor time also that of the threads beside it.

| preset | clock | bare, ms per epoch (median) | job, ms per epoch (median) | more, median over pairs | range over pairs | recording by itself, share of bare (median) |
|---|---|---|---|---|---|---|
{chr(10).join(lines)}
"""
    if not args.quick:
        (HERE / "overhead.md").write_text(text)


if __name__ == "__main__":
    main()
