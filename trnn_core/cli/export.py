"""`export RUN`: tables, networks, images, report and slides of a run, as files in a folder."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from trnn_core.cli.report import teller
from trnn_core.cli.train import add_store
from trnn_core.export.bundle import KINDS, write_bundle
from trnn_core.export.images import Size
from trnn_core.export.material import gather
from trnn_core.runs.store import RunStore

HELP = "write a run's tables, networks, images, report and slides into a folder"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = "; ".join(f"{kind}: {words}" for kind, (words, _) in KINDS.items())
    parser.add_argument("name", metavar="RUN")
    parser.add_argument("--out", metavar="DIR", required=True, help="the folder to write into")
    parser.add_argument("--what", metavar="A,B,C", help=f"only these (default: all). {what}")
    parser.add_argument("--width-mm", type=float, default=180.0, help="width of the images on paper (default: 180)")
    parser.add_argument("--dpi", type=int, default=300, help="resolution of the PNG images (default: 300)")
    add_store(parser)
    parser.add_argument("--json", action="store_true", help="for machines")


def run(args: argparse.Namespace) -> int:
    kinds = [kind.strip() for kind in args.what.split(",") if kind.strip()] if args.what else None
    size = Size(width_mm=args.width_mm, dpi=args.dpi)
    written = write_bundle(gather(args.name, RunStore(args.runs)), Path(args.out), kinds, teller(args.json), size)
    if args.json:
        print(json.dumps({"out": args.out, "files": [str(p.relative_to(args.out)) for p in written]}, indent=1))
    else:
        print(f"{len(written)} files in {args.out}.")
    return 0
