"""Events summed into cells (period, source, target, action), batch by batch, in memory that grows only with what is
distinct."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from trnn_core.data.periods import period_index
from trnn_core.data.readers.hashing import SeenKeys
from trnn_core.data.series import Period
from trnn_core.errors import TRNNError

_PERIOD_BITS, _ACTOR_BITS, _ACTION_BITS = 22, 16, 10
_PERIOD_ZERO = 1 << (_PERIOD_BITS - 1)
_PENDING = 1 << 21  # rows held back before they are sorted into the cells


@dataclass(frozen=True)
class Example:
    """Where something was met first."""

    file: str
    line: int
    text: str


@dataclass(frozen=True)
class Dropped:
    """Rows of one block left out for one reason."""

    reason: str
    n: int
    example: Example


@dataclass(frozen=True)
class EventBatch:
    """The usable events of one block (E of them), labels given once."""

    file: str
    lines: np.ndarray  # (E,) line each event stands in; several events of one line follow each other
    days: np.ndarray  # (E,) days since 1970-01-01
    source: np.ndarray  # (E,) positions in `actors`
    target: np.ndarray
    action: np.ndarray  # (E,) positions in `actions`
    actors: Sequence[str]
    actions: Sequence[str]
    n_rows: int  # rows of the block, usable or not
    key: np.ndarray | None = None  # (E,) uint64 identity
    value: np.ndarray | None = None  # (E,) what is summed
    dropped: Sequence[Dropped] = ()
    dated: Mapping[int, tuple[int, int]] = field(default_factory=dict)  # day -> rows with that date, line of the first
    notes: Sequence[str] = ()

    def after(self, n_lines: int) -> EventBatch:
        """The same batch, n lines further down its file."""
        return replace(
            self,
            lines=self.lines + n_lines,
            dropped=[replace(d, example=replace(d.example, line=d.example.line + n_lines)) for d in self.dropped],
            dated={day: (n, line + n_lines) for day, (n, line) in self.dated.items()},
        )


@dataclass
class Labels:
    """Text to number in order of appearance, with the place of the first appearance."""

    what: str
    limit: int
    numbers: dict[str, int] = field(default_factory=dict)
    first: list[Example] = field(default_factory=list)

    def number(self, label: str, example: Example) -> int:
        known = self.numbers.get(label)
        if known is not None:
            return known
        if len(self.numbers) >= self.limit:
            raise TRNNError(
                f"{example.file}, line {example.line}: there may be at most {self.limit:,} different {self.what}s."
                f" {label[:60]!r} is one more; is it the right column?"
            )
        self.numbers[label] = len(self.numbers)
        self.first.append(example)
        return len(self.numbers) - 1

    @property
    def names(self) -> list[str]:
        return list(self.numbers)


@dataclass(frozen=True)
class Cells:
    """What was counted: one entry per (period, source, target, action) that occurred."""

    period: np.ndarray  # period index
    source: np.ndarray
    target: np.ndarray
    action: np.ndarray
    n: np.ndarray  # events
    total: np.ndarray | None  # sum of values


class Aggregator:
    """Takes batches in file order; the first of several equal events counts."""

    def __init__(self, period: Period, week_start: str) -> None:
        self.period, self.week_start = period, week_start
        self.actors = Labels("actor", (1 << _ACTOR_BITS) - 1)
        self.actions = Labels("action", (1 << _ACTION_BITS) - 1)
        self.dropped: dict[str, tuple[int, Example]] = {}
        self.notes: dict[str, None] = {}
        self.rows_read = self.events = self.duplicates = self.extra_dyads = 0
        self.first_duplicate: Example | None = None
        self.first_domestic: Example | None = None
        self.rows_by_day: dict[int, int] = {}
        self.first_of_day: dict[int, Example] = {}
        self._seen = SeenKeys()
        self._pending: list[np.ndarray] = []
        self._pending_values: list[np.ndarray] = []
        self._n_pending = 0
        self._codes = np.empty(0, np.uint64)
        self._counts = np.empty(0, np.int64)
        self._totals: np.ndarray | None = None

    def add(self, batch: EventBatch) -> None:
        self.rows_read += batch.n_rows
        for note in batch.notes:
            self.notes.setdefault(note)
        for d in batch.dropped:
            n, example = self.dropped.get(d.reason, (0, d.example))
            self.dropped[d.reason] = (n + d.n, example)
        for day, (n, line) in batch.dated.items():
            self.rows_by_day[day] = self.rows_by_day.get(day, 0) + n
            self.first_of_day.setdefault(day, Example(batch.file, line, str(np.datetime64(day, "D"))))
        if not len(batch.days):
            return
        same_line = np.count_nonzero(batch.lines[1:] == batch.lines[:-1])
        self.extra_dyads += int(same_line)
        code = self._code(batch)
        value = batch.value
        if batch.key is not None:
            new = self._seen.add(batch.key)
            repeated = len(new) - int(np.count_nonzero(new))
            if repeated:
                if self.first_duplicate is None:
                    row = int(np.flatnonzero(~new)[0])
                    self.first_duplicate = Example(batch.file, int(batch.lines[row]), _dyad(batch, row))
                self.duplicates += repeated
                code = code[new]
                value = value[new] if value is not None else None
        self.events += len(code)
        self._pending.append(code)
        if value is not None:
            self._pending_values.append(value)
        self._n_pending += len(code)
        if self._n_pending > max(_PENDING, len(self._codes) // 2):
            self._compact()

    def finish(self) -> Cells:
        self._compact()
        code = self._codes.copy()
        action = (code & np.uint64((1 << _ACTION_BITS) - 1)).astype(np.int64)
        code >>= np.uint64(_ACTION_BITS)
        actor_mask = np.uint64((1 << _ACTOR_BITS) - 1)
        target = (code & actor_mask).astype(np.int64)
        code >>= np.uint64(_ACTOR_BITS)
        source = (code & actor_mask).astype(np.int64)
        period = (code >> np.uint64(_ACTOR_BITS)).astype(np.int64) - _PERIOD_ZERO
        return Cells(period, source, target, action, self._counts, self._totals)

    def _code(self, batch: EventBatch) -> np.ndarray:
        actor = self._actor_numbers(batch)
        action = np.array(
            [self.actions.number(a, Example(batch.file, int(batch.lines[0]), a)) for a in batch.actions], np.uint64
        )
        source, target = actor[batch.source], actor[batch.target]
        if self.first_domestic is None:
            own = np.flatnonzero(source == target)
            if len(own):
                self.first_domestic = Example(batch.file, int(batch.lines[own[0]]), _dyad(batch, int(own[0])))
        period = period_index(batch.days, self.period, self.week_start) + _PERIOD_ZERO
        code = (period.astype(np.uint64) << np.uint64(_ACTOR_BITS)) | source
        code = (code << np.uint64(_ACTOR_BITS)) | target
        return (code << np.uint64(_ACTION_BITS)) | action[batch.action]

    def _actor_numbers(self, batch: EventBatch) -> np.ndarray:
        """Number of each of the batch's actors; new ones are numbered in order of appearance."""
        first = np.minimum(first_places(batch.source, len(batch.actors)), first_places(batch.target, len(batch.actors)))
        for i in np.argsort(first, kind="stable"):
            if first[i] == len(batch.source):
                break  # names without a usable event
            name = batch.actors[i]
            if name not in self.actors.numbers:
                self.actors.number(name, Example(batch.file, int(batch.lines[first[i]]), name))
        return np.array([self.actors.numbers.get(name, 0) for name in batch.actors], np.uint64)

    def _compact(self) -> None:
        if not self._n_pending:
            return
        code = np.concatenate(self._pending)
        values = np.concatenate(self._pending_values) if self._pending_values else None
        self._pending, self._pending_values, self._n_pending = [], [], 0
        totals = None
        if values is None:
            code.sort()
        else:
            order = np.argsort(code, kind="stable")
            code, values = code[order], values[order]
        starts = np.flatnonzero(np.concatenate(([True], code[1:] != code[:-1])))
        counts = np.diff(np.append(starts, len(code)))
        if values is not None:
            totals = np.add.reduceat(values, starts)
        self._merge(code[starts], counts, totals)

    def _merge(self, code: np.ndarray, counts: np.ndarray, totals: np.ndarray | None) -> None:
        at = np.searchsorted(self._codes, code)
        known = np.zeros(len(code), bool)
        inside = at < len(self._codes)
        known[inside] = self._codes[at[inside]] == code[inside]
        self._counts[at[known]] += counts[known]
        if totals is not None:
            if self._totals is None:
                self._totals = np.empty(0, np.float64)
            self._totals[at[known]] += totals[known]
            self._totals = np.insert(self._totals, at[~known], totals[~known])
        self._codes = np.insert(self._codes, at[~known], code[~known])
        self._counts = np.insert(self._counts, at[~known], counts[~known])


def first_places(at: np.ndarray, n: int) -> np.ndarray:
    """Where each of the numbers 0 .. n - 1 stands first in `at`; len(at) for those that do not occur.

    >>> first_places(np.array([2, 0, 2]), 3).tolist()
    [1, 3, 0]
    """
    first = np.full(n, len(at))
    first[at[::-1]] = np.arange(len(at))[::-1]
    return first


def _dyad(batch: EventBatch, row: int) -> str:
    source, target = batch.actors[batch.source[row]], batch.actors[batch.target[row]]
    return f"{source} to {target}, {batch.actions[batch.action[row]]}"
