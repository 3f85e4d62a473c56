"""Answers as tables and plain sentences. No torch here; names stand as they are, a page that renders Markdown escapes
them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from trnn_core.insight.answers import (
    PARTS,
    STRETCH,
    STRETCH_WEEKS,
    THRESHOLD,
    Attribution,
    Impulse,
    InfluenceSet,
    Outcome,
    Unusual,
)
from trnn_core.words import percent

NOT_CAUSE = (
    "Association is not cause: these figures say what the network goes by, not what would happen if somebody acted. "
    "A third country, a common event or the way news is reported can stand behind a tie."
)


def drivers(found: Attribution, actors: Sequence[str], actions: Sequence[str], n: int | None = None) -> pd.DataFrame:
    """Relations by what they add to the forecast over all past periods, with the period that counted most.

    Columns: source, target, action, contribution (events), share (of the difference), period, observed, usual.
    """
    events = found.in_events
    total = events.sum(axis=0)  # (N, N, K)
    difference = found.value - found.usual_value
    order = np.argsort(-np.abs(total), axis=None, kind="stable")
    rows = []
    for place in order[: n if n is not None else len(order)]:
        i, j, k = (int(x) for x in np.unravel_index(int(place), total.shape))
        if total[i, j, k] == 0:
            break
        t = int(np.abs(events[:, i, j, k]).argmax())
        rows.append(
            {
                "source": actors[i],
                "target": actors[j],
                "action": actions[k],
                "contribution": float(total[i, j, k]),
                "share": float(total[i, j, k] / difference) if difference else float("nan"),
                "period": found.dates[t],
                "observed": float(found.past[t, i, j, k]),
                "usual": float(found.usual_past[i, j, k]),
            }
        )
    columns = ["source", "target", "action", "contribution", "share", "period", "observed", "usual"]
    return pd.DataFrame(rows, columns=columns)


def say_driver(row: Any, period: str = "week") -> str:
    """One driver in a sentence: what it adds over all past periods, and the period that counted most."""
    way = "raises" if row["contribution"] > 0 else "lowers"
    return (
        f"{row['source']} → {row['target']}, {row['action']} {way} the forecast by {_number(abs(row['contribution']))};"
        f" most of all the {period} of {row['period']}: {_number(row['observed'])} instead of the usual"
        f" {_number(row['usual'])}."
    )


def say_attribution(found: Attribution, actors: Sequence[str], actions: Sequence[str], period: str, unit: str) -> str:
    i, j, k = found.cell
    ahead = f"next {period}" if found.step == 1 else f"in {found.step} {period}s"
    way = "above" if found.value > found.usual_value else "below"
    return (
        f"{actors[i]} → {actors[j]}, {actions[k]}, {ahead}: the network expects {_number(found.value)} {unit}. Had the"
        f" last {len(found.dates)} {period}s been usual ones, it would expect {_number(found.usual_value)}. What made"
        f" this {_number(abs(found.value - found.usual_value))} {way} that is listed below."
    )


def say_completeness(found: Attribution) -> str:
    total = float(found.in_events.sum())
    verdict = "complete" if found.complete else "not complete: read the list with care"
    return (
        f"The contributions add up to {_signed(total)} of {_signed(found.value - found.usual_value)}: a gap of"
        f" {percent(found.gap, 2)} ({verdict}; integrated gradients over {found.n_points} points)."
    )


def ties(found: InfluenceSet, part: str, n: int | None = None) -> pd.DataFrame:
    """Ties off the diagonal, solid ones first, then by size: moves, moved, influence, error, solid, regression,
    modes."""
    p = PARTS.index(part)
    names = found.actions if part == "action" else found.actors
    matrix, error, solid = found.jacobian.parts()[p], found.errors[p], found.solid[p]
    rows, cols = np.nonzero(~np.eye(len(matrix), dtype=bool))
    table = pd.DataFrame(
        {
            "moves": [names[c] for c in cols],
            "moved": [names[r] for r in rows],
            "influence": matrix[rows, cols],
            "error": error[rows, cols],
            "solid": solid[rows, cols],
            "regression": found.regression.parts()[p][rows, cols],
        }
    )
    if found.modes is not None:
        table["modes"] = found.modes.parts()[p][rows, cols]
    order = np.lexsort((-np.abs(table["influence"]), ~table["solid"]))
    table = table.iloc[order].reset_index(drop=True)
    return table if n is None else table.head(n)


def say_tie(row: Any, part: str, period: str = "week") -> str:
    way = "more" if row["influence"] > 0 else "less"
    who = "kind of act" if part == "action" else "country"
    size = f"{abs(row['influence']):.2f} times as strongly as a {who} carries on by itself"
    if part == "sender":
        return (
            f"More done by {row['moves']} to a partner goes with {way} done by {row['moved']} to the same partner a"
            f" {period} later, {size}."
        )
    if part == "receiver":
        return (
            f"More done to {row['moves']} by a sender goes with {way} done to {row['moved']} by the same sender a"
            f" {period} later, {size}."
        )
    return f"More {row['moves']} goes with {way} {row['moved']} in the same pair a {period} later, {size}."


def say_check(found: InfluenceSet, part: str) -> str:
    """What training again has shown, for a set that was checked so."""
    return (
        f"Checked by {found.retrained} further trainings, each without another third of the weeks: two of them"
        f" correlate at {found.between[PARTS.index(part)]:.2f} on average, off the diagonal."
    )


def effects(
    found: Outcome, actors: Sequence[str], actions: Sequence[str], step: int | None = None, n: int | None = None
) -> pd.DataFrame:
    """Cells by how much the scenario changes them: date, source, target, action, with, without, difference, lower,
    upper."""
    steps = range(found.horizon) if step is None else [step]
    tables = []
    for h in steps:
        i, j, k = (x.ravel() for x in np.indices(found.difference.shape[1:]))
        kept = i != j
        i, j, k = i[kept], j[kept], k[kept]
        tables.append(
            pd.DataFrame(
                {
                    "date": found.dates[h],
                    "source": [actors[x] for x in i],
                    "target": [actors[x] for x in j],
                    "action": [actions[x] for x in k],
                    "with": found.changed[0][h][i, j, k],
                    "without": found.usual[0][h][i, j, k],
                    "difference": found.difference[h][i, j, k],
                    "lower": found.lower[h][i, j, k],
                    "upper": found.upper[h][i, j, k],
                }
            )
        )
    table = pd.concat(tables, ignore_index=True)
    table = table.iloc[np.argsort(-table["difference"].abs().to_numpy(), kind="stable")].reset_index(drop=True)
    return table if n is None else table.head(n)


def apart(first: Outcome, second: Outcome, actors: Sequence[str], actions: Sequence[str]) -> pd.DataFrame:
    """Two scenarios cell by cell, the furthest apart first: date, source, target, action, first, second, apart."""
    keys = ["date", "source", "target", "action"]
    a, b = (effects(o, actors, actions).set_index(keys)["difference"] for o in (first, second))
    table = a.to_frame("first").join(b.rename("second"), how="inner")
    table["apart"] = table["second"] - table["first"]
    return table.reindex(table["apart"].abs().sort_values(ascending=False, kind="stable").index).reset_index()


def say_effect(found: Outcome, actors: Sequence[str], actions: Sequence[str], step: int, period: str, unit: str) -> str:
    row = effects(found, actors, actions, step, 1).iloc[0]
    total = float(found.difference[step].sum())
    if abs(row["difference"]) < 0.005:
        return f"In the {period} of {found.dates[step]} the change makes no difference worth naming."
    word = "more" if row["difference"] > 0 else "fewer"
    return (
        f"In the {period} of {found.dates[step]} the largest difference is {row['source']} → {row['target']},"
        f" {row['action']}: {_number(abs(row['difference']))} {unit} {word} on average (90\u00a0%:"
        f" {_signed(row['lower'])} to {_signed(row['upper'])}). Over all relations the change adds up to"
        f" {_signed(total)}."
    )


def say_impulse(found: Impulse, actors: Sequence[str], actions: Sequence[str], period: str) -> str:
    i, j, k = found.cell
    own = found.mean[:, i, j, k]
    others = [c for c in found.strongest(12) if c != found.cell]
    said = (
        f"After {_number(abs(found.size))} {'more' if found.size > 0 else 'fewer'} from {actors[i]} to {actors[j]}"
        f" ({actions[k]}), the same relation is {_signed(own[0])} the next {period} and {_signed(own[-1])} after"
        f" {len(own)}"
    )
    if others:
        a, b, c = others[0]
        peak = int(np.abs(found.mean[:, a, b, c]).argmax())
        said += (
            f"; outside it {actors[a]} → {actors[b]}, {actions[c]} answers most, {_signed(found.mean[peak, a, b, c])}"
            f" after {peak + 1} {period}{'s' if peak else ''}"
        )
    return f"{said}. Means over {found.n_origins} recent {period}s; the shaded range holds 90\u00a0% of them."


def answers(found: Impulse, actors: Sequence[str], actions: Sequence[str], n: int) -> pd.DataFrame:
    """The n relations that answer most, a row each for every period after the push."""
    rows = [
        {
            "source": actors[i],
            "target": actors[j],
            "action": actions[k],
            "ahead": h + 1,
            "answer": float(found.mean[h, i, j, k]),
            "lower": float(found.lower[h, i, j, k]),
            "upper": float(found.upper[h, i, j, k]),
        }
        for i, j, k in found.strongest(n)
        for h in range(len(found.mean))
    ]
    return pd.DataFrame(rows)


def say_unusual(found: Unusual, period: str) -> str:
    flagged = found.flagged
    measure = f"surprise of {THRESHOLD:g} or more, where 0 is a usual {period} and 1 a usual deviation from it"
    if not len(flagged):
        return (
            f"No {period} stands out from its past ({measure}); the largest surprise is {found.surprise.max():.1f},"
            f" {found.dates[int(found.surprise.argmax())]}."
        )
    named = ", ".join(found.dates[t] for t in flagged[:5])
    said = (
        f"{len(flagged)} of {len(found.dates)} {period}s"
        f" {'stands out from its' if len(flagged) == 1 else 'stand out from their'} past ({measure}):"
        f" {named}{' and others' if len(flagged) > 5 else ''}."
    )
    for a, b in found.stretches[-2:]:
        said += (
            f" {found.dates[a]} to {found.dates[b]} is a stretch: its mean surprise over {STRETCH_WEEKS} {period}s"
            f" reaches {STRETCH:g}."
        )
    return said


def moved(found: Unusual, at: int, actors: Sequence[str], actions: Sequence[str]) -> pd.DataFrame:
    """What moved in one week: source, target, action, observed, expected, times (its usual error)."""
    i, j, k = found.cells[at].T
    return pd.DataFrame(
        {
            "source": [actors[x] for x in i],
            "target": [actors[x] for x in j],
            "action": [actions[x] for x in k],
            "observed": found.observed[at],
            "expected": found.expected[at],
            "times": found.z[at],
        }
    )


def _number(x: float) -> str:
    """A figure without false precision.

    >>> [_number(x) for x in (0.0, 0.034, 0.34, 6.0, 4.26, 31.7)]
    ['0', '0.03', '0.34', '6', '4.3', '32']
    """
    size = abs(x)
    if size >= 0.5 and abs(x - round(x)) < 1e-4 * size:  # a count that went through a logarithm and back
        return f"{x:,.0f}"
    return "0" if size < 0.005 else f"{x:.2f}" if size < 1 else f"{x:.1f}" if size < 10 else f"{x:,.0f}"


def _signed(x: float) -> str:
    return _number(x) if abs(x) < 0.005 else f"{'+' if x > 0 else '-'}{_number(abs(x))}"
