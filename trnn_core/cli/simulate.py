"""`simulate --seed 0 --out X.npz`: the simulated demo set, or another one like it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from trnn_core.data.readers.npz import write_npz
from trnn_core.data.simulation import LINEAR, SATURATING, THRESHOLD, simulate

HELP = "make a simulated series whose influence ties are known"
RESPONSES = {d.response: d for d in (LINEAR, SATURATING, THRESHOLD)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, default=0, help="another number, another world (default: 0, the demo set)")
    parser.add_argument("--out", type=Path, required=True, help="the series file to write (.npz)")
    parser.add_argument("--actors", type=int, default=25, help="number of actors (default: 25)")
    parser.add_argument("--weeks", type=int, default=548, help="number of weeks from 2004-01-01 (default: 548)")
    parser.add_argument(
        "--response",
        choices=sorted(RESPONSES),
        default="linear",
        help="how last week's actions are felt: in proportion (default), levelling off, or only when unusual",
    )
    parser.add_argument("--json", action="store_true", help="for machines")


def run(args: argparse.Namespace) -> int:
    dynamics = RESPONSES[args.response]
    series = simulate(args.seed, n_actors=args.actors, n_periods=args.weeks, dynamics=dynamics)
    write_npz(series, args.out)
    facts = {"out": str(args.out), "title": series.source.title, "simulated": True, "fingerprint": series.fingerprint}
    print(json.dumps(facts) if args.json else f"{facts['title']} -> {args.out} (fingerprint {series.fingerprint[:12]})")
    return 0
