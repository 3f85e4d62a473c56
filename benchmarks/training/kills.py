"""Kill -9 at random moments, saving included, and resume: counts what was lost.

python benchmarks/training/kills.py --kills 100     writes benchmarks/training/kills.md
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
os.environ.setdefault("OMP_NUM_THREADS", "1")


def main() -> None:
    from tests.faults.killing import kill_campaign
    from trnn_core.data.simulation import simulate
    from trnn_core.runs.store import RunStore

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=HERE) as folder:
        tally = kill_campaign(
            RunStore(folder),
            simulate(seed=0, n_actors=6, n_periods=60),
            args.kills,
            args.seed,
            n_chains=max(args.kills // 10, 1),
        )
    saving, chains = tally.figures.values()
    text = f"""# Kill -9 at random moments

Command: `python benchmarks/training/kills.py --kills {args.kills} --seed {args.seed}`; Python {platform.python_version()},
{platform.machine()}, {time.perf_counter() - begun:.0f} s. A real trainer process each time; three in ten kills wait for a save to be under
way. After every kill: the store opens, all checksums hold, every checkpoint equals, bit for bit, the one of a training
that was never interrupted, and so does the history.

| | |
|---|---|
| kills that hit a living trainer | {tally.tried} |
| of these while a file was being saved (a temporary was found) | {saving} |
| torn, damaged or lost files, or runs that ended otherwise | {len(tally.failures)} |
| runs killed up to ten times, then left to end with weights and history bit-identical to the uninterrupted training | {chains} |
"""
    (HERE / "kills.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
