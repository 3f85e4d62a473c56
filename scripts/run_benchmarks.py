"""Run every benchmark, one after the other, or those named as arguments: `benchmarks/<name>/run.py` and a few more."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MORE = {
    "paper": "paper/run.py",
    "job-cost": "training/overhead.py",
    "kills": "training/kills.py",
    "simulation": "simulation/compare.py",
}


def main(names: list[str]) -> int:
    found = {p.parent.name: p for p in sorted((ROOT / "benchmarks").glob("*/run.py"))}
    found |= {name: ROOT / "benchmarks" / path for name, path in MORE.items()}
    unknown = [n for n in names if n not in found]
    if unknown:
        sys.stderr.write(f"There is no benchmark '{unknown[0]}': there are {', '.join(found) or 'none'}.\n")
        return 2
    failed = []
    for name in names or found:
        began = time.monotonic()
        code = subprocess.run([sys.executable, str(found[name])], cwd=ROOT).returncode
        sys.stdout.write(f"{name}: {'done' if code == 0 else 'FAILED'} in {time.monotonic() - began:.0f} s\n")
        failed += [name] if code else []
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
