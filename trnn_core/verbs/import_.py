"""`import icews|polecat|gdelt|table|tns FILE... --out X.npz`: event files, tables and tensors to a series.

Asked for by a page, as a job, the series is the job's result; `stamps` (size and time of each file) then tell a changed
file from the one that was read before.
"""

from __future__ import annotations

import csv
import json
import tempfile
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import SerializerFunctionWrapHandler, field_serializer

from trnn_core.data.corrections import load_corrections
from trnn_core.data.import_report import summary
from trnn_core.data.options import WEEKDAYS, ImportOptions
from trnn_core.data.readers import FORMATS, read_npz, read_series, write_npz
from trnn_core.data.series import PERIODS, RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.jobs.context import Context, within
from trnn_core.verbs.info import describe
from trnn_core.verbs.request import BaseRequest, Option, Result, Said

HELP = "read event files, tables or tensors into a series"
RESULT = "series.npz"
LINE = ""  # many small steps: a bar where there is a terminal, else nothing
_KNOWN = ", ".join(f for f in FORMATS if f != "npz")


def _actors(text: str) -> str | tuple[str, ...]:
    """Names may be quoted as in CSV: '"Moldova, Republic of",France'."""
    if '"' not in text:
        return text
    return tuple(
        n.strip() for n in next(csv.reader([text], delimiter=";" if ";" in text else ",", skipinitialspace=True))
    )


def _actions(text: str) -> Any:
    if text in ("quad", "root", "own"):
        return text
    try:
        return json.loads(Path(text).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as e:
        raise TRNNError(f"--actions must be quad, root, own or a JSON file {{code: label}}. Got {text!r} ({e}).") from e


def _columns(pairs: list[str]) -> dict[str, str]:
    columns = dict(p.split("=", 1) for p in pairs if "=" in p)
    if len(columns) < len(pairs):
        raise TRNNError(
            f"--column must be ROLE=HEADER, for instance date=Week, each role once. Got {', '.join(pairs)} instead."
        )
    return columns


OPTIONS = {
    "actors": Option("25 (the most active), all, or A,B,C (A;B;C for names with commas)", parse=_actors),
    "period": Option("default: week; for a table, its own", choices=PERIODS),
    "week_start": Option("Hoff (2015) uses thursday", choices=WEEKDAYS, kind=str.lower),
    "actions": Option("quad, root, own, or a JSON file of your grouping {code: label}", parse=_actions),
    "value": Option(
        "unique events (default), rows, or sum or mean of intensity", choices=("events", "rows", "sum", "mean")
    ),
    "diagonal": Option("keep what an actor does to itself", present=True),
    "keep_partial": Option("keep a first and last period that are covered only in part", present=True),
    "gaps": Option("counts in a period without a single row", choices=("zero", "missing")),
    "countries": Option(
        "keep actors as they are spelt, without mapping to countries", flag="--own-names", present=False
    ),
    "corrections": Option("JSON file of your decisions about spellings {spelling: actor}", parse=load_corrections),
    "scheme": Option("how a table spells countries: name, iso2, iso3, cow, cameo, fips"),
    "columns": Option(
        "for tables: date, source, target, action or value",
        flag="--column",
        metavar="ROLE=HEADER",
        repeat=True,
        parse=_columns,
    ),
    "sheet": Option("for Excel"),
    "encoding": Option("default: UTF-8", choices=("utf-8", "latin-1")),
    "start": Option("for .tns: the first period's date"),
    "labels": Option("for .tns: JSON file with actors, actions, start and period"),
    "title": Option("default: the file's name"),
    "licence": Option("kept with the series"),
    "threads": Option("default: 2", kind=int),
}


class Request(BaseRequest):
    """`format` is recognised when it is not given, as the first of `files` or by itself; without `out` the series is
    left in the context."""

    in_store: ClassVar[bool] = False

    files: Annotated[
        tuple[str, ...],
        Option(
            f"files or folders, plain, gzip or zip; the format ({_KNOWN}) is recognised, or named first",
            positional=True,
            metavar="[FORMAT] FILE",
        ),
    ]
    out: Annotated[str | None, Option("the series file to write (.npz)", role="here", required=True)] = None
    options: Annotated[ImportOptions, Option(parts=OPTIONS)] = ImportOptions()
    quiet: Annotated[bool, Option("no progress bar", role="here")] = False
    format: str | None = None
    stamps: tuple[tuple[int, int], ...] = ()

    @field_serializer("options", mode="wrap")
    def _only_what_was_chosen(self, options: ImportOptions, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return options.model_dump(mode="json", exclude_defaults=True)


def run(request: Request, context: Context) -> Result:
    out = None if request.out is None else Path(request.out)
    if out is not None and (out.suffix != ".npz" or not out.parent.is_dir()):
        raise TRNNError(f"--out must be a name ending in .npz in a folder that exists. Got {request.out!r} instead.")
    files, chosen = _files(request)
    context.progress(0.0, "Opening the files")

    def progress(done: float, message: str) -> None:
        context.check()
        within(context.progress, 0.0, 0.95)(done, message)

    series = read_series(files, format=chosen, options=request.options, progress=progress)
    context.check()
    context.progress(0.97, "Saving what was read")
    if out is not None:
        write_npz(series, out)
    else:
        with tempfile.TemporaryDirectory(prefix="trnn-import-") as folder:
            context.write(RESULT, write_npz(series, Path(folder) / RESULT).read_bytes())
    t, n, _, k = series.shape
    context.progress(1.0, f"Read {t:,} {series.period}s, {n} actors and {k} actions.")
    facts, report = describe(series), series.source.report
    said = summary(report) if "rows_read" in report else [series.source.title]
    said.append(
        f"{out}: {t} {series.period}s from {facts['first']}, {n} actors, {k} actions, fingerprint"
        f" {series.fingerprint[:12]}."
    )
    return Said("\n".join(said), {"out": str(out), **facts}, value=series)


def _files(request: Request) -> tuple[list[Path], str | None]:
    """The files to read, and their format where it is named."""
    files, chosen = list(request.files), request.format
    if chosen is None and files and (files[0] in FORMATS or files[0] == "auto"):
        chosen = None if files[0] == "auto" else files[0]
        files = files[1:]
    if not files:
        raise TRNNError("There must be at least one file to read. Got only a format.")
    return [Path(f) for f in files], chosen


def request_of(files: list[Path], form: str, options: ImportOptions) -> Request:
    """What a page asks for: equal files and options are the same import, a changed file is another one."""
    try:
        stamps = tuple((f.stat().st_size, f.stat().st_mtime_ns) for f in files)
    except OSError as e:
        raise TRNNError(f"{e.filename}: the file is not there any more; choose it again.") from e
    return Request(files=tuple(str(f) for f in files), format=form, options=options, stamps=stamps)


def series_of(content: bytes) -> RelationalSeries:
    """The series that an import left."""
    with tempfile.TemporaryDirectory(prefix="trnn-import-") as folder:
        path = Path(folder) / RESULT
        path.write_bytes(content)
        return read_npz(path)
