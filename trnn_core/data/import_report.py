"""The import report: what was read, used and left out, as plain JSON values that travel with the series."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trnn_core.data.aggregate import Example
from trnn_core.data.periods import period_index, period_start
from trnn_core.data.series import Period
from trnn_core.words import percent

THIN_SHARE = 0.25  # a period with less than this share of the usual rows is called thin
_NEIGHBOURS = 13  # what is usual is the median of this many periods around it
_LISTED = 200


def example_json(example: Example | None) -> dict[str, Any] | None:
    return None if example is None else {"file": example.file, "line": example.line, "text": example.text[:200]}


def coverage(rows_by_day: Mapping[int, int], period: Period, week_start: str) -> dict[str, Any]:
    """Date range, gaps (periods without a single row) and thin periods of everything that was read."""
    days = np.array(sorted(rows_by_day), np.int64)
    index = period_index(days, period, week_start)
    first, last = int(index[0]), int(index[-1])
    rows = np.bincount(index - first, weights=[rows_by_day[int(d)] for d in days], minlength=last - first + 1)
    starts = period_start(np.arange(first, last + 1), period, week_start)
    thin = [
        {"period": str(starts[t]), "rows": int(rows[t]), "usual": float(usual)}
        for t, usual in enumerate(_local_median(rows))
        if 0 < rows[t] < THIN_SHARE * usual
    ]
    return {
        "first_date": str(days[0].astype("datetime64[D]")),
        "last_date": str(days[-1].astype("datetime64[D]")),
        "gaps": _gaps(rows, starts)[:_LISTED],
        "thin_periods": thin[:_LISTED],
        "n_gaps": int((rows == 0).sum()),
        "n_thin": len(thin),
    }


def _local_median(rows: np.ndarray) -> np.ndarray:
    half = min(_NEIGHBOURS // 2, max(len(rows) - 1, 0))
    if len(rows) > 100_000:  # days over centuries: one median for all
        return np.full(len(rows), np.median(rows[rows > 0]))
    usual = np.empty(len(rows))
    for t in range(len(rows)):
        around = rows[max(0, t - half) : t + half + 1]
        usual[t] = np.median(around[around > 0]) if (around > 0).any() else 0.0
    return usual


def _gaps(rows: np.ndarray, starts: np.ndarray) -> list[dict[str, Any]]:
    """Runs of periods without rows."""
    empty = np.concatenate(([False], rows == 0, [False])).astype(int)
    begin, end = np.flatnonzero(np.diff(empty) == 1), np.flatnonzero(np.diff(empty) == -1)
    return [
        {"first": str(starts[a]), "last": str(starts[b - 1]), "periods": int(b - a)}
        for a, b in zip(begin, end, strict=True)
    ]


def summary(report: Mapping[str, Any]) -> list[str]:
    """The report in sentences, for the command line and the page."""
    out = [
        (
            f"{report['rows_read']:,} rows read from {len(report['files'])} {report['format']}"
            f" file{'s' if len(report['files']) != 1 else ''}, {report['first_date']} to {report['last_date']};"
            f" {report['rows_used']:,} used."
        ),
        f"Values: {report['values']}.",
    ]
    if report["extra_dyads"]:
        out.append(f"{report['extra_dyads']:,} further dyads from rows with several countries.")
    if report["duplicates"]:
        out.append(f"{report['duplicates']:,} repeats left out{_first(report['first_duplicate'])}.")
    for d in report["dropped"]:
        out.append(f"{d['rows']:,} rows dropped: {d['reason']}{_first(d['example'])}.")
    for p in report["partial_periods"]:
        out.append(
            f"The {report['period']} of {p['period']} is covered on {p['days']} of {p['of']} days:"
            f" {'dropped' if p['dropped'] else 'kept'}."
        )
    if report["n_gaps"]:
        out.append(
            f"{report['n_gaps']:,} {report['period']}s without any row, {_gap_text(report)}; first:"
            f" {_run(report['gaps'][0])}."
        )
    if report["n_thin"]:
        thin = report["thin_periods"][0]
        out.append(
            f"{report['n_thin']:,} thin {report['period']}s (under {percent(THIN_SHARE)} of the usual rows); first:"
            f" {thin['period']} with {thin['rows']:,}."
        )
    for u in report["unrecognised"][:10]:
        hint = f"; perhaps {', '.join(u['suggestions'])}" if u["suggestions"] else ""
        out.append(
            f"Actor not recognised, kept under its own name: {u['name']!r} ({u['file']}, line {u['line']};"
            f" {u['reason']}{hint})."
        )
    if len(report["unrecognised"]) > 10:
        out.append(f"... and {len(report['unrecognised']) - 10} more actors not recognised.")
    return out + [f"Note: {n}." for n in report["notes"]]


def _first(example: Mapping[str, Any] | None) -> str:
    return "" if example is None else f"; first: {example['file']}, line {example['line']}, {example['text']!r}"


def _run(gap: Mapping[str, Any]) -> str:
    return gap["first"] if gap["periods"] == 1 else f"{gap['first']} to {gap['last']}"


def _gap_text(report: Mapping[str, Any]) -> str:
    return (
        "marked as missing"
        if report["options"].get("gaps") == "missing"
        else "counted as zero"
        if report["kind"] == "count"
        else "missing"
    )
