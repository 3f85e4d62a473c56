"""What the event formats share: blocks of tab-separated lines in, batches of events out, two blocks at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain

import numpy as np
import pyarrow as pa
from pyarrow import csv

from trnn_core.data.aggregate import Aggregator, Dropped, EventBatch, Example
from trnn_core.data.assemble import Reading, assemble
from trnn_core.data.options import ImportOptions
from trnn_core.data.readers.blocks import Block, line_blocks
from trnn_core.data.readers.hashing import combine, hash_texts, mix
from trnn_core.data.readers.inputs import Input, open_input
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError

Progress = Callable[[int, int], None]  # bytes done, bytes in all
EPOCH = date(1970, 1, 1).toordinal()
NO_DAY = np.int64(np.iinfo(np.int32).min)
_TEXT = pa.dictionary(pa.int32(), pa.binary())
WORDS = {
    "events": "number of unique events; an absent dyad is zero",
    "rows": "number of rows; an absent dyad is zero",
    "sum": "sum of intensity over unique events; an absent dyad is missing",
    "mean": "mean of intensity over unique events; an absent dyad is missing",
}


@dataclass(frozen=True)
class EventLayout:
    """How one event format names things; everything is read as text."""

    format: str
    date: str
    source: str
    target: str
    intensity: str
    event_key: tuple[str, ...]  # what makes two rows the same event
    record_key: tuple[str, ...]  # what makes two rows the same record, delivered twice
    read_day: Callable[[str], int | None]
    scheme: str  # how countries are spelt
    missing: frozenset[str] = frozenset({""})
    separator: str = ""  # between several countries in one field
    latin_fallback: bool = False
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class ActionRule:
    """Which column holds the action, and the label of each of its texts (None: not an action)."""

    column: str
    label: Callable[[str], str | None]
    order: tuple[str, ...]
    otherwise: str  # why a row without a label is dropped


@dataclass(frozen=True)
class _Job:
    layout: EventLayout
    rule: ActionRule
    key: tuple[str, ...]
    weigh: bool  # whether intensities are summed
    columns: list[str]  # of the file at hand
    name: str


def read_events(
    inputs: Sequence[Input],
    layout: EventLayout,
    rule: ActionRule,
    columns_of: Callable[[bytes, str], tuple[list[str], bool]],
    options: ImportOptions,
    progress: Progress | None,
) -> tuple[RelationalSeries, Aggregator]:
    """Read, count and assemble; `columns_of(first line, file)` gives the column names and whether the line is a header."""
    value = options.value or "events"
    aggregator = Aggregator(options.period or "week", options.week_start)
    key = layout.record_key if value == "rows" else layout.event_key
    job = _Job(layout, rule, key, value in ("sum", "mean"), [], "")
    done, total = 0, sum(i.size for i in inputs) or 1
    for source in inputs:
        with open_input(source, options) as stream:
            blocks = line_blocks(stream, source.name, encoding=options.encoding, latin_fallback=layout.latin_fallback)
            first = next(blocks, None)
            if first is None:
                raise TRNNError(f"{source.name}, line 1: the file must hold rows. It is empty.")
            columns, header = columns_of(first.data[: first.data.index(b"\n")], source.name)
            first = _without_header(first) if header else first
            own = replace(job, columns=columns, name=source.name)
            for batch, block in _in_order(own, chain([first], blocks), options.threads):
                aggregator.add(batch)
                if progress:
                    progress(min(done + block.n_read, total), total)
        done += source.size
    if progress:
        progress(total, total)
    reading = Reading(
        layout.format,
        [(i.name, i.size) for i in inputs],
        layout.scheme,
        rule.order,
        value,
        "count" if value in ("events", "rows") else "value",
        words=WORDS[value],
    )
    return assemble(aggregator, reading, options), aggregator


def _in_order(job: _Job, blocks: Iterator[Block], threads: int) -> Iterator[tuple[EventBatch, Block]]:
    """Parse several blocks at once, hand them on in file order, hold few of them."""
    if threads == 1:
        yield from ((parse_block(block, job), block) for block in blocks)
        return
    with ThreadPoolExecutor(threads) as pool:
        running: deque[tuple[Future[EventBatch], Block]] = deque()
        try:
            for block in blocks:
                running.append((pool.submit(parse_block, block, job), block))
                if len(running) > threads:
                    future, finished = running.popleft()
                    yield future.result(), finished
            while running:
                future, finished = running.popleft()
                yield future.result(), finished
        finally:
            for future, _ in running:
                future.cancel()


def _without_header(block: Block) -> Block:
    return replace(block, data=block.data[block.data.index(b"\n") + 1 :], first_line=block.first_line + 1)


def parse_block(block: Block, job: _Job) -> EventBatch:
    """The usable events of one block, and why the others are not."""
    layout, rule = job.layout, job.rule
    needed = {layout.date, layout.source, layout.target, rule.column, *job.key}
    if job.weigh:
        needed.add(layout.intensity)
    table = read_table(block, job.columns, sorted(needed), job.name)
    n = table.num_rows
    at, texts = {}, {}
    for column in needed:
        at[column], texts[column] = _encoded(table.column(column))
    sift = _Sift(n, block.first_line, job.name, at)
    days = np.array(
        [NO_DAY if (d := layout.read_day(t)) is None else d for t in _decoded(texts[layout.date])], np.int64
    )
    sift.drop(layout.date, days == NO_DAY, "unparseable date", texts)
    labels: dict[str, int] = {}
    action = _numbered([rule.label(t) for t in _decoded(texts[rule.column])], labels)
    sift.drop(rule.column, action < 0, rule.otherwise, texts)
    actors: dict[str, int] = {}
    parts = {}
    for column, role in ((layout.source, "source"), (layout.target, "target")):
        parts[column] = [_countries(t, layout, actors) for t in _decoded(texts[column])]
        sift.drop(column, np.array([not p for p in parts[column]], bool), f"no {role} country", texts)
    weights = None
    if job.weigh:
        weights = np.array([_number(t) for t in _decoded(texts[layout.intensity])], np.float64)
        sift.drop(layout.intensity, np.isnan(weights), "intensity is not a number", texts)
    rows = np.flatnonzero(sift.ok)
    key = _keys(job.key, at, texts, rows) if job.key else None
    source, target, rows, key = _dyads(
        parts[layout.source], parts[layout.target], at[layout.source], at[layout.target], rows, key
    )
    return EventBatch(
        job.name,
        rows + block.first_line,
        days[at[layout.date][rows]],
        source,
        target,
        action[at[rule.column][rows]],
        list(actors),
        list(labels),
        n,
        key,
        weights[at[layout.intensity][rows]] if weights is not None else None,
        sift.dropped,
        [f"{job.name} is not UTF-8 and was read as Latin-1"] if block.latin else [],
    )


def read_table(block: Block, columns: list[str], needed: list[str], name: str) -> pa.Table:
    """The needed columns as dictionaries of bytes; a line with another number of fields is an error."""
    if not block.data:
        return pa.table({c: pa.array([], pa.binary()).dictionary_encode() for c in needed})
    bad: list[csv.InvalidRow] = []

    def stop(row: csv.InvalidRow) -> str:
        bad.append(row)
        return "error"

    try:
        return csv.read_csv(
            pa.py_buffer(block.data),
            read_options=csv.ReadOptions(column_names=columns, use_threads=False, block_size=len(block.data) + 1),
            parse_options=csv.ParseOptions(
                delimiter="\t", quote_char=False, ignore_empty_lines=False, invalid_row_handler=stop
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(needed, _TEXT), include_columns=needed, null_values=[]
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as e:
        if bad:
            line = block.first_line + (bad[0].number or 1) - 1
            raise TRNNError(
                f"{name}, line {line}: must have {len(columns)} tab-separated fields as the first line. Got {bad[0].actual_columns}: {bad[0].text[:80]!r}; "
                "the row is broken, perhaps by a line break or a tab inside a field."
            ) from e
        raise TRNNError(f"{name}, from line {block.first_line}: cannot be read as tab-separated text ({e}).") from e


class _Sift:
    """Drops rows reason by reason, keeping the first example of each."""

    def __init__(self, n: int, first_line: int, name: str, at: dict[str, np.ndarray]) -> None:
        self.ok = np.ones(n, bool)
        self.dropped: list[Dropped] = []
        self._line, self._name, self._at = first_line, name, at

    def drop(self, column: str, bad: np.ndarray, reason: str, texts: dict[str, pa.Array]) -> None:
        if not bad.any():
            return
        rows = np.flatnonzero(self.ok & bad[self._at[column]])
        if not len(rows):
            return
        self.ok[rows] = False
        text = texts[column][int(self._at[column][rows[0]])].as_py().decode(errors="replace")
        self.dropped.append(Dropped(reason, len(rows), Example(self._name, self._line + int(rows[0]), text)))


def _encoded(column: pa.ChunkedArray) -> tuple[np.ndarray, pa.Array]:
    array = (
        column.chunk(0)
        if column.num_chunks == 1
        else pa.array([], pa.binary()).dictionary_encode()
        if column.num_chunks == 0
        else column.unify_dictionaries().combine_chunks()
    )
    return array.indices.to_numpy(zero_copy_only=False), array.dictionary


def _decoded(texts: pa.Array) -> list[str]:
    return [t.decode(errors="replace") for t in texts.to_pylist()]


def _numbered(labels: Sequence[str | None], numbers: dict[str, int]) -> np.ndarray:
    return np.array([-1 if a is None else numbers.setdefault(a, len(numbers)) for a in labels], np.int64)


def _countries(text: str, layout: EventLayout, actors: dict[str, int]) -> list[int]:
    """The actors in a country field: yearly ICEWS files quote them, POLECAT lists several."""
    pieces = text.split(layout.separator) if layout.separator else [text]
    cleaned = dict.fromkeys(p.strip().strip('"').strip() for p in pieces)
    return [actors.setdefault(p, len(actors)) for p in cleaned if p not in layout.missing]


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return np.nan
    return value if np.isfinite(value) else np.nan


def _keys(
    columns: tuple[str, ...], at: dict[str, np.ndarray], texts: dict[str, pa.Array], rows: np.ndarray
) -> np.ndarray:
    key = np.zeros(len(rows), np.uint64)
    for column in columns:
        key = combine(key, hash_texts(texts[column])[at[column][rows]])
    return key


def _dyads(
    sources: list[list[int]], targets: list[list[int]], at_source: np.ndarray, at_target: np.ndarray,
    rows: np.ndarray, key: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:  # fmt: skip
    """Every source of a row with every target: most rows have one of each, some list several countries."""
    n_source, n_target = (np.array([len(p) for p in parts], np.int64) for parts in (sources, targets))
    flat_source, flat_target = (np.array([i for p in parts for i in p], np.int64) for parts in (sources, targets))
    from_source, from_target = (np.concatenate(([0], np.cumsum(n)))[:-1] for n in (n_source, n_target))
    s, t = at_source[rows], at_target[rows]
    if max(n_source.max(initial=1), n_target.max(initial=1)) == 1:
        return flat_source[from_source[s]], flat_target[from_target[t]], rows, key
    times = n_source[s] * n_target[t]
    row = np.repeat(np.arange(len(rows)), times)
    within = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
    s, t = s[row], t[row]
    source = flat_source[from_source[s] + within // n_target[t]]
    target = flat_target[from_target[t] + within % n_target[t]]
    if key is not None:
        key = combine(key[row], mix(within.astype(np.uint64)))
    return source, target, rows[row], key


def iso_day(text: str) -> int | None:
    """Days since 1970 of YYYY-MM-DD.

    >>> iso_day("1970-01-02"), iso_day("2014-13-01"), iso_day("20140101")
    (1, None, None)
    """
    if len(text) != 10 or text[4] != "-" or text[7] != "-":
        return None
    return _day(text[:4], text[5:7], text[8:])


def compact_day(text: str) -> int | None:
    """Days since 1970 of YYYYMMDD.

    >>> compact_day("19700102"), compact_day("1970-1-2")
    (1, None)
    """
    return _day(text[:4], text[4:6], text[6:]) if len(text) == 8 else None


def _day(year: str, month: str, day: str) -> int | None:
    if not (year + month + day).isascii() or not (year + month + day).isdigit():
        return None
    try:
        found = date(int(year), int(month), int(day))
    except ValueError:
        return None
    return found.toordinal() - EPOCH if 1500 <= found.year <= 2200 else None


def named_columns(line: bytes, name: str, layout: EventLayout) -> tuple[list[str], bool]:
    """The header's column names; those the reader needs must be there, once."""
    columns = [c.strip().strip('"').strip() for c in line.decode(errors="replace").rstrip("\r").split("\t")]
    lacking = [c for c in layout.needs if c not in columns]
    if lacking and len(columns) == 1:
        raise TRNNError(
            f"{name}, line 1: {layout.format.upper()} files must be tab separated. No tab in {columns[0][:60]!r}; save it as tab-separated text."
        )
    if lacking:
        raise TRNNError(
            f"{name}, line 1: the header must name the columns {', '.join(layout.needs)}. Missing: {', '.join(lacking)}."
        )
    doubled = [c for c in layout.needs if columns.count(c) > 1]
    if doubled:
        raise TRNNError(
            f"{name}, line 1: each column must be named once. Got {doubled[0]!r} {columns.count(doubled[0])} times."
        )
    return [c if columns.index(c) == i else f"{c} #{i + 1}" for i, c in enumerate(columns)], True
