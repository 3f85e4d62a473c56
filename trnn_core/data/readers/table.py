"""Long tables: one row per event, or per date, source, target and action with a value; under any header."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np

from trnn_core.data.aggregate import Aggregator, Example, first_places
from trnn_core.data.assemble import Reading, assemble
from trnn_core.data.cameo import ROOTS, grouped, quad_class, root
from trnn_core.data.options import ImportOptions
from trnn_core.data.periods import guess_period, period_index, period_start
from trnn_core.data.readers.columns import match_columns
from trnn_core.data.readers.dates import DATE_FORMATS, date_formats
from trnn_core.data.readers.event_columns import ActionRule, EventLayout, Job, decoded, encoded, events_of
from trnn_core.data.readers.event_files import in_order, tell_bytes
from trnn_core.data.readers.inputs import Input, read_head
from trnn_core.data.readers.rows import Rows, header_of, rows_of
from trnn_core.data.series import QUAD_ACTIONS, Period, RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.jobs.context import Progress, quiet

_WORDS = {
    "events": "number of rows; an absent dyad is zero",
    "rows": "number of rows; an absent dyad is zero",
    "sum": "sum of {0}; an absent dyad is missing",
    "mean": "mean of {0}; an absent dyad is missing",
}
_NO_VALUE = ("", "na", "n/a", "null", "none")


@dataclass
class _Survey:
    """What a first pass over the tables finds out."""

    formats: frozenset[str] = frozenset(DATE_FORMATS)
    dates: dict[str, Example] = field(default_factory=dict)
    fraction: Example | None = None
    negative: Example | None = None
    empty: Example | None = None
    short: int = 0  # two-letter actors, and all others: does "NA" mean Namibia?
    long: int = 0


def recognise(head: bytes, name: str) -> bool:
    return True


def read(inputs: Sequence[Input], options: ImportOptions, progress: Progress = quiet) -> RelationalSeries:
    heads = {i: read_head(i, options) for i in inputs}
    headers = {i: header_of(i, heads[i], options) for i in inputs}
    roles = {i: match_columns(headers[i], i.name, options.columns) for i in inputs}

    def rows(source: Input) -> Iterator[Rows]:
        return rows_of(source, heads[source], headers[source], sorted(set(roles[source].values())), options)

    survey = _Survey()
    for source in inputs:
        for some in rows(source):
            _look(some, roles[source], source.name, survey)
    if not survey.dates:
        raise TRNNError(f"{inputs[0].name}, line 2: a table must hold at least one row below the header. Got none.")
    has_value = all("value" in r for r in roles.values())
    value = options.value or ("cells" if has_value else "rows")
    if value in ("sum", "mean", "cells") and not has_value:
        raise TRNNError(
            f"{inputs[0].name}, line 1: the {value} of a column needs a value column. Name it with columns={{'value':"
            " ...}."
        )
    kind = _kind(survey, value)
    date_format = _date_format(survey)
    period, week_start, whole = _period(survey, date_format, options)
    aggregator = Aggregator(period, week_start)
    done, total = 0, sum(i.size for i in inputs) or 1
    for source in inputs:
        job = _job(source.name, roles[source], date_format, value, survey, options)
        work = partial(_events, job=job)
        for batch, some in in_order(work, rows(source), options.threads):
            aggregator.add(batch)
            if aggregator.first_duplicate:
                _repeated(aggregator.first_duplicate)
            tell_bytes(progress, done + some.n_read, total)
        done += source.size
    tell_bytes(progress, total, total)
    return _finish(aggregator, inputs, roles[inputs[0]], value, kind, date_format, whole, options)


def _events(some: Rows, job: Job):  # type: ignore[no-untyped-def]
    return events_of(some.table, some.first_line, job)


def _finish(
    aggregator: Aggregator,
    inputs: Sequence[Input],
    roles: dict[str, str],
    value: str,
    kind: Literal["count", "value"],
    date_format: str,
    whole: bool,
    options: ImportOptions,
) -> RelationalSeries:
    own = roles.get("value", "")
    absent = "zero" if kind == "count" else "missing"
    words = _WORDS.get(value, f"{{0}}, one row per cell; an absent dyad is {absent}").format(own)
    told = ", ".join(f"{role}: {header!r}" for role, header in roles.items())
    notes = [f"columns: {told}", f"dates are written {date_format}"]
    if value == "cells" and kind == "value" and aggregator.events:
        cells = aggregator.finish()
        if (cells.n > 1).any():
            raise TRNNError(
                f"{inputs[0].name}: several dates fall into one {aggregator.period}, so its value is not certain."
                " Choose the sum or the mean, or the period 'day'."
            )
    order = _rule(roles, options, inputs[0].name).order
    if not order and set(aggregator.actions.names) <= set(QUAD_ACTIONS):
        order = QUAD_ACTIONS
    files = [(i.name, i.size) for i in inputs]
    reading = Reading("table", files, None, order, value, kind, whole, words, notes)
    return assemble(aggregator, reading, options)


def _look(some: Rows, roles: dict[str, str], name: str, survey: _Survey) -> None:
    """Dates and numbers must be right in every row: a table is the user's own and small enough to correct."""
    at, texts = encoded(some.table.column(roles["date"]))
    lines = some.first_line + first_places(at, len(texts))
    for line, text in zip(lines.tolist(), decoded(texts), strict=True):
        if text in survey.dates:
            continue
        where = Example(name, line, text)
        fits = date_formats(text)
        if not fits:
            raise TRNNError(
                f"{name}, line {where.line}: must have a date such as 2014-03-31. Got {text[:40]!r}; correct the row or"
                " take it out."
            )
        if not (fits & survey.formats):
            first = next(iter(survey.dates.values()))
            raise TRNNError(
                f"{name}, line {where.line}: dates must be written in one way. Got {text!r} after {first.text!r} in"
                f" {first.file}, line {first.line}."
            )
        survey.formats &= fits
        survey.dates[text] = where
    for role in ("source", "target"):
        for text in decoded(encoded(some.table.column(roles[role]))[1]):
            survey.short += len(text.strip()) == 2 and text.strip() != "NA"
            survey.long += len(text.strip()) > 2
    if "value" in roles:
        _look_at_values(some, roles["value"], name, survey)


