"""Rows of long tables, whatever they are kept in: text, Parquet or Excel. All cells come as text."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from trnn_core.data.options import ImportOptions
from trnn_core.data.readers.inputs import Input, check_expansion, open_input, short
from trnn_core.data.readers.line_blocks import Block, check_start, line_blocks
from trnn_core.errors import TRNNError

_TEXT = pa.dictionary(pa.int32(), pa.binary())
_SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_BATCH = 50_000
_ROWS_PER_BYTE = 10  # a Parquet file with more rows than this is made to blow up
MAX_COLUMNS = 10_000


@dataclass(frozen=True)
class Rows:
    """Some rows of one input: dictionary columns of bytes, and where they stand."""

    table: pa.Table
    first_line: int
    n_read: int


def header_of(source: Input, head: bytes, options: ImportOptions) -> list[str]:
    """The column names of a table."""
    if head[:4] == b"PAR1":
        with _parquet(source) as file:
            return list(file.schema_arrow.names)
    if head[:4] == b"PK\x03\x04":
        first = next(iter(_excel_rows(source, options)), ())
        return [_cell(c).strip() for c in first]
    check_start(head[:4096], source.name)
    line = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].rstrip(b"\r")
    return _split(line, separator_of(line, source.name), source.name)


def rows_of(
    source: Input, head: bytes, columns: Sequence[str], needed: list[str], options: ImportOptions
) -> Iterator[Rows]:
    """The needed columns, a few thousand rows at a time."""
    if head[:4] == b"PAR1":
        yield from _parquet_batches(source, needed, options)
    elif head[:4] == b"PK\x03\x04":
        yield from _excel_batches(source, columns, needed, options)
    else:
        yield from _text_batches(source, columns, needed, options)


def separator_of(line: bytes, name: str) -> str:
    text = re.sub(r'"[^"]*"', "", line.decode(errors="replace"))
    best = max(_SEPARATORS, key=text.count)
    if best not in text:
        raise TRNNError(
            f"{name}, line 1: a table's header must name columns separated by comma, semicolon, tab or bar. Got"
            f" {text[:60]!r}."
        )
    return best


def _split(line: bytes, separator: str, name: str) -> list[str]:
    fields = line.count(separator.encode()) + 1  # or fewer, where a quoted one holds a separator
    if fields > MAX_COLUMNS:
        raise TRNNError(f"{name}, line 1: a table may have at most {MAX_COLUMNS:,} columns. Got about {fields:,}.")
    try:
        table = csv.read_csv(
            pa.py_buffer(line + b"\n"),
            read_options=csv.ReadOptions(autogenerate_column_names=True, use_threads=False),
            parse_options=csv.ParseOptions(delimiter=separator),
            convert_options=csv.ConvertOptions(
                column_types={f"f{i}": pa.binary() for i in range(fields)}, null_values=[]
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowKeyError) as e:
        raise TRNNError(f"{name}, line 1: the header cannot be read ({short(e)}).") from e
    if table.num_rows != 1:
        raise TRNNError(f"{name}, line 1: the header must be one line. A quotation mark is left open.")
    return [c[0].as_py().decode(errors="replace").strip() for c in table.columns]


def _text_batches(source: Input, columns: Sequence[str], needed: list[str], options: ImportOptions) -> Iterator[Rows]:
    with open_input(source, options) as stream:
        separator = ""
        for block in line_blocks(stream, source.name, encoding=options.encoding):
            data, line = block.data, block.first_line
            if not separator:
                cut = data.index(b"\n") + 1
                separator = separator_of(data[:cut], source.name)
                data, line = data[cut:], line + 1
            if data:
                yield Rows(
                    _parse(Block(data, block.n_read, line), separator, columns, needed, source.name), line, block.n_read
                )


def _parse(block: Block, separator: str, columns: Sequence[str], needed: list[str], name: str) -> pa.Table:
    bad: list[csv.InvalidRow] = []

    def stop(row: csv.InvalidRow) -> str:
        bad.append(row)
        return "error"

    n_lines = block.data.count(b"\n")
    try:
        table = csv.read_csv(
            pa.py_buffer(block.data),
            read_options=csv.ReadOptions(column_names=list(columns), use_threads=False, block_size=len(block.data) + 1),
            parse_options=csv.ParseOptions(delimiter=separator, ignore_empty_lines=False, invalid_row_handler=stop),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(needed, _TEXT), include_columns=needed, null_values=[]
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as e:
        _check_quotes(block, name)
        if bad:
            raise TRNNError(
                f"{name}, line {block.first_line + (bad[0].number or 1) - 1}: must have {len(columns)} fields separated"
                f" by {_SEPARATORS[separator]} as the header. Got {bad[0].actual_columns}: {bad[0].text[:80]!r}; quote"
                " a field that holds the separator."
            ) from e
        raise TRNNError(f"{name}, from line {block.first_line}: cannot be read as text in columns ({short(e)}).") from e
    if table.num_rows != n_lines:
        _check_quotes(block, name)
        raise TRNNError(
            f"{name}, from line {block.first_line}: each row must be one line. Got {table.num_rows} rows in {n_lines}"
            " lines."
        )
    return table


def _check_quotes(block: Block, name: str) -> None:
    """A quoted field that runs over the end of its line."""
    for i, line in enumerate(block.data.split(b"\n")):
        if line.count(b'"') % 2:
            raise TRNNError(
                f"{name}, line {block.first_line + i}: a quoted field must end on its line. This one does not:"
                f" {line[:80].decode(errors='replace')!r}; remove line breaks inside fields."
            )


def _parquet(source: Input) -> parquet.ParquetFile:
    if source.wrapping != "plain":
        raise TRNNError(f"{source.name}: a Parquet file must not be packed again; unpack it first.")
    try:
        file = parquet.ParquetFile(source.path, thrift_string_size_limit=2**24, thrift_container_size_limit=2**20)
        n_rows = file.metadata.num_rows
    except (pa.ArrowException, OSError, ValueError) as e:
        raise TRNNError(f"{source.name}: must be a whole Parquet file. It is damaged ({short(e)}).") from e
    if n_rows > 1_000_000 + _ROWS_PER_BYTE * source.packed:
        raise TRNNError(
            f"{source.name}: {n_rows:,} rows in {source.packed:,} bytes look like a bomb; the file is not opened."
        )
    return file


def _parquet_batches(source: Input, needed: list[str], options: ImportOptions) -> Iterator[Rows]:
    with _parquet(source) as file:
        meta = file.metadata
        size = sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
        check_expansion(source.name, source.packed, size, options.max_bytes)
        row = 2  # as in a spreadsheet: the header is line 1
        try:
            for batch in file.iter_batches(batch_size=_BATCH, columns=needed, use_threads=False):
                table = pa.table({c: _as_text(batch.column(c), f"{source.name}, column {c!r}") for c in needed})
                yield Rows(table, row, source.size * (row - 2) // max(meta.num_rows, 1))
                row += batch.num_rows
        except (pa.ArrowException, OSError, ValueError) as e:
            if isinstance(e, TRNNError):
                raise
            raise TRNNError(
                f"{source.name}, near row {row}: must be a whole Parquet file. It is damaged ({short(e)})."
            ) from e


def _as_text(array: pa.Array, where: str) -> pa.Array:
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    try:
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if pa.types.is_timestamp(kind):
            array = array.cast(pa.date32())
        if not pa.types.is_binary(kind):
            array = array.cast(pa.string()).cast(pa.binary())
        return pc.fill_null(array, b"").dictionary_encode()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as e:
        raise TRNNError(f"{where}: must hold text, numbers or dates. Got {kind} ({short(e)}).") from e


def _excel_batches(source: Input, columns: Sequence[str], needed: list[str], options: ImportOptions) -> Iterator[Rows]:
    rows = iter(_excel_rows(source, options))
    next(rows, None)
    at = {c: list(columns).index(c) for c in needed}
    line = 2
    while batch := list(islice(rows, _BATCH)):
        while batch and not any(c is not None for c in batch[-1]):
            batch.pop()  # formatted but empty rows at the end of a sheet
        if not batch:
            return
        cells = {c: [_cell(r[i] if i < len(r) else None).encode() for r in batch] for c, i in at.items()}
        yield Rows(pa.table({c: pa.array(v, pa.binary()).dictionary_encode() for c, v in cells.items()}), line, 0)
        line += len(batch)


def _excel_rows(source: Input, options: ImportOptions) -> Iterator[tuple[Any, ...]]:
    from openpyxl import load_workbook  # a quarter of a second, and only spreadsheets need it

    try:
        data = source.path.read_bytes() if source.wrapping == "plain" else b""
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_expansion(
                source.name, source.packed, sum(i.file_size for i in archive.infolist()), min(options.max_bytes, 2**29)
            )
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        names = book.sheetnames
        if options.sheet is not None and options.sheet not in names:
            raise TRNNError(
                f"{source.name}: the sheet must be one of {', '.join(names)}. Got {options.sheet!r} instead."
            )
        sheet = book[options.sheet or names[0]]
        sheet.reset_dimensions()  # what the file claims about its size is not trusted
        yield from sheet.iter_rows(values_only=True)
    except TRNNError:
        raise
    except Exception as e:  # openpyxl lets every kind of error of zip, XML and its own out
        raise TRNNError(
            f"{source.name}: must be a whole Excel file (.xlsx). It cannot be read ({type(e).__name__}: {short(e)})."
        ) from e


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime | date):
        return value.isoformat()[:10]
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
