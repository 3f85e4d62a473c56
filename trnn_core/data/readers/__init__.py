"""Files in, RelationalSeries out; one file per format.

A format module has `recognise(head, name) -> bool` and `read(inputs, options, progress) -> RelationalSeries`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType

from trnn_core.data.options import ImportOptions
from trnn_core.data.readers.blocks import BINARY, check_start
from trnn_core.data.readers.inputs import Input, find_inputs, read_head
from trnn_core.data.readers.npz import read_npz, write_npz
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError

__all__ = ["FORMATS", "ImportOptions", "read_npz", "read_series", "recognise", "write_npz"]

# A new format is one file in this folder and one line here.
FORMATS: dict[str, str] = {
    "npz": "a series saved by this program",
    "icews": "ICEWS coded event data",
    "polecat": "POLECAT event data",
    "gdelt": "GDELT 1.0 or 2.0 events",
    "tns": "sparse tensor text",
    "table": "a long table: CSV, TSV, Parquet or Excel",
}


def read_series(
    path_or_paths: str | Path | Iterable[str | Path],
    *,
    format: str | None = None,
    options: ImportOptions | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RelationalSeries:
    """Read one file, many files or a folder; plain, gzip or zip; the format is recognised from the content.

    `format` overrules the recognition, `progress(done, total)` is called as bytes are read. Whatever is wrong with
    the input raises TRNNError and nothing is imported; what was left out is told in `series.source.report`.
    """
    options = options or ImportOptions()
    inputs = find_inputs(path_or_paths, options)
    chosen = format or recognise(inputs, options)
    try:
        return _module(chosen).read(inputs, options, progress)
    except MemoryError as e:
        raise TRNNError(
            f"{inputs[0].name}: needs more memory than there is; take fewer actors or longer periods."
        ) from e


def recognise(inputs: list[Input], options: ImportOptions) -> str:
    """The one format of all inputs, told by how they begin."""
    found: dict[str, str] = {}
    for source in inputs:
        head = read_head(source, options).removeprefix(b"\xef\xbb\xbf")
        if not head.strip():
            raise TRNNError(f"{source.name}, line 1: the file must hold rows. It is empty.")
        if not head.startswith(BINARY):
            check_start(head[:4096], source.name)
        # `table` takes any text with a header, so it is asked last.
        name = next(n for n in sorted(FORMATS, key="table".__eq__) if _module(n).recognise(head, source.name))
        found.setdefault(name, source.name)
    if len(found) > 1:
        (a, first), (b, second) = list(found.items())[:2]
        raise TRNNError(
            f"All files must be of one format. {first} looks like {a}, {second} like {b}; import them one by one."
        )
    return next(iter(found))


def _module(name: str) -> ModuleType:
    if name not in FORMATS:
        raise TRNNError(f"The format must be one of {', '.join(FORMATS)}. Got {name!r} instead.")
    return import_module(f"trnn_core.data.readers.{name}")
