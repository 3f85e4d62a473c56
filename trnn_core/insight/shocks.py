"""Shocks: changes to recent weeks, read from words and laid over a past.

    China,Japan,material conflict,+20                 twenty more events in the last week known
    China,Japan,material conflict,=0,2014-06-26       none in that week
    "Korea, South",Japan,all,x2                       twice as much of every action

Letters: T periods, N actors, K actions.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError

HOW = {"+": "more", "-": "fewer", "=": "set to", "x": "times"}
ALL = "all"
_LARGEST = 1e6


@dataclass(frozen=True)
class Shock:
    """One change: `how` is + (more), - (fewer), = (set to) or x (times); `action` may be "all"; no date means the
    last week."""

    source: str
    target: str
    action: str
    how: str
    amount: float
    date: str | None = None

    def __str__(self) -> str:
        when = f" in the period of {self.date}" if self.date else " in the last period known"
        amount = f"{self.amount:g} {HOW[self.how]}" if self.how in "+-" else f"{HOW[self.how]} {self.amount:g}"
        action = "every action" if self.action == ALL else self.action
        return f"{self.source} to {self.target}, {action}: {amount}{when}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def parse_shock(text: str, series: RelationalSeries) -> Shock:
    """Read "SENDER,RECEIVER,ACTION,AMOUNT[,DATE]"; the amount is +20, -5, =3 or x2."""
    try:
        parts = [p.strip() for p in next(csv.reader([text], skipinitialspace=True), [])]
    except csv.Error:
        parts = []
    if len(parts) not in (4, 5):
        raise TRNNError(
            "A shock must read SENDER,RECEIVER,ACTION,AMOUNT or with a DATE behind; names with a comma go in quotes."
            f' Got {text!r:.120} instead; for example "China,Japan,material conflict,+20".'
        )
    source, target = (_name(p, series.actors, "country") for p in parts[:2])
    action = ALL if parts[2].lower() == ALL else _name(parts[2], series.actions, "action")
    how, number = (parts[3][:1], parts[3][1:]) if parts[3][:1] in HOW else ("+", parts[3])
    try:
        amount = float(number)
    except ValueError:
        raise TRNNError(
            f"The amount of a shock must be a number led by +, -, = or x. Got {parts[3]!r:.60} instead; for example"
            " +20."
        ) from None
    return check_shock(Shock(source, target, action, how, amount, parts[4] if len(parts) == 5 else None), series)


def check_shock(shock: Shock, series: RelationalSeries) -> Shock:
    """A shock that fits the series, or one sentence on why it does not."""
    _name(shock.source, series.actors, "country")
    _name(shock.target, series.actors, "country")
    if shock.action != ALL:
        _name(shock.action, series.actions, "action")
    if shock.source == shock.target and not series.source.diagonal:
        raise TRNNError(
            f"A shock must go from one country to another. Got {shock.source} to itself, which these data do not hold."
        )
    if shock.how not in HOW or not 0 <= shock.amount <= _LARGEST:
        raise TRNNError(
            f"The amount of a shock must be from 0 to {_LARGEST:g}, led by +, -, = or x. Got"
            f" {shock.how}{shock.amount:g} instead."
        )
    if shock.date is not None and shock.date not in {str(d) for d in series.dates}:
        raise TRNNError(
            f"The date of a shock must be the first day of a {series.period} of the series, {series.dates[0]} to"
            f" {series.dates[-1]}. Got {shock.date!r:.40} instead."
        )
    return shock


def changes_of(source: str, target: str, edited: np.ndarray, series: RelationalSeries) -> list[Shock]:
    """The last n periods of one relation as somebody would have them (n, K), as changes: one per cell that differs."""
    i, j, n = series.actors.index(source), series.actors.index(target), len(edited)
    known = series.values[-n:, i, j]
    differs = np.isfinite(edited) & ~np.isclose(edited, known)
    dates = [str(d) for d in series.dates[-n:]]
    return [
        check_shock(
            Shock(source, target, series.actions[k], "=", float(edited[t, k]), None if t == n - 1 else dates[t]), series
        )
        for t, k in np.argwhere(differs)
    ]


def plant(past: np.ndarray, shocks: Sequence[Shock], series: RelationalSeries, reach: int) -> np.ndarray:
    """The last T periods in events (T, N, N, K), changed; a period that the model does not read cannot be changed."""
    changed = np.array(past, dtype=np.float64)
    dates = [str(d) for d in series.dates]
    for shock in shocks:
        check_shock(shock, series)
        back = 0 if shock.date is None else len(dates) - 1 - dates.index(shock.date)
        if back >= min(reach, len(past)):
            raise TRNNError(
                f"This network reads the last {min(reach, len(past))} {series.period}s only, from"
                f" {dates[-min(reach, len(past))]}. A shock in {shock.date} would change nothing."
            )
        row = changed[len(past) - 1 - back, series.actors.index(shock.source), series.actors.index(shock.target)]
        chosen = slice(None) if shock.action == ALL else series.actions.index(shock.action)
        now = np.nan_to_num(row[chosen])  # a cell that was not observed starts from nothing
        moved = {
            "+": now + shock.amount,
            "-": now - shock.amount,
            "=": now * 0 + shock.amount,
            "x": now * shock.amount,
        }[shock.how]
        row[chosen] = np.maximum(np.round(moved), 0.0) if series.source.kind == "count" else moved
    return changed


def _name(text: str, names: Sequence[str], what: str) -> str:
    """A name as the series spells it; capitals do not matter."""
    found = [n for n in names if n.casefold() == text.casefold()]
    if not found:
        near = [n for n in names if text.casefold() in n.casefold()][:3] if text else []
        hint = (
            f"did you mean {' or '.join(near)}?"
            if near
            else f"there are {', '.join(names[:4])}{', ...' if len(names) > 4 else ''}"
        )
        raise TRNNError(
            f"The {what} of a shock must be one of the run's {len(names)}. Got {text!r:.80} instead; {hint}"
        )
    return found[0]
