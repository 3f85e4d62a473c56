"""One block of event rows: text columns in, numbered events out, and why the other rows are left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import pyarrow as pa
from pyarrow import csv

from trnn_core.data.aggregate import Dropped, EventBatch, Example, first_places
from trnn_core.data.readers.hashing import combine, hash_texts, mix
from trnn_core.data.readers.inputs import short
from trnn_core.data.readers.line_blocks import Block, LineError, settle_encoding

R = TypeVar("R")
NO_DAY = np.int64(np.iinfo(np.int32).min)
_TEXT = pa.dictionary(pa.int32(), pa.binary())


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
    identifier: str  # the column of record numbers; rows without one are never repeats of each other
    read_day: Callable[[str], int | None]
    scheme: str  # how countries are spelt
    missing: frozenset[str] = frozenset({""})
    separator: str = ""  # between several countries in one field
    latin_fallback: bool = False
    needs: tuple[str, ...] = ()
    licence: str = ""

    def names_in(self, text: str) -> tuple[str, ...]:
        """The actors in a country field: yearly ICEWS files quote them, POLECAT lists several."""
        pieces = text.split(self.separator) if self.separator else [text]
        cleaned = dict.fromkeys(p.strip().strip('"').strip() for p in pieces)
        return tuple(p for p in cleaned if p not in self.missing)


@dataclass(frozen=True)
class ActionRule:
    """Which column holds the action, and the label of each of its texts (None: not an action)."""

    column: str
    label: Callable[[str], str | None]
    order: tuple[str, ...]
    otherwise: str  # why a row without a label is dropped


@dataclass(frozen=True)
class Job:
    """One file's share of an import."""

    layout: EventLayout
    rule: ActionRule
    key: tuple[str, ...]
    weigh: bool  # whether intensities are summed
    columns: list[str]  # of the file at hand
    name: str
    encoding: str | None = None
    names: dict[bytes, tuple[str, ...]] = field(default_factory=dict)  # what country fields mean
    labels: dict[bytes, str | None] = field(default_factory=dict)  # what action fields mean

    @property
    def needed(self) -> list[str]:
        layout = self.layout
        weight = {layout.intensity} if self.weigh else set()
        return sorted({layout.date, layout.source, layout.target, self.rule.column, *self.key} | weight)


def parse_block(block: Block, job: Job) -> EventBatch:
    """The usable events of one block of tab-separated lines, counted from its own first line."""
    block = settle_encoding(block, job.name, job.encoding, job.layout.latin_fallback)
    batch = events_of(read_table(block.data, job.columns, job.needed, job.name), 1, job, block.n_read)
    return replace(batch, notes=[f"{job.name} is not UTF-8 and was read as Latin-1"]) if block.latin else batch


def events_of(table: pa.Table, first_line: int, job: Job, place: int = 0) -> EventBatch:
    """The usable events of a table of text, and why the other rows are not."""
    layout, rule, n = job.layout, job.rule, table.num_rows
    at, texts = {}, {}
    for column in job.needed:
        at[column], texts[column] = encoded(table.column(column))
    sift = _Sift(n, first_line, job.name, at)
    days = np.array([NO_DAY if (d := layout.read_day(t)) is None else d for t in decoded(texts[layout.date])], np.int64)
    dated = _dated(at[layout.date], days, first_line)
    sift.drop(layout.date, days == NO_DAY, "unparseable date", texts)
    labels: dict[str, int] = {}
    action = _numbered([_remembered(t, job.labels, rule.label) for t in texts[rule.column].to_pylist()], labels)
    sift.drop(rule.column, action < 0, rule.otherwise, texts)
    actors: dict[str, int] = {}
    parts = {}
    for column, role in ((layout.source, "source"), (layout.target, "target")):
        names = [_remembered(t, job.names, layout.names_in) for t in texts[column].to_pylist()]
        parts[column] = [[actors.setdefault(n, len(actors)) for n in several] for several in names]
        sift.drop(column, np.array([not p for p in parts[column]], bool), f"no {role} country", texts)
    weights = None
    if job.weigh:
        weights = np.array([_number(t) for t in decoded(texts[layout.intensity])], np.float64)
        sift.drop(layout.intensity, np.isnan(weights), f"no number in {layout.intensity}", texts)
    rows = np.flatnonzero(sift.ok)
    key = _keys(job.key, at, texts, rows) if job.key else None
    if key is not None and layout.identifier in job.key:
        key = _told_apart(key, at[layout.identifier][rows], texts[layout.identifier], rows, f"{job.name} {place}")
    source, target, rows, key = _dyads(
        parts[layout.source], parts[layout.target], at[layout.source], at[layout.target], rows, key
    )
    return EventBatch(
        job.name,
        rows + first_line,
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
        dated,
    )


