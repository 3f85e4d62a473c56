"""RelationalSeries: who did what to whom, period by period, with its labels and where it came from.

Dimension letters: T periods, N sources, M targets, K actions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from trnn_core.errors import TRNNError

Period = Literal["day", "week", "month", "year"]
PERIODS: tuple[Period, ...] = ("day", "week", "month", "year")
QUAD_ACTIONS = ("verbal cooperation", "verbal conflict", "material cooperation", "material conflict")


@dataclass(frozen=True)
class Provenance:
    """Where a series came from and how it was made; plain JSON values only, so that it travels in every file."""

    title: str = "untitled"
    simulated: bool = False
    kind: Literal["count", "value"] = "count"  # counts: an absent dyad is zero; values: an absent dyad is missing
    diagonal: bool = False  # whether a country's acts towards itself were kept
    licence: str = ""
    report: dict[str, Any] = field(default_factory=dict)  # the import report, or the simulation's parameters

    def to_json(self) -> str:
        return json.dumps(self.__dict__, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Provenance:
        try:
            fields = json.loads(text)
            return cls(**fields)
        except (json.JSONDecodeError, TypeError) as e:
            raise TRNNError(
                f"The series' provenance must be a JSON object of known fields. Got {text[:80]!r} instead ({e})."
            ) from e


LARGEST_COUNT = 2**53


@dataclass(frozen=True, eq=False)
class RelationalSeries:
    """A frozen series of relation tensors; labels always travel with the values.

    values    float32 or float64, (T, N, M, K); NaN exactly where `observed` is False (missing is not zero)
    dates     datetime64[D], (T,): the first day of each period, no period left out
    actors    N names; sources and targets are the same actors in the same order
    actions   K names
    observed  bool, (T, N, M, K)
    source    provenance, and whether the series is simulated

    >>> import numpy as np
    >>> dates = np.array(["2004-01-01", "2004-01-08"], dtype="datetime64[D]")
    >>> series = RelationalSeries(np.zeros((2, 2, 2, 1)), dates, ("France", "Japan"), ("verbal conflict",))
    >>> series.period, series.shape, series.next_dates(1)[0].item().isoformat()
    ('week', (2, 2, 2, 1), '2004-01-15')
    """

    values: np.ndarray
    dates: np.ndarray
    actors: tuple[str, ...]
    actions: tuple[str, ...]
    observed: np.ndarray = None  # type: ignore[assignment]  # derived from NaN when not given
    source: Provenance = field(default_factory=Provenance)

    def __post_init__(self) -> None:
        values = np.asarray(self.values)
        if values.dtype != np.float64:
            values = values.astype(np.float32)
        dates = np.asarray(self.dates, dtype="datetime64[D]")
        actors, actions = tuple(map(str, self.actors)), tuple(map(str, self.actions))
        _check_shape(values, dates, actors, actions)
        observed = ~np.isnan(values) if self.observed is None else np.asarray(self.observed, dtype=bool)
        if observed.shape != values.shape:
            raise TRNNError(f"'observed' must have the shape of 'values' {values.shape}. Got {observed.shape} instead.")
        values = np.where(observed, values, np.nan).astype(values.dtype, copy=False)
        if not np.isfinite(values[observed]).all():
            t, i, j, k = np.argwhere(observed & ~np.isfinite(values))[0]
            raise TRNNError(
                f"Observed values must be finite. Got {values[t, i, j, k]} for {actors[i]} to {actors[j]},"
                f" {actions[k]}, {dates[t]}; mark the cell as not observed or correct it."
            )
        if self.source.kind == "count" and values.size and (most := np.nanmax(values, initial=0)) > LARGEST_COUNT:
            t, i, j, k = np.argwhere(values == most)[0]
            raise TRNNError(
                f"A count must be at most {LARGEST_COUNT:,}, beyond which computers no longer count by one. Got"
                f" {most:g} for {actors[i]} to {actors[j]}, {actions[k]}, {dates[t]}; correct it, or load the series"
                " as values."
            )
        for array in (values, dates, observed):
            array.flags.writeable = False
        for name, value in (
            ("values", values),
            ("dates", dates),
            ("actors", actors),
            ("actions", actions),
            ("observed", observed),
        ):
            object.__setattr__(self, name, value)
        if len(dates) > 1:
            _check_steps(dates, self.period)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return self.values.shape  # type: ignore[return-value]

    def __len__(self) -> int:
        return len(self.dates)

    @cached_property
    def period(self) -> Period:
        """The frequency, read off the dates ('week' for a single one)."""
        if len(self.dates) < 2:
            return "week"
        days = int(np.median(np.diff(self.dates).astype(int)))
        if days == 1:
            return "day"
        if days == 7:
            return "week"
        if 28 <= days <= 31:
            return "month"
        if 365 <= days <= 366:
            return "year"
        raise TRNNError(
            f"Dates must step by a day, a week, a month or a year. Got a usual step of {days} days instead; aggregate"
            " the series to one of these."
        )

    def next_dates(self, n: int) -> np.ndarray:
        """The starts of the n periods that follow the last one."""
        return step_dates(self.dates[-1], self.period, n)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the content (values, mask, dates, labels), the key of every cache."""
        digest = hashlib.sha256()
        header = [self.shape, self.values.dtype.str, [str(d) for d in self.dates], self.actors, self.actions]
        digest.update(json.dumps(header).encode())
        digest.update(np.ascontiguousarray(np.nan_to_num(self.values)).tobytes())
        digest.update(np.packbits(self.observed).tobytes())
        return digest.hexdigest()

    def select(
        self, *, actors: Sequence[str] | None = None, actions: Sequence[str] | None = None, periods: slice = slice(None)
    ) -> RelationalSeries:
        """The same series for some actors, actions or periods, in the order given."""
        rows = (
            [_position(a, self.actors, "actor") for a in actors]
            if actors is not None
            else list(range(len(self.actors)))
        )
        cols = (
            [_position(a, self.actions, "action") for a in actions]
            if actions is not None
            else list(range(len(self.actions)))
        )
        cut = np.ix_(range(len(self.dates))[periods], rows, rows, cols)
        return replace(
            self,
            values=self.values[cut],
            observed=self.observed[cut],
            dates=self.dates[periods],
            actors=tuple(self.actors[i] for i in rows),
            actions=tuple(self.actions[k] for k in cols),
        )


