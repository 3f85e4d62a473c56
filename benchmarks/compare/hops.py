"""Through how many files data goes: an event file on its way to a series, a training on its way to a saved run.

    python benchmarks/compare/hops.py [--before CHECKOUT]

A hop is a call from one file of the product into another that was not made before on this way; a file counts once,
however often it is called. Counted by Python's profiler in the command line's own process, on the same commands.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

WALK = """
import json, os, sys, threading
from pathlib import Path
root = Path.cwd()
files, hops = [], []
def watch(frame, event, arg):
    if event != "call" or frame.f_code.co_name.startswith("<"):
        return
    name, caller = frame.f_code.co_filename, frame.f_back
    if not name.startswith(str(root / "trnn_core")):
        return
    while caller is not None and not caller.f_code.co_filename.startswith(str(root)):
        caller = caller.f_back
    here = os.path.relpath(name, root)
    there = os.path.relpath(caller.f_code.co_filename, root) if caller is not None else ""
    if here not in files:
        files.append(here)
    if there and there != here and there.startswith("trnn_core") and [there, here] not in hops:
        hops.append([there, here])
from trnn_core.cli import main
sys.setprofile(watch); threading.setprofile(watch)
code = main(json.loads(sys.argv[1]))
sys.setprofile(None); threading.setprofile(None)
json.dump({"code": code, "files": files, "hops": hops}, open(sys.argv[2], "w"))
os._exit(0)
"""


def walk(tree: Path, arguments: list[str]) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "walk.json"
        command = [sys.executable, "-c", WALK, json.dumps([a.replace("{own}", folder) for a in arguments]), str(out)]
        done = subprocess.run(
            command, cwd=tree, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True
        )
        if not out.exists():
            raise SystemExit(f"{tree}: {done.stderr[-1500:]}")
        return json.loads(out.read_text())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="another checkout")
    parser.add_argument("--list", action="store_true", help="the files in the order they are met")
    args = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    from tests.event_files import icews_row, icews_text

    with tempfile.TemporaryDirectory() as folder:
        events = Path(folder) / "events.tab"
        days = [f"2015-{m:02d}-{d:02d}" for m in range(1, 7) for d in range(1, 28)]
        names = ("China", "Japan", "France", "Brazil")
        rows = [icews_row(day, names[i % 4], "043", names[(i + 1) % 4]) for i, day in enumerate(days)]
        events.write_text(icews_text(rows))
        ways = {
            "event file to series": ["import", "icews", str(events), "--actors", "all", "--out", "{own}/x.npz"],
            "training to saved run": [
                *("train", "--data", "data/demo.npz", "--preset", "quick", "--runs", "{own}/runs"),
                *("--set", "train.epochs=2", "--set", "data.actors=Japan,Georgia,Ukraine,Germany"),
            ],
        }
        for words, arguments in ways.items():
            for name, tree in (("before", args.before), ("after", ROOT)):
                if tree is not None:
                    found = walk(tree.resolve(), arguments)
                    print(f"{words}, {name}: {len(found['files'])} files, {len(found['hops'])} hops")
                    if args.list:
                        print("  " + "\n  ".join(found["files"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