def read_table(data: bytes, columns: list[str], needed: list[str], name: str) -> pa.Table:
    """The needed columns as dictionaries of bytes; a line with another number of fields is an error."""
    if not data:
        return pa.table({c: pa.array([], pa.binary()).dictionary_encode() for c in needed})
    bad: list[csv.InvalidRow] = []

    def stop(row: csv.InvalidRow) -> str:
        bad.append(row)
        return "error"

    try:
        return csv.read_csv(
            pa.py_buffer(data),
            read_options=csv.ReadOptions(column_names=columns, use_threads=False, block_size=len(data) + 1),
            parse_options=csv.ParseOptions(
                delimiter="\t", quote_char=False, ignore_empty_lines=False, invalid_row_handler=stop
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(needed, _TEXT), include_columns=needed, null_values=[]
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as e:
        if bad:
            problem = (
                f"must have {len(columns)} tab-separated fields as the first line. Got {bad[0].actual_columns}:"
                f" {bad[0].text[:80]!r}; the row is broken, perhaps by a line break or a tab inside a field."
            )
            raise LineError(name, bad[0].number or 1, problem) from e
        raise LineError(name, 1, f"cannot be read as tab-separated text ({short(e)}).") from e


def _dated(at: np.ndarray, days: np.ndarray, first_line: int) -> dict[int, tuple[int, int]]:
    """Day -> number of rows with that date, usable or not, and the line of the first."""
    counts = np.bincount(at, minlength=len(days))
    first = first_places(at, len(days))
    dated: dict[int, tuple[int, int]] = {}
    for i in np.flatnonzero((days != NO_DAY) & (counts > 0)):
        n, line = dated.get(int(days[i]), (0, 1 << 62))
        dated[int(days[i])] = (n + int(counts[i]), min(line, first_line + int(first[i])))
    return dated


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


def encoded(column: pa.ChunkedArray) -> tuple[np.ndarray, pa.Array]:
    """Positions and distinct texts of a dictionary column."""
    if column.num_chunks != 1:
        column = column.unify_dictionaries()
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return array.indices.to_numpy(zero_copy_only=False), array.dictionary


def decoded(texts: pa.Array) -> list[str]:
    return [t.decode(errors="replace") for t in texts.to_pylist()]


def _numbered(labels: Sequence[str | None], numbers: dict[str, int]) -> np.ndarray:
    return np.array([-1 if a is None else numbers.setdefault(a, len(numbers)) for a in labels], np.int64)


def _remembered(text: bytes, known: dict[bytes, R], work_out: Callable[[str], R]) -> R:
    """The result for a text, worked out once per import and not once per block."""
    if text not in known:
        known[text] = work_out(text.decode(errors="replace"))
    return known[text]


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


def _told_apart(key: np.ndarray, at: np.ndarray, texts: pa.Array, rows: np.ndarray, place: str) -> np.ndarray:
    """Rows without a record number get a key of their own, made of where they stand."""
    blank = np.array([not t.strip() for t in texts.to_pylist()], bool)
    if not blank.any():
        return key
    own = combine(np.broadcast_to(hash_texts(pa.array([place])), rows.shape), mix(rows.astype(np.uint64)))
    return np.where(blank[at], own, key)


def _dyads(
    sources: list[list[int]],
    targets: list[list[int]],
    at_source: np.ndarray,
    at_target: np.ndarray,
    rows: np.ndarray,
    key: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
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