def step_dates(last: np.datetime64, period: Period, n: int) -> np.ndarray:
    """The n period starts after `last`."""
    if period in ("day", "week"):
        return last + np.arange(1, n + 1) * np.timedelta64(1 if period == "day" else 7, "D")
    months = 1 if period == "month" else 12
    first = last.astype("datetime64[M]")
    day = (last - first.astype("datetime64[D]")).astype(int)
    return (first + np.arange(1, n + 1) * months).astype("datetime64[D]") + day


def _position(name: str, names: tuple[str, ...], what: str) -> int:
    if name not in names:
        raise TRNNError(
            f"The {what} must be one of the series' {len(names)} ({', '.join(names[:5])}, ...). Got {name!r} instead."
        )
    return names.index(name)


def _check_shape(values: np.ndarray, dates: np.ndarray, actors: tuple[str, ...], actions: tuple[str, ...]) -> None:
    if values.ndim != 4:
        raise TRNNError(
            f"Values must have four modes (time, source, target, action). Got shape {values.shape} instead."
        )
    expected = (len(dates), len(actors), len(actors), len(actions))
    if values.shape != expected:
        raise TRNNError(
            f"Values must have the shape of their labels, {expected} for {len(dates)} dates, {len(actors)} actors and"
            f" {len(actions)} actions. Got {values.shape} instead."
        )
    if 0 in values.shape:
        raise TRNNError(f"A series must have at least one period, actor and action. Got shape {values.shape} instead.")
    for what, names in (("actor", actors), ("action", actions)):
        doubled = next((n for i, n in enumerate(names) if n in names[:i]), None)
        if doubled is not None:
            raise TRNNError(f"Each {what} must appear once. Got {doubled!r} twice; merge or rename it.")
    if np.isnat(dates).any():
        raise TRNNError(f"Every period needs a date. Period {int(np.isnat(dates).argmax()) + 1} has none.")


def _check_steps(dates: np.ndarray, period: Period) -> None:
    expected = (
        np.array([step_dates(d, period, 1)[0] for d in dates[:-1]])
        if period in ("month", "year")
        else dates[:-1] + np.timedelta64(1 if period == "day" else 7, "D")
    )
    wrong = np.flatnonzero(dates[1:] != expected)
    if len(wrong):
        i = wrong[0]
        raise TRNNError(
            f"Periods must follow each other without a gap: after {dates[i]} a {period} later is {expected[i]}. Got"
            f" {dates[i + 1]} instead; add the missing periods as not observed."
        )
