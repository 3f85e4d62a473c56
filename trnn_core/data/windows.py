"""Windows over time: which periods a network reads, which it must predict, and which part they belong to.

A window reads the `length` periods first .. first+length-1 and predicts

    last step   (many-to-one, eq. 15 and 17)    the period first+length-1+horizon
    every step  (many-to-many, eq. 16 and 18)   first+horizon .. first+length-1+horizon

A training window, inputs and targets alike, lies inside the training part. A validation or test window may read
earlier parts (that is the past at the moment of forecasting) and is scored on targets in its own part only.

Dimension letters: W windows, L steps in a window, T periods of a series.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from trnn_core.errors import TRNNError

Part = Literal["train", "validation", "test"]


@dataclass(frozen=True)
class Split:
    """A chronological cut of the periods 0 .. n-1 into three ranges, train before validation before test.

    >>> split_periods(548)
    Split(train=range(0, 438), validation=range(438, 493), test=range(493, 548))
    """

    train: range
    validation: range
    test: range

    def __getitem__(self, part: Part) -> range:
        if part not in ("train", "validation", "test"):
            raise TRNNError(f"A part must be 'train', 'validation' or 'test'. Got {part!r} instead.")
        return getattr(self, part)

    @property
    def n_periods(self) -> int:
        return self.test.stop


def split_periods(n: int, validation: float = 0.1, test: float = 0.1) -> Split:
    """Cut n periods in order of time; each share is a fraction below 1 or a whole number of periods."""
    n_validation, n_test = _count(n, validation, "validation"), _count(n, test, "test")
    n_train = n - n_validation - n_test
    if n_train < 2:
        raise TRNNError(
            f"At least 2 periods must be left for training. Got {n} periods of which {n_validation} are for validation "
            f"and {n_test} for testing; ask for smaller parts or import a longer series."
        )
    return Split(range(n_train), range(n_train, n - n_test), range(n - n_test, n))


@dataclass(frozen=True)
class Windows:
    """Windows of one or several series (a panel), each with its own start and length.

    series, first, length   int (W,): which series, first period read, number of periods read
    horizon                 periods from the last one read to the last one predicted
    every_step              a target for each step, or only after the last
    parts                   per series, the periods whose targets count
    """

    series: np.ndarray
    first: np.ndarray
    length: np.ndarray
    horizon: int
    every_step: bool
    parts: tuple[range, ...]

    def __len__(self) -> int:
        return len(self.first)

    @property
    def last_touched(self) -> np.ndarray:
        """The latest period, read or predicted, of each window."""
        return self.first + self.length - 1 + self.horizon

    def __getitem__(self, which: slice | np.ndarray) -> Windows:
        return Windows(
            self.series[which], self.first[which], self.length[which], self.horizon, self.every_step, self.parts
        )


def make_windows(
    splits: Split | Sequence[Split],
    part: Part,
    length: int | None,
    *,
    every_step: bool = False,
    horizon: int = 1,
) -> Windows:
    """All stride-1 windows of a part; `length=None` takes each series of a panel whole, as one window (eq. 17, 18).

    >>> w = make_windows(split_periods(20, 4, 4), "train", 7)
    >>> w.first.tolist(), w.last_touched.tolist()
    ([0, 1, 2, 3, 4], [7, 8, 9, 10, 11])
    >>> make_windows(split_periods(20, 4, 4), "test", 7).last_touched.tolist()
    [16, 17, 18, 19]
    """
    splits = [splits] if isinstance(splits, Split) else list(splits)
    _check_window(length, horizon)
    found: list[tuple[int, int, int]] = []
    for s, split in enumerate(splits):
        ends = split[part]  # the last target of a window lies here
        if length is None:
            n_read = ends.stop - horizon
            found += [(s, 0, n_read)] if len(ends) and n_read >= 1 else []
            continue
        earliest = max(ends.start, length - 1 + horizon)
        found += [(s, end - horizon - length + 1, length) for end in range(earliest, ends.stop)]
    if not found:
        sizes = ", ".join(str(len(split[part])) for split in splits[:5])
        raise TRNNError(
            f"The {part} part must hold at least one window of {length or 1} periods and a target {horizon} later. "
            f"Got {sizes} periods in that part of {splits[0].n_periods}; take a shorter window or a larger part."
        )
    series, first, lengths = np.array(found, dtype=np.int64).T
    return Windows(series, first, lengths, horizon, every_step, tuple(split[part] for split in splits))


@dataclass(frozen=True)
class Run:
    """A batch: `count` consecutive stride-1 windows of one series, so that they share the products of their inputs."""

    series: int
    first: int
    count: int
    length: int
    horizon: int
    every_step: bool
    part: range

    @property
    def periods(self) -> slice:
        """The distinct periods that the windows of this run read."""
        return slice(self.first, self.first + self.count + self.length - 1)

    def targets(self) -> np.ndarray:
        """Target periods, (count,) for the last step or (count, length) for every step."""
        starts = self.first + np.arange(self.count)
        if not self.every_step:
            return starts + self.length - 1 + self.horizon
        return starts[:, None] + np.arange(self.length) + self.horizon

    def scored(self) -> np.ndarray:
        """Which targets count: those in the windows' own part."""
        periods = self.targets()
        return (periods >= self.part.start) & (periods < self.part.stop)