def _look_at_values(some: Rows, column: str, name: str, survey: _Survey) -> None:
    at, texts = encoded(some.table.column(column))
    lines = some.first_line + first_places(at, len(texts))
    for line, text in zip(lines.tolist(), decoded(texts), strict=True):
        where = Example(name, line, text)
        if text.strip().lower() in _NO_VALUE:
            survey.empty = survey.empty or where
            continue
        number = _number(text)
        if not np.isfinite(number):
            raise TRNNError(
                f"{name}, line {line}: {column!r} must be a finite number. Got {text[:40]!r}; correct the row or leave"
                " it out."
            )
        if number != np.floor(number):
            survey.fraction = survey.fraction or where
        elif number < 0:
            survey.negative = survey.negative or where


def _number(text: str) -> float:
    try:
        return float(text) if "_" not in text else np.nan
    except ValueError:
        return np.nan


def _kind(survey: _Survey, value: str) -> Literal["count", "value"]:
    """Counts or other values; a negative whole number among whole numbers could be either, so it is asked."""
    if value in ("events", "rows"):
        return "count"
    if value in ("sum", "mean") or survey.fraction:
        return "value"
    if survey.negative:
        e = survey.negative
        raise TRNNError(
            f"{e.file}, line {e.line}: counts must not be negative. Got {e.text!r}; correct it, or choose sum or mean"
            " if the column is no count."
        )
    if survey.empty:
        e = survey.empty
        raise TRNNError(
            f"{e.file}, line {e.line}: a count must be a number. Got {e.text!r}; fill it in, or take the row out if it"
            " means zero."
        )
    return "count"


def _date_format(survey: _Survey) -> str:
    left = sorted(survey.formats)
    if len(left) == 1:
        return left[0]
    days = {f: [DATE_FORMATS[f](t) for t in survey.dates] for f in left}
    if all(d == days[left[0]] for d in days.values()):
        return left[0]
    first = next(iter(survey.dates.values()))
    raise TRNNError(
        f"{first.file}, line {first.line}: the date {first.text!r} must be certain. It could be {' or '.join(left)},"
        " and no other row decides; write dates as YYYY-MM-DD."
    )


def _period(survey: _Survey, date_format: str, options: ImportOptions) -> tuple[Period, str, bool]:
    """The period, the week's first day, and whether the dates are the periods' own first days."""
    days = np.array([DATE_FORMATS[date_format](t) for t in survey.dates], np.int64)
    if options.period is None:
        period, week_start = guess_period(days)
        if date_format in ("YYYY", "YYYY-MM"):
            period = "year" if date_format == "YYYY" else "month"
        return period, week_start, True
    index = period_index(days, options.period, options.week_start)
    whole = bool((period_start(index, options.period, options.week_start).astype(np.int64) == days).all())
    return options.period, options.week_start, whole


def _job(
    name: str, roles: dict[str, str], date_format: str, value: str, survey: _Survey, options: ImportOptions
) -> Job:
    missing = {""} if survey.short > survey.long else {"", "NA"}  # among two-letter codes NA is Namibia
    layout = EventLayout(
        "table",
        roles["date"],
        roles["source"],
        roles["target"],
        roles.get("value", ""),
        (),
        (),
        "",
        DATE_FORMATS[date_format],
        "",
        frozenset(missing),
    )
    rule = _rule(roles, options, name)
    key = tuple(roles[r] for r in ("date", "source", "target", "action") if r in roles) if value == "cells" else ()
    return Job(layout, rule, key, value in ("sum", "mean", "cells"), [], name)


def _rule(roles: dict[str, str], options: ImportOptions, name: str) -> ActionRule:
    """The table's own actions, or what a user makes of them: quad classes, CAMEO roots, a grouping."""
    wanted = options.actions or "own"
    if "action" not in roles:
        if wanted != "own":
            raise TRNNError(
                f"{name}, line 1: grouping actions needs an action column. Name it with columns={{'action': ...}}."
            )
        return ActionRule(roles["date"], lambda t: "all actions", (), "no action")
    if wanted == "own":
        return ActionRule(roles["action"], lambda t: t.strip() or None, (), "no action")
    if wanted == "quad":
        return ActionRule(roles["action"], _quad, QUAD_ACTIONS, "neither a quad class nor a CAMEO code")
    if wanted == "root":
        return ActionRule(
            roles["action"], lambda t: ROOTS.get(root(t.strip()) or ""), tuple(ROOTS.values()), "not a CAMEO code"
        )
    groups: dict[str, str] = wanted  # type: ignore[assignment]
    order = tuple(dict.fromkeys(groups.values()))
    return ActionRule(roles["action"], lambda t: grouped(t.strip(), groups), order, "not in the grouping of actions")


def _quad(text: str) -> str | None:
    plain = text.strip().lower().replace("_", " ")
    return plain if plain in QUAD_ACTIONS else quad_class(plain)


def _repeated(first: Example) -> None:
    raise TRNNError(
        f"{first.file}, line {first.line}: each date, source, target and action must have one row. {first.text} of that"
        " date stands in an earlier row too; choose sum or mean to combine them."
    )
