"""How long the preset `recommended` takes to train on 25 x 25 x 4 x 573, as a user starts it; the limit is 5 minutes.

    python benchmarks/forecast/duration.py [--data ../shared/data] [--threads 1,2]

The wall clock of the whole command, start of Python, forecast and saving included, for each number of threads. Writes
duration/seconds.json beside this file; `run.py --page-only` puts it into docs/results.md. Wants a quiet machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from run import DURATION, ROOT, SERIES, commit, data_parser, machine  # noqa: E402


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--threads", default="1,2")
    args = parser.parse_args()
    seconds = {n: train(args.data / f"{SERIES[0]}.npz", n) for n in args.threads.split(",")}
    found = {
        "series": SERIES[0],
        "seconds": seconds,
        "processors": os.cpu_count(),
        "commit": commit(),
        "machine": machine(),
    }
    DURATION.parent.mkdir(exist_ok=True)
    DURATION.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(found)


def train(data: Path, threads: str) -> float:
    with tempfile.TemporaryDirectory() as runs:
        command = [sys.executable, "-m", "trnn_core", "train", "--preset", "recommended", "--data", str(data)]
        begun = time.perf_counter()
        subprocess.run([*command, "--runs", runs, "--set", f"train.threads={threads}"], cwd=ROOT, check=True)
        return round(time.perf_counter() - begun, 1)


if __name__ == "__main__":
    main()
