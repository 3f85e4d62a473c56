"""A look into a file before it is imported: its format, its columns and its first rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from trnn_core.data.options import ImportOptions
from trnn_core.data.readers import FORMATS, gdelt, recognise
from trnn_core.data.readers.blocks import BINARY
from trnn_core.data.readers.columns import match_columns
from trnn_core.data.readers.inputs import Input, find_inputs, read_head
from trnn_core.data.readers.rows import header_of, rows_of
from trnn_core.errors import TRNNError


@dataclass(frozen=True)
class Preview:
    """What a page shows before the user decides."""

    format: str
    title: str  # the format in words
    files: tuple[str, ...]
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    roles: dict[str, str] = field(default_factory=dict)  # for tables: role -> column, as far as they are certain
    problem: str = ""  # why the roles are not certain


def preview(
    path_or_paths: str | Path | Iterable[str | Path],
    n: int = 50,
    *,
    format: str | None = None,
    options: ImportOptions | None = None,
) -> Preview:
    """The first n rows of the first file."""
    options = options or ImportOptions()
    inputs = find_inputs(path_or_paths, options)
    chosen = format or recognise(inputs, options)
    if chosen not in FORMATS:
        raise TRNNError(f"The format must be one of {', '.join(FORMATS)}. Got {chosen!r} instead.")
    known = Preview(chosen, FORMATS[chosen], tuple(i.name for i in inputs))
    head = read_head(inputs[0], options)
    if chosen == "table":
        return _table(inputs[0], head, n, known, options)
    if head.startswith(BINARY):
        return known
    lines = head.decode("utf-8", "replace").removeprefix("\ufeff").split("\n")
    lines = [x.rstrip("\r") for x in (lines if len(head) < 65536 else lines[:-1]) if x.strip()]
    cells = [tuple(x.split("\t" if chosen != "tns" else None)) for x in lines[: n + 1]]
    if chosen == "gdelt":
        names = tuple(gdelt.column_names(len(cells[0])))
        return replace(known, columns=names, rows=tuple(cells[:n]))
    if chosen == "tns":
        return replace(known, rows=tuple(cells[:n]))
    return replace(known, columns=cells[0], rows=tuple(cells[1:]))


def _table(source: Input, head: bytes, n: int, known: Preview, options: ImportOptions) -> Preview:
    header = header_of(source, head, options)
    doubled = {c for c in header if header.count(c) > 1}
    shown = list(dict.fromkeys(c for c in header if c not in doubled))
    rows: list[tuple[str, ...]] = []
    for some in islice(rows_of(source, head, header, shown, options), 1) if not doubled else ():
        columns = [some.table.column(c).slice(0, n).to_pylist() for c in shown]
        rows = [tuple(v.decode(errors="replace") for v in row) for row in zip(*columns, strict=True)]
    known = replace(known, columns=tuple(header), rows=tuple(rows))
    try:
        return replace(known, roles=match_columns(header, source.name, options.columns))
    except TRNNError as e:
        return replace(known, problem=str(e))