def batches(windows: Windows, size: int, *, seed: int | None = None, epoch: int = 0, offset: bool = True) -> list[Run]:
    """Cut equal-length windows into runs of at most `size` consecutive ones.

    Without a seed the runs come in order of time. With one they are shuffled, and (unless `offset` is False) the cuts
    are shifted by a random amount, so that a window does not always meet the same neighbours. The result depends on
    (seed, epoch) only: a resumed training sees the batches it would have seen.
    """
    if size < 1:
        raise TRNNError(f"A batch must hold at least one window. Got a size of {size} instead.")
    if len(np.unique(windows.length)) > 1:
        raise TRNNError("Batches of consecutive windows need windows of one length; use `padded` for a panel.")
    rng = None if seed is None else np.random.default_rng([seed, epoch])
    runs: list[Run] = []
    breaks = np.flatnonzero((np.diff(windows.series) != 0) | (np.diff(windows.first) != 1)) + 1
    for stretch in np.split(np.arange(len(windows)), breaks):
        shift = int(rng.integers(size)) if rng is not None and offset and len(stretch) > size else 0
        cuts = [0, *range(shift or size, len(stretch), size), len(stretch)]
        for a, b in pairwise(cuts):
            at = stretch[a]
            s = int(windows.series[at])
            runs.append(
                Run(
                    s,
                    int(windows.first[at]),
                    b - a,
                    int(windows.length[at]),
                    windows.horizon,
                    windows.every_step,
                    windows.parts[s],
                )
            )
    if rng is not None:
        runs = [runs[i] for i in rng.permutation(len(runs))]
    return runs


@dataclass(frozen=True)
class Chunk:
    """A stretch of a single series read in one go: its inputs, the targets one horizon later, which of them count."""

    inputs: slice
    targets: slice
    scored: np.ndarray
    fresh: bool  # the state starts anew here; otherwise it is handed over from the chunk before


def chunks(split: Split, part: Part, length: int, *, horizon: int = 1) -> Iterator[Chunk]:
    """A single long series in order (eq. 14): consecutive chunks, the state carried through, gradients cut between.

    Validation and test are reached from the first period on, so that their first step has all of the past behind it.

    >>> [(c.inputs.start, c.inputs.stop, c.fresh) for c in chunks(split_periods(20, 4, 4), "train", 5)]
    [(0, 5, True), (5, 10, False), (10, 11, False)]
    """
    _check_window(length, horizon)
    within = split[part]
    last = within.stop - horizon
    if last < 1 or not len(within):
        raise TRNNError(
            f"The {part} part must hold a target {horizon} periods after an input. Got {len(within)} periods of "
            f"{split.n_periods} in it; take a larger part."
        )
    for a in range(0, last, length):
        b = min(a + length, last)
        ahead = np.arange(a, b) + horizon
        yield Chunk(slice(a, b), slice(a + horizon, b + horizon), ahead >= within.start, fresh=a == 0)


def _count(n: int, share: float, what: str) -> int:
    if isinstance(share, (int, np.integer)) and not isinstance(share, bool):
        count = int(share)
    elif 0 <= share < 1:
        count = max(round(n * share), 1) if share > 0 else 0
    else:
        count = -1
    if count < 0:
        raise TRNNError(
            f"The {what} part must be a share from 0 to below 1 or a number of periods. Got {share} instead."
        )
    return count


def _check_window(length: int | None, horizon: int) -> None:
    if length is not None and length < 1:
        raise TRNNError(f"A window must read at least one period. Got a length of {length} instead.")
    if horizon < 1:
        raise TRNNError(f"The horizon must be at least one period ahead. Got {horizon} instead.")
