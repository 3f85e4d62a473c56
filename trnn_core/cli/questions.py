"""What the verbs that question a run share: finding it, naming a cell, printing a table."""

from __future__ import annotations

import argparse
import json
from typing import Any

import pandas as pd

from trnn_core.cli.train import add_store
from trnn_core.errors import TRNNError
from trnn_core.export.tables import to_csv
from trnn_core.insight.view import View
from trnn_core.runs.run import Run
from trnn_core.runs.store import RunStore


def add_question(parser: argparse.ArgumentParser, *, cell: bool = False) -> None:
    parser.add_argument("name", metavar="RUN")
    if cell:
        parser.add_argument("--source", required=True, metavar="COUNTRY", help="who acts")
        parser.add_argument("--target", required=True, metavar="COUNTRY", help="who is acted upon")
        parser.add_argument("--action", required=True, help="the kind of act, for example 'material conflict'")
    parser.add_argument("--out", metavar="FILE.csv", help="write the whole table there")
    add_store(parser)
    parser.add_argument("--json", action="store_true", help="for machines")


def open_run(args: argparse.Namespace) -> tuple[RunStore, Run, View]:
    """The run and a view of its model; torch is loaded only now."""
    import torch

    from trnn_core.insight.loading import load_view

    torch.set_num_threads(1)
    store = RunStore(args.runs)
    run = store.get(args.name)
    return store, run, load_view(store, run)


def cell_of(args: argparse.Namespace, view: View) -> tuple[int, int, int]:
    """The positions of --source, --target and --action; capitals do not matter."""
    return (
        position(args.source, view.series.actors, "country"),
        position(args.target, view.series.actors, "country"),
        position(args.action, view.series.actions, "action"),
    )


def position(text: str, names: tuple[str, ...], what: str) -> int:
    for i, name in enumerate(names):
        if name.casefold() == text.strip().casefold():
            return i
    raise TRNNError(
        f"The {what} must be one of the run's {len(names)} ({', '.join(names[:4])}, ...). Got {text!r} instead."
    )


def tell(
    args: argparse.Namespace, sentences: list[str], table: pd.DataFrame, about: dict[str, Any], n: int = 15
) -> int:
    """Write the table where asked, then print: sentences and the first rows, or one JSON object."""
    if args.out:
        from pathlib import Path

        from trnn_core.files import write_atomic

        write_atomic(Path(args.out), to_csv(table))
    if args.json:
        rows = json.loads(table.head(n).to_json(orient="records"))
        print(
            json.dumps({**about, "sentences": sentences, "rows": rows, "n_rows": len(table), "out": args.out}, indent=1)
        )
    else:
        print("\n".join(sentences))
        if len(table):
            print(table.head(n).to_string(index=False, float_format=lambda x: f"{x:.3g}"))
    return 0
