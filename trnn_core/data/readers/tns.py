"""Sparse tensor text: `sptensor`, order, sizes, number of entries, then `i j k t value` from 1; or only the entries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trnn_core.data.aggregate import Aggregator, EventBatch, Example
from trnn_core.data.assemble import Reading, assemble, check_cells
from trnn_core.data.options import WEEKDAYS, ImportOptions
from trnn_core.data.readers.event_files import tell_bytes
from trnn_core.data.readers.inputs import Input, open_input
from trnn_core.data.readers.line_blocks import line_blocks
from trnn_core.data.readers.tnslabels import TensorLabels, find_labels
from trnn_core.data.series import RelationalSeries, step_dates
from trnn_core.errors import TRNNError
from trnn_core.jobs.context import Progress, quiet

_ENTRY = re.compile(rb"\s*(\d+[ \t]+){3,4}[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")


@dataclass(frozen=True)
class Entries:
    """The entries of a sparse tensor: indices from 0, in the order of the file."""

    index: np.ndarray  # (E, 4): source, target, action, period
    value: np.ndarray  # (E,)
    line: np.ndarray  # (E,)
    sizes: tuple[int, int, int, int]


def recognise(head: bytes, name: str) -> bool:
    lines = [x for x in head.split(b"\n")[:6] if x.strip() and not x.lstrip().startswith(b"#")]
    return bool(lines) and (lines[0].strip().lower() == b"sptensor" or all(_ENTRY.fullmatch(x) for x in lines[:5]))


def read(inputs: Sequence[Input], options: ImportOptions, progress: Progress = quiet) -> RelationalSeries:
    if len(inputs) != 1:
        raise TRNNError(f"One .tns file is one series. Got {len(inputs)} files; import them one by one.")
    source = inputs[0]
    entries = read_entries(source, options, progress)
    _check_entries(entries, source.name, options)
    labels = find_labels(source, entries.sizes, _totals(entries), options)
    whole = bool((entries.value >= 0).all() and (entries.value == np.floor(entries.value)).all())
    kind: Literal["count", "value"] = "value" if options.value in ("sum", "mean") or not whole else "count"
    aggregator = _aggregate(entries, labels, source.name)
    absent = "zero" if kind == "count" else "missing"
    reading = Reading(
        "tns",
        [(source.name, source.size)],
        action_order=labels.actions,
        value="cells",
        kind=kind,
        whole_periods=True,
        words=f"the tensor's own entries; an absent one is {absent}",
        notes=[labels.note],
    )
    typed = isinstance(options.actors, tuple) and options.actors == labels.actors
    return assemble(aggregator, reading, replace_actors(options) if typed else options)


def replace_actors(options: ImportOptions) -> ImportOptions:
    """Actors that were typed in as labels are all kept, in their order."""
    return options.model_copy(update={"countries": False})


def read_entries(source: Input, options: ImportOptions, progress: Progress = quiet) -> Entries:
    """All entries, each checked against the sizes the file itself gives."""
    index: list[list[int]] = []
    value: list[float] = []
    line: list[int] = []
    sizes: tuple[int, ...] | None = None
    promised = None
    with open_input(source, options) as stream:
        lines = _lines(stream, source, progress)
        first = next(lines, None)
        if first is not None and first[1][0].lower() == "sptensor":
            sizes, promised = _header(lines, source.name)
            first = next(lines, None)
        width = 0
        while first is not None:
            number, fields = first
            width = width or (len(sizes) + 1 if sizes else len(fields))
            where, amount = _entry(fields, width, sizes, f"{source.name}, line {number}")
            index.append(where)
            value.append(amount)
            line.append(number)
            if promised is not None and len(index) > promised:
                raise TRNNError(
                    f"{source.name}, line {number}: there must be {promised:,} entries as the header says. This is one"
                    " more."
                )
            first = next(lines, None)
    if not index:
        raise TRNNError(f"{source.name}: must hold at least one entry `i j k t value`. Got none.")
    if promised is not None and len(index) != promised:
        raise TRNNError(
            f"{source.name}, line {line[-1]}: there must be {promised:,} entries as the header says. The file ends"
            f" after {len(index):,}."
        )
    places = np.array(index, np.int64)
    found = sizes or tuple(int(n) for n in places.max(axis=0) + 1)
    if places.shape[1] == 3:  # i j t value: one action
        places = np.insert(places, 2, 0, axis=1)
        found = (found[0], found[1], 1, found[2])
    return Entries(places, np.array(value), np.array(line), found)  # type: ignore[arg-type]


def _lines(stream, source: Input, progress: Progress) -> Iterator[tuple[int, list[str]]]:  # type: ignore[no-untyped-def]
    for block in line_blocks(stream, source.name):
        for i, text in enumerate(block.data.decode().split("\n")):
            fields = text.split()
            if fields and not fields[0].startswith("#"):
                yield block.first_line + i, fields
        tell_bytes(progress, block.n_read, source.size or 1)


def _header(lines: Iterator[tuple[int, list[str]]], name: str) -> tuple[tuple[int, ...], int]:
    order = _whole(next(lines, None), 1, name, "the order of the tensor")[0]
    if order not in (3, 4):
        raise TRNNError(
            f"{name}, line 2: the tensor must have order 4 (source, target, action, time) or 3. Got {order}."
        )
    sizes = _whole(next(lines, None), order, name, f"{order} sizes")
    if min(sizes) < 1:
        raise TRNNError(f"{name}, line 3: sizes must be at least 1. Got {sizes}.")
    return tuple(sizes), _whole(next(lines, None), 1, name, "the number of entries")[0]


def _whole(found: tuple[int, list[str]] | None, n: int, name: str, what: str) -> list[int]:
    number, fields = found or (0, [])
    if len(fields) != n or not all(f.isascii() and f.isdigit() and len(f) < 16 for f in fields):
        raise TRNNError(f"{name}, line {number}: must give {what}. Got {' '.join(fields)[:60]!r}.")
    return [int(f) for f in fields]


def _entry(fields: list[str], width: int, sizes: tuple[int, ...] | None, where: str) -> tuple[list[int], float]:
    if len(fields) != width or width not in (4, 5):
        raise TRNNError(
            f"{where}: an entry must be `i j k t value` (or `i j t value`), as many fields in every line. Got"
            f" {' '.join(fields)[:60]!r}."
        )
    if not all(f.isascii() and f.isdigit() and len(f) < 16 for f in fields[:-1]):
        raise TRNNError(f"{where}: positions must be whole numbers from 1. Got {' '.join(fields[:-1])[:60]!r}.")
    place = [int(f) - 1 for f in fields[:-1]]
    if min(place) < 0:
        raise TRNNError(f"{where}: positions are counted from 1. Got 0.")
    if sizes:
        for p, size in zip(place, sizes, strict=True):
            if p >= size:
                raise TRNNError(
                    f"{where}: positions must lie within the sizes {' '.join(map(str, sizes))} of the header. Got"
                    f" {p + 1} where {size} is the last."
                )
    try:
        amount = float(fields[-1]) if "_" not in fields[-1] else np.nan
    except ValueError:
        amount = np.nan
    if not np.isfinite(amount):
        raise TRNNError(f"{where}: the value must be a finite number. Got {fields[-1][:40]!r}.")
    return place, amount


def _check_entries(entries: Entries, name: str, options: ImportOptions) -> None:
    n_source, n_target, n_action, n_period = entries.sizes
    actors = max(n_source, n_target)
    try:
        check_cells((n_period, actors, actors, n_action), len(entries.value), options.max_cells)
    except TRNNError as e:
        raise TRNNError(f"{name}: {e}") from e
    if n_source != n_target:
        raise TRNNError(f"{name}: sources and targets must be the same actors. Got {n_source} and {n_target}.")
    flat = np.ravel_multi_index(tuple(entries.index.T), entries.sizes)
    order = np.argsort(flat, kind="stable")
    again = np.flatnonzero(flat[order][1:] == flat[order][:-1])
    if len(again):
        second, first = int(order[again[0] + 1]), int(order[again[0]])
        raise TRNNError(
            f"{name}, line {entries.line[second]}: each entry must appear once. This one stands in line"
            f" {entries.line[first]} too."
        )


def _totals(entries: Entries) -> np.ndarray:
    return np.bincount(entries.index[:, 3], entries.value, entries.sizes[3])


def _aggregate(entries: Entries, labels: TensorLabels, name: str) -> Aggregator:
    start = np.datetime64(labels.start, "D")
    weekday = WEEKDAYS[int(start.astype(int) + 3) % 7]
    aggregator = Aggregator(labels.period, weekday)
    days = np.concatenate(([start], step_dates(start, labels.period, entries.sizes[3] - 1))).astype(np.int64)
    for i, actor in enumerate(labels.actors):
        row = np.flatnonzero((entries.index[:, 0] == i) | (entries.index[:, 1] == i))
        aggregator.actors.number(actor, Example(name, int(entries.line[row[0]]) if len(row) else 0, actor))
    source, target, action, period = entries.index.T
    batch = EventBatch(
        name,
        entries.line,
        days[period],
        source,
        target,
        action,
        labels.actors,
        labels.actions,
        len(entries.value),
        value=entries.value,
        dated=_dated(entries, days),
    )
    aggregator.add(batch)
    for day in (days[0], days[-1]):  # the header's size counts, whether or not the ends hold entries
        aggregator.rows_by_day.setdefault(int(day), 0)
    return aggregator


def _dated(entries: Entries, days: np.ndarray) -> dict[int, tuple[int, int]]:
    period, first, n = np.unique(entries.index[:, 3], return_index=True, return_counts=True)
    return {int(days[p]): (int(c), int(entries.line[f])) for p, f, c in zip(period, first, n, strict=True)}
