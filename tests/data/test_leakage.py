"""No leakage: whatever is changed in later weeks, nothing that training sees changes, not even the last bit.

The property runs over transforms x designs x windows x splits. A control shows that the check finds a leak where one
is: a transform fitted on all weeks, as in Hoff (2015), is caught.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.data.padding import padded
from trnn_core.data.designs import BASES, build_inputs
from trnn_core.data.transforms import NAMES, fit_transform
from trnn_core.data.windows import Split, batches, chunks, make_windows, split_periods

TRANSFORMS = [*NAMES, "log1p+standardise", "log1p+normal scores"]
SLICES = [f"{base}{time}" for base in BASES for time in ("", "@lag:1", "@mean:4", "@ewma:0.2")] + ["direct@level:0.1"]
N, K = 3, 2


@dataclass(frozen=True)
class Choice:
    """One way to set up a training."""

    transform: str
    slices: tuple[str, ...]
    split: Split
    length: int
    horizon: int
    every_step: bool


def splits(n: st.SearchStrategy[int]) -> st.SearchStrategy[Split]:
    share = st.sampled_from([0.1, 0.2, 1, 3])
    return st.builds(split_periods, n, share, share)


choices = st.builds(
    Choice,
    st.sampled_from(TRANSFORMS),
    st.lists(st.sampled_from(SLICES), min_size=1, max_size=5, unique=True).map(tuple),
    splits(st.integers(20, 40)),
    st.integers(1, 7),
    st.integers(1, 3),
    st.booleans(),
)


def make_counts(seed: int, n: int, missing: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(0.5, 4.0, size=(N, N, K)), size=(n, N, N, K)).astype(float)
    counts[rng.random(counts.shape) < (0.1 if missing else 0.0)] = np.nan
    return counts


def training_view(counts: np.ndarray, choice: Choice, part: str = "train", fit_on: slice | None = None) -> list:
    """Everything a training on `part` is handed: the transform, each batch, each window, each chunk of the series."""
    split = choice.split
    fitted = fit_transform(choice.transform, counts[fit_on or slice(split.train.stop)])
    z = fitted.apply(counts)
    inputs, names = build_inputs(z, choice.slices, counts=counts)
    windows = make_windows(split, part, choice.length, horizon=choice.horizon, every_step=choice.every_step)  # type: ignore[arg-type]
    view: list = [*fitted.to_arrays().values(), np.array(names)]
    for run in batches(windows, 4, seed=0, epoch=1):
        view += [inputs[run.periods], z[run.targets()], counts[run.targets()], run.scored()]
    block = padded([inputs], [z], windows)
    view += [block.inputs, block.targets, block.lengths, block.scored]
    if part == "train":  # a later part is reached from the first week on, and so reads what came before it
        for chunk in chunks(split, "train", 5, horizon=choice.horizon):
            view += [inputs[chunk.inputs], z[chunk.targets], chunk.scored]
    return view


def same(a: list, b: list) -> bool:
    def equal(x: np.ndarray, y: np.ndarray) -> bool:
        return x.shape == y.shape and np.array_equal(x, y, equal_nan=x.dtype.kind == "f")

    return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))


def changed_from(counts: np.ndarray, first: int, seed: int, how: str) -> np.ndarray:
    """The counts with something else from period `first` on: one cell, all cells, or cells gone missing."""
    rng = np.random.default_rng(seed)
    changed = counts.copy()
    if how == "one":
        at = (int(rng.integers(first, len(counts))), *rng.integers((N, N, K)))
        changed[at] = np.nan_to_num(changed[at]) + 1 + rng.integers(1000)
    elif how == "all":
        changed[first:] = rng.integers(0, 10_000, size=changed[first:].shape)
    else:
        changed[first:][rng.random(changed[first:].shape) < 0.5] = np.nan
    return changed


def fits(choice: Choice, part: str = "train") -> bool:
    periods = len(choice.split.train) if part == "train" else choice.split[part].stop  # type: ignore[index]
    return periods >= choice.length + choice.horizon


changes = (choices, st.integers(0, 50), st.sampled_from(["one", "all", "missing"]), st.booleans())


@settings(max_examples=250, deadline=None)
@given(*changes)
def test_nothing_after_the_training_weeks_reaches_training(choice, seed, how, missing) -> None:
    check_training(choice, seed, how, missing)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None)
@given(*changes)
def test_nothing_after_the_training_weeks_reaches_training_ten_thousand_times(choice, seed, how, missing) -> None:
    check_training(choice, seed, how, missing)


def check_training(choice: Choice, seed: int, how: str, missing: bool) -> None:
    assume(fits(choice))
    counts = make_counts(seed, choice.split.n_periods, missing)
    changed = changed_from(counts, choice.split.train.stop, seed + 1, how)
    assert not np.array_equal(counts, changed, equal_nan=True)
    assert same(training_view(counts, choice), training_view(changed, choice))


@settings(max_examples=120, deadline=None)
@given(*changes)
def test_nothing_in_the_test_weeks_reaches_validation(choice, seed, how, missing) -> None:
    """Early stopping and the choice of a model see the validation weeks, never the test weeks."""
    assume(fits(choice, "validation"))
    counts = make_counts(seed, choice.split.n_periods, missing)
    changed = changed_from(counts, choice.split.test.start, seed + 1, how)
    assert same(training_view(counts, choice, "validation"), training_view(changed, choice, "validation"))


@settings(max_examples=60, deadline=None)
@given(choices, st.integers(0, 50))
def test_a_forecast_is_not_told_its_own_answer(choice, seed) -> None:
    """The inputs of a test window do not change when the weeks it must predict do."""
    assume(fits(choice, "test"))
    counts = make_counts(seed, choice.split.n_periods, False)
    windows = make_windows(choice.split, "test", choice.length, horizon=choice.horizon)
    last_read = int(windows.last_touched[0]) - choice.horizon
    changed = changed_from(counts, last_read + 1, seed + 1, "all")
    both = []
    for values in (counts, changed):
        fitted = fit_transform(choice.transform, values[: choice.split.train.stop])
        z = fitted.apply(values)
        both.append(padded([build_inputs(z, choice.slices, counts=values)[0]], [z], windows[:1]))
    if last_read + 1 >= choice.split.train.stop:  # otherwise the answer lies in the training weeks of a long horizon
        np.testing.assert_array_equal(both[0].inputs, both[1].inputs)
        assert not np.array_equal(both[0].targets, both[1].targets)


def test_a_leak_is_found_where_there_is_one() -> None:
    """The control: fitted on all weeks, every transform with parameters lets the test weeks through."""
    counts = make_counts(0, 40, False)
    for transform in ("normal scores", "standardise", "min-max", "log1p+standardise"):
        choice = Choice(transform, ("direct",), split_periods(40, 0.2, 0.2), 5, 1, False)
        changed = changed_from(counts, choice.split.test.start, 1, "all")
        everything = slice(None)
        assert not same(
            training_view(counts, choice, fit_on=everything), training_view(changed, choice, fit_on=everything)
        )


def test_training_does_see_its_own_weeks() -> None:
    """The other control: a change in the last training week is seen."""
    choice = Choice("log1p", ("direct", "reciprocal"), split_periods(40, 0.2, 0.2), 5, 1, False)
    counts = make_counts(0, 40, False)
    changed = counts.copy()
    changed[choice.split.train.stop - 1] += 1
    assert not same(training_view(counts, choice), training_view(changed, choice))
