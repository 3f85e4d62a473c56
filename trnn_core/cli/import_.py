"""`import icews|polecat|gdelt|table|tns FILE... --out X.npz`: event files, tables and tensors to a series."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tqdm import tqdm

from trnn_core.cli.info import describe
from trnn_core.data.corrections import load_corrections
from trnn_core.data.import_report import summary
from trnn_core.data.options import WEEKDAYS, ImportOptions
from trnn_core.data.readers import FORMATS, read_series, write_npz
from trnn_core.data.series import PERIODS
from trnn_core.errors import TRNNError

HELP = "read event files, tables or tensors into a series"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    formats = ", ".join(f for f in FORMATS if f != "npz")
    parser.add_argument(
        "files",
        nargs="+",
        metavar="[FORMAT] FILE",
        help=f"files or folders, plain, gzip or zip; the format ({formats}) is recognised, or named first",
    )
    parser.add_argument("--out", required=True, help="the series file to write (.npz)")
    parser.add_argument(
        "--actors", default="25", help="25 (the most active), all, or A,B,C (A;B;C for names with commas)"
    )
    parser.add_argument("--period", choices=PERIODS, help="default: week; for a table, its own")
    parser.add_argument(
        "--week-start", choices=WEEKDAYS, default="monday", type=str.lower, help="Hoff (2015) uses thursday"
    )
    parser.add_argument("--actions", help="quad, root, own, or a JSON file of your grouping {code: label}")
    parser.add_argument(
        "--value",
        choices=("events", "rows", "sum", "mean"),
        help="unique events (default), rows, or sum or mean of intensity",
    )
    parser.add_argument("--diagonal", action="store_true", help="keep what an actor does to itself")
    parser.add_argument(
        "--keep-partial", action="store_true", help="keep a first and last period that are covered only in part"
    )
    parser.add_argument(
        "--gaps", choices=("zero", "missing"), default="zero", help="counts in a period without a single row"
    )
    parser.add_argument(
        "--own-names", action="store_true", help="keep actors as they are spelt, without mapping to countries"
    )
    parser.add_argument("--corrections", help="JSON file of your decisions about spellings {spelling: actor}")
    parser.add_argument("--scheme", help="how a table spells countries: name, iso2, iso3, cow, cameo, fips")
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="ROLE=HEADER",
        help="for tables: date, source, target, action or value",
    )
    parser.add_argument("--sheet", help="for Excel")
    parser.add_argument("--encoding", choices=("utf-8", "latin-1"), help="default: UTF-8")
    parser.add_argument("--start", help="for .tns: the first period's date")
    parser.add_argument("--labels", help="for .tns: JSON file with actors, actions, start and period")
    parser.add_argument("--title", default="", help="default: the file's name")
    parser.add_argument("--licence", default="", help="kept with the series")
    parser.add_argument("--threads", type=int, default=2, help="default: 2")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--json", action="store_true", help="for machines")


def run(args: argparse.Namespace) -> int:
    out = Path(args.out)
    if out.suffix != ".npz" or not out.parent.is_dir():
        raise TRNNError(f"--out must be a name ending in .npz in a folder that exists. Got {args.out!r} instead.")
    named = args.files[0] in FORMATS or args.files[0] == "auto"
    files = args.files[1:] if named else args.files
    chosen = args.files[0] if named and args.files[0] != "auto" else None
    if not files:
        raise TRNNError("There must be at least one file to read. Got only a format.")
    with _Bar(hidden=args.quiet or args.json or not sys.stderr.isatty()) as bar:
        series = read_series(files, format=chosen, options=_options(args), progress=bar)
    write_npz(series, out)
    facts = describe(series)
    if args.json:
        print(json.dumps({"out": str(out), **facts}, indent=1))
        return 0
    print("\n".join(summary(series.source.report)) if "rows_read" in series.source.report else series.source.title)
    t, n, _, k = series.shape
    print(
        f"{out}: {t} {series.period}s from {facts['first']}, {n} actors, {k} actions, fingerprint"
        f" {series.fingerprint[:12]}."
    )
    return 0


class _Bar:
    """The reader's progress as a bar on stderr."""

    def __init__(self, hidden: bool) -> None:
        self._hidden = hidden

    def __enter__(self) -> Callable[[int, int], None]:
        self._bar = tqdm(unit="B", unit_scale=True, disable=self._hidden, leave=False)
        return self._show

    def _show(self, done: int, total: int) -> None:
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def __exit__(self, *error: object) -> None:
        self._bar.close()


def _options(args: argparse.Namespace) -> ImportOptions:
    fields: dict[str, Any] = {
        k: getattr(args, k)
        for k in (
            "period",
            "week_start",
            "value",
            "diagonal",
            "keep_partial",
            "gaps",
            "scheme",
            "sheet",
            "encoding",
            "start",
            "labels",
            "title",
            "licence",
            "threads",
        )
    }
    if args.own_names:
        fields["countries"] = False
    if args.corrections:
        fields["corrections"] = load_corrections(args.corrections)
    return ImportOptions(
        **fields, actors=_actors(args.actors), actions=_actions(args.actions), columns=_columns(args.column)
    )


def _actors(text: str) -> str | tuple[str, ...]:
    """Names may be quoted as in CSV: '"Moldova, Republic of",France'."""
    if '"' not in text:
        return text
    return tuple(
        n.strip() for n in next(csv.reader([text], delimiter=";" if ";" in text else ",", skipinitialspace=True))
    )


def _actions(text: str | None) -> Any:
    if text is None or text in ("quad", "root", "own"):
        return text
    try:
        grouping = json.loads(Path(text).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as e:
        raise TRNNError(f"--actions must be quad, root, own or a JSON file {{code: label}}. Got {text!r} ({e}).") from e
    return grouping


def _columns(pairs: list[str]) -> dict[str, str]:
    columns = dict(p.split("=", 1) for p in pairs if "=" in p)
    if len(columns) < len(pairs):
        raise TRNNError(
            f"--column must be ROLE=HEADER, for instance date=Week, each role once. Got {', '.join(pairs)} instead."
        )
    return columns
