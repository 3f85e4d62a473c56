"""From counted cells to a series: who is who, which actors and periods stay, and the report about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from trnn_core.data.aggregate import Aggregator, Cells, Example
from trnn_core.data.countries import Resolution, resolve_many
from trnn_core.data.import_report import coverage, example_json
from trnn_core.data.options import ImportOptions
from trnn_core.data.periods import period_index, period_start
from trnn_core.data.series import Provenance, RelationalSeries
from trnn_core.errors import TRNNError

EXACT_FLOAT32 = 2**24
_ALWAYS_FINE, _PER_CELL = 16 * 2**20, 2000  # dense cells that are allowed whatever the data, and per counted cell


@dataclass(frozen=True)
class Reading:
    """What a reader knows about its files."""

    format: str
    files: Sequence[tuple[str, int]]  # name, bytes
    scheme: str | None = None  # how its actors are spelt
    action_order: tuple[str, ...] = ()  # these first, whether they occur or not
    value: str = "events"  # events, rows, sum, mean, cells (a table's own values)
    kind: Literal["count", "value"] = "count"
    whole_periods: bool = False  # dates are period starts: nothing is partial
    words: str = ""  # what a value is, in words
    notes: list[str] = field(default_factory=list)
    licence: str = ""  # of the format's data, where it is known


def assemble(aggregator: Aggregator, reading: Reading, options: ImportOptions) -> RelationalSeries:
    """The series of everything the aggregator took in."""
    if not aggregator.events:
        raise TRNNError(_nothing(aggregator, reading))
    cells = aggregator.finish()
    dropped = {reason: (n, example_json(e)) for reason, (n, e) in aggregator.dropped.items()}
    resolution, label_of, labels = _identities(aggregator, reading, options)
    source, target = label_of[cells.source], label_of[cells.target]
    keep = np.ones(len(cells.n), bool)

    def drop(reason: str, rows: np.ndarray, example: Example | None) -> None:
        n = int(cells.n[keep & rows].sum())
        if n:
            dropped[reason] = (n, example_json(example))
        keep[rows] = False

    first, last, partial = _periods(aggregator, reading, options)
    outside = (cells.period < first) | (cells.period > last)
    drop("in an incomplete first or last period", outside, _first_partial(aggregator, first))
    if not options.diagonal:
        drop("an actor's acts towards itself", source == target, aggregator.first_domestic)
    chosen = _choose_actors(labels, source, target, cells.n * keep, options, reading)
    position = np.full(len(labels), -1)
    position[chosen] = np.arange(len(chosen))
    outside = (position[source] < 0) | (position[target] < 0)
    drop("not among the chosen actors", outside, _first_outside(aggregator, label_of, position))
    kept = _Kept(cells, keep, position[source], position[target])
    values = _dense(kept, (first, last), len(chosen), aggregator, reading, options)
    report = {
        "format": reading.format,
        "files": [{"name": name, "bytes": size} for name, size in reading.files],
        "options": _used_options(options, aggregator),
        "rows_read": aggregator.rows_read,
        "extra_dyads": aggregator.extra_dyads,
        "rows_used": int(cells.n[keep].sum()),
        "duplicates": aggregator.duplicates,
        "first_duplicate": example_json(aggregator.first_duplicate),
        "dropped": [{"reason": r, "rows": n, "example": e} for r, (n, e) in dropped.items()],
        "period": aggregator.period,
        "partial_periods": partial,
        **coverage(aggregator.rows_by_day, aggregator.period, aggregator.week_start),
        "actors_found": len(labels),
        "actors_kept": len(chosen),
        "unrecognised": _unrecognised(aggregator, resolution),
        "kind": reading.kind,
        "values": reading.words,
        "notes": [*reading.notes, *aggregator.notes],
    }
    return _series(values, first, last, [labels[i] for i in chosen], aggregator, reading, options, report)


def _nothing(aggregator: Aggregator, reading: Reading) -> str:
    names = ", ".join(name for name, _ in reading.files[:3])
    if not aggregator.rows_read:
        return f"{names}: must hold at least one row below the header. Got none."
    reason, (n, example) = max(aggregator.dropped.items(), key=lambda item: item[1][0])
    return (
        f"{names}: at least one row must be usable. All {aggregator.rows_read:,} were dropped, {n:,} of them: {reason} "
        f"(first: {example.file}, line {example.line}, {example.text[:80]!r}); is it the right format?"
    )


def _identities(
    aggregator: Aggregator, reading: Reading, options: ImportOptions
) -> tuple[Resolution | None, np.ndarray, list[str]]:
    """Spelling number -> label number, and the labels in order of appearance."""
    names = aggregator.actors.names
    resolution = None
    guess = options.countries is None and reading.format in ("table", "tns")  # may hold anything, not only countries
    if options.countries is not False and not (guess and _few_countries(names[:100], options)):
        scheme = options.scheme or reading.scheme
        resolution = resolve_many(names, scheme, options.corrections)
        if "NA" in names and scheme is None and resolution.scheme == "iso2":
            resolution = resolve_many(names, "iso2", options.corrections)  # among ISO codes NA is Namibia
        if (
            options.countries is None
            and reading.format in ("table", "tns")
            and len(resolution.unknown) > len(names) / 2
        ):
            resolution = None  # not a table of countries: its own names stay
    mapping = resolution.mapping if resolution is not None else dict(options.corrections)
    numbers: dict[str, int] = {}
    label_of = np.array([numbers.setdefault(mapping.get(n, n), len(numbers)) for n in names])
    return resolution, label_of, list(numbers)


def _few_countries(names: list[str], options: ImportOptions) -> bool:
    return len(resolve_many(names, options.scheme, options.corrections).unknown) > len(names) / 2


def _choose_actors(
    labels: list[str], source: np.ndarray, target: np.ndarray, n: np.ndarray, options: ImportOptions, reading: Reading
) -> np.ndarray:
    if options.actors == "all":
        chosen = np.array(sorted(range(len(labels)), key=lambda i: labels[i]))
    elif isinstance(options.actors, int):
        activity = np.bincount(source, n, len(labels)) + np.bincount(target, n, len(labels))
        order = sorted(range(len(labels)), key=lambda i: (-activity[i], labels[i]))
        chosen = np.array([i for i in order if activity[i] > 0][: options.actors], int)
    else:
        chosen = np.array([_find_actor(name, labels, options, reading) for name in options.actors])
        if len(set(chosen.tolist())) < len(chosen):
            raise TRNNError(
                f"Each chosen actor must be named once. Got {', '.join(options.actors)}, of which two are the same."
            )
    if len(chosen) < 2:
        found = ", ".join(labels[:5])
        raise TRNNError(
            f"{reading.files[0][0]}: a relation needs at least two actors that act towards each other. Found"
            f" {len(labels)} ({found})."
        )
    return chosen


def _find_actor(name: str, labels: list[str], options: ImportOptions, reading: Reading) -> int:
    if name in labels:
        return labels.index(name)
    resolution = resolve_many([name], None, options.corrections)
    found = resolution.mapping.get(name) or resolve_many([name], reading.scheme, options.corrections).mapping.get(name)
    if found in labels:
        return labels.index(found)
    hints = resolution.unknown[0].suggestions if resolution.unknown else ()
    hint = f"; perhaps {', '.join(hints)}" if hints else ""
    raise TRNNError(f"The actor {name!r} must occur in the files. It does not{hint}.")


def _first_outside(aggregator: Aggregator, label_of: np.ndarray, position: np.ndarray) -> Example | None:
    outside = np.flatnonzero(position[label_of] < 0)
    return aggregator.actors.first[int(outside[0])] if len(outside) else None


def _periods(aggregator: Aggregator, reading: Reading, options: ImportOptions) -> tuple[int, int, list[dict[str, Any]]]:
    """First and last period index, and what is known about incomplete ones at the ends."""
    days = np.array([min(aggregator.rows_by_day), max(aggregator.rows_by_day)])
    first, last = (int(i) for i in period_index(days, aggregator.period, aggregator.week_start))
    starts = period_start(
        np.array([first, first + 1, last, last + 1]), aggregator.period, aggregator.week_start
    ).astype(int)
    late, early = int(days[0] - starts[0]), int(starts[3] - 1 - days[1])
    missing = {first: late}
    missing[last] = missing.get(last, 0) + early
    partial: list[dict[str, Any]] = []
    for index, begin, end in ((first, starts[0], starts[1]), (last, starts[2], starts[3])):
        known = any(p["period"] == str(begin.astype("datetime64[D]")) for p in partial)
        if missing[index] > 0 and not reading.whole_periods and not known:
            length = int(end - begin)
            fact = {
                "period": str(begin.astype("datetime64[D]")),
                "days": length - missing[index],
                "of": length,
                "dropped": not options.keep_partial,
            }
            partial.append(fact)
    if not options.keep_partial and not reading.whole_periods:
        first, last = first + (missing[first] > 0), last - (missing[last] > 0)
    if last - first < 1:
        what = "complete " if not options.keep_partial and partial else ""
        raise TRNNError(
            f"{reading.files[0][0]}: a series needs at least two {what}{aggregator.period}s. The files cover "
            f"{days[0].astype('datetime64[D]')} to {days[1].astype('datetime64[D]')}; take a shorter period"
            f"{' or keep incomplete ones' if what else ''}."
        )
    return first, last, partial


def _first_partial(aggregator: Aggregator, first: int) -> Example:
    """A row of the incomplete first period, or else of the last."""
    low = min(aggregator.first_of_day)
    early = int(period_index(np.array([low]), aggregator.period, aggregator.week_start)[0]) < first
    return aggregator.first_of_day[low if early else max(aggregator.first_of_day)]


def check_cells(shape: tuple[int, int, int, int], counted: int, max_cells: int) -> None:
    """Refuse a tensor that is far too large for what is in it, before it is allocated."""
    n = 1
    for size in shape:
        n *= int(size)
    if n > max_cells or n > max(_ALWAYS_FINE, _PER_CELL * counted):
        raise TRNNError(
            f"The tensor may have at most {min(max_cells, max(_ALWAYS_FINE, _PER_CELL * counted)):,} cells for"
            f" {counted:,} counted ones. {shape[0]} periods, {shape[1]} by {shape[2]} actors and {shape[3]} actions"
            f" make {n:,}; take fewer actors or longer periods."
        )


@dataclass(frozen=True)
class _Kept:
    """Counted cells, which of them stay, and where their actors stand in the series."""

    cells: Cells
    keep: np.ndarray
    source: np.ndarray
    target: np.ndarray


def _dense(
    kept: _Kept,
    ends: tuple[int, int],
    n_actors: int,
    aggregator: Aggregator,
    reading: Reading,
    options: ImportOptions,
) -> np.ndarray:
    """The tensor of the periods from the first to the last of `ends`."""
    cells, keep, first = kept.cells, kept.keep, ends[0]
    n_periods = ends[1] - first + 1
    order = _action_order(aggregator, reading)
    number = {a: k for k, a in enumerate(order)}
    action = np.array([number[a] for a in aggregator.actions.names])[cells.action]
    shape = (n_periods, n_actors, n_actors, len(order))
    check_cells(shape, int(keep.sum()), options.max_cells)
    at = np.ravel_multi_index((cells.period[keep] - first, kept.source[keep], kept.target[keep], action[keep]), shape)
    at, inverse = np.unique(at, return_inverse=True)  # spellings of one actor meet here
    events = np.bincount(inverse, cells.n[keep])
    amount: np.ndarray = events if cells.total is None else np.bincount(inverse, cells.total[keep])
    if reading.value == "mean":
        amount = amount / events
    exact = reading.kind == "count" and amount.max(initial=0) <= EXACT_FLOAT32
    values = np.full(shape, 0.0 if reading.kind == "count" else np.nan, np.float32 if exact else np.float64)
    if reading.kind == "count" and options.gaps == "missing":
        days = np.array(sorted(d for d, n in aggregator.rows_by_day.items() if n))
        read = period_index(days, aggregator.period, aggregator.week_start) - first
        values[np.isin(np.arange(n_periods), read, invert=True)] = np.nan
    values.reshape(-1)[at] = amount
    return values


def _action_order(aggregator: Aggregator, reading: Reading) -> tuple[str, ...]:
    return (*reading.action_order, *sorted(set(aggregator.actions.names) - set(reading.action_order)))


def _unrecognised(aggregator: Aggregator, resolution: Resolution | None) -> list[dict[str, Any]]:
    if resolution is None:
        return []
    out = []
    for u in resolution.unknown:
        e = aggregator.actors.first[aggregator.actors.numbers[u.name]]
        out.append(
            {"name": u.name, "file": e.file, "line": e.line, "reason": u.reason, "suggestions": list(u.suggestions)}
        )
    return out


def _used_options(options: ImportOptions, aggregator: Aggregator) -> dict[str, Any]:
    chosen = options.model_dump(
        mode="json", exclude={"allowed_root", "max_bytes", "max_cells", "threads"}, exclude_defaults=True
    )
    return {
        **chosen,
        "period": aggregator.period,
        **({"week_start": aggregator.week_start} if aggregator.period == "week" else {}),
    }


def _series(
    values: np.ndarray,
    first: int,
    last: int,
    actors: list[str],
    aggregator: Aggregator,
    reading: Reading,
    options: ImportOptions,
    report: dict[str, Any],
) -> RelationalSeries:
    files = [name for name, _ in reading.files]
    title = options.title or (files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more")
    provenance = Provenance(
        title, kind=reading.kind, diagonal=options.diagonal, licence=options.licence or reading.licence, report=report
    )
    dates = period_start(np.arange(first, last + 1), aggregator.period, aggregator.week_start)
    return RelationalSeries(values, dates, tuple(actors), _action_order(aggregator, reading), source=provenance)
