"""What the event formats share: files of tab-separated lines in, a series out, two blocks at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TypeVar

from trnn_core.data.aggregate import Aggregator, EventBatch
from trnn_core.data.assemble import Reading, assemble
from trnn_core.data.options import ImportOptions
from trnn_core.data.readers.event_columns import ActionRule, EventLayout, Job, parse_block
from trnn_core.data.readers.inputs import Input, open_input
from trnn_core.data.readers.line_blocks import Block, LineError, cut_blocks
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.jobs.context import Progress

T = TypeVar("T")
WORDS = {
    "events": "number of unique events; an absent dyad is zero",
    "rows": "number of rows; an absent dyad is zero",
    "sum": "sum of intensity over unique events; an absent dyad is missing",
    "mean": "mean of intensity over unique events; an absent dyad is missing",
}


def read_events(
    inputs: Sequence[Input],
    layout: EventLayout,
    rule: ActionRule,
    columns_of: Callable[[bytes, str], tuple[list[str], bool]],
    options: ImportOptions,
    progress: Progress,
) -> tuple[RelationalSeries, Aggregator]:
    """Read, count and assemble; `columns_of(first line, file)` gives the column names and whether the line is a
    header."""
    value = options.value or "events"
    aggregator = Aggregator(options.period or "week", options.week_start)
    key = layout.record_key if value == "rows" else layout.event_key
    job = Job(layout, rule, key, value in ("sum", "mean"), [], "")
    done, total = 0, sum(i.size for i in inputs) or 1
    for source in inputs:
        with open_input(source, options) as stream:
            blocks = cut_blocks(stream, source.name)
            first = next(blocks, None)
            if first is None:
                raise TRNNError(f"{source.name}, line 1: the file must hold rows. It is empty.")
            columns, header = columns_of(first.data[: first.data.index(b"\n")], source.name)
            own = replace(job, columns=columns, name=source.name, encoding=options.encoding)
            above = 1 if header else 0  # lines before the block at hand
            body = _without_header(first) if header else first
            try:
                for batch, block in in_order(partial(parse_block, job=own), chain([body], blocks), options.threads):
                    aggregator.add(batch.after(above))
                    above += batch.n_rows
                    tell_bytes(progress, done + block.n_read, total)
            except LineError as e:
                raise e.after(above) from e
        done += source.size
    tell_bytes(progress, total, total)
    reading = Reading(
        layout.format,
        [(i.name, i.size) for i in inputs],
        layout.scheme,
        rule.order,
        value,
        "count" if value in ("events", "rows") else "value",
        words=WORDS[value],
        licence=layout.licence,
    )
    return assemble(aggregator, reading, options), aggregator


def tell_bytes(progress: Progress, done: int, total: int) -> None:
    done = min(done, total)
    progress(done / total, f"Reading: {done / 1e6:,.1f} of {total / 1e6:,.1f} MB")


def in_order(work: Callable[[T], EventBatch], items: Iterable[T], threads: int) -> Iterator[tuple[EventBatch, T]]:
    """Work on several items at once, hand the results on in order, hold few of them."""
    if threads == 1:
        yield from ((work(item), item) for item in items)
        return
    with ThreadPoolExecutor(threads) as pool:
        running: deque[tuple[Future[EventBatch], T]] = deque()
        try:
            for item in items:
                running.append((pool.submit(work, item), item))
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
    return replace(block, data=block.data[block.data.index(b"\n") + 1 :])


def named_columns(line: bytes, name: str, layout: EventLayout) -> tuple[list[str], bool]:
    """The header's column names; those the reader needs must be there, once."""
    columns = [c.strip().strip('"').strip() for c in line.decode(errors="replace").rstrip("\r").split("\t")]
    lacking = [c for c in layout.needs if c not in columns]
    if lacking and len(columns) == 1:
        raise TRNNError(
            f"{name}, line 1: {layout.format.upper()} files must be tab separated. No tab in {columns[0][:60]!r}; save"
            " it as tab-separated text."
        )
    if lacking:
        raise TRNNError(
            f"{name}, line 1: the header must name the columns {', '.join(layout.needs)}. Missing:"
            f" {', '.join(lacking)}."
        )
    doubled = [c for c in layout.needs if columns.count(c) > 1]
    if doubled:
        raise TRNNError(
            f"{name}, line 1: each column must be named once. Got {doubled[0]!r} {columns.count(doubled[0])} times."
        )
    return [c if columns.index(c) == i else f"{c} #{i + 1}" for i, c in enumerate(columns)], True
