"""`forecast RUN`: the coming periods as a table."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from trnn_core.cli.train import add_store
from trnn_core.errors import TRNNError
from trnn_core.export.tables import to_csv
from trnn_core.files import write_atomic
from trnn_core.models.forecast import Forecast
from trnn_core.runs.run import Run
from trnn_core.runs.store import RunStore

HELP = "write a run's forecast: a row per period, source, target and action"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="RUN")
    parser.add_argument("--horizon", type=int, default=1, help="periods ahead (default: 1)")
    parser.add_argument("--out", metavar="F.csv", help="the table to write; without it a few rows are shown")
    add_store(parser)
    parser.add_argument("--json", action="store_true", help="for machines")


def run(args: argparse.Namespace) -> int:
    if not 1 <= args.horizon <= 520:
        raise TRNNError(f"The horizon must be from 1 to 520 periods. Got {args.horizon} instead.")
    store = RunStore(args.runs)
    found = find_forecast(store, store.get(args.name), args.horizon)
    meta = dict(found.meta)
    diagonal = store.get(args.name).recipe.data.diagonal
    table = found.select(steps=slice(0, args.horizon)).to_frame(diagonal=diagonal)
    if args.out:
        write_atomic(Path(args.out), to_csv(table))
    if args.json:
        print(json.dumps({"meta": meta, "rows": len(table), "out": args.out}, indent=1))
    elif args.out:
        print(f"{len(table):,} rows in {args.out}: {meta['intervals']}.")
    else:
        print(table.sort_values("mean", ascending=False).head(20).to_string(index=False))
    return 0


def find_forecast(store: RunStore, found: Run, horizon: int) -> Forecast:
    """The stored forecast when it reaches far enough; else one made now with the stored weights."""
    stored = found.forecast()
    if stored is None:
        raise TRNNError(
            f"Run {found.run_id} has no forecast yet: it is {found.status().state}. Let it finish, or stop it."
        )
    if horizon <= stored.horizon:
        return stored
    from trnn_core.runs.restore import extend_forecast

    return extend_forecast(store, found, horizon)
