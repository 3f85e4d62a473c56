"""Windows: chronological parts, no training window touches a later one, batches of consecutive windows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.padding import padded
from trnn_core.data.windows import Split, batches, chunks, make_windows, split_periods
from trnn_core.errors import TRNNError

parts = st.sampled_from(["train", "validation", "test"])


def splits(least: int = 6):
    return st.builds(
        lambda n, v, t: split_periods(n, v, t),
        st.integers(least, 80),
        st.one_of(st.floats(0, 0.3), st.integers(0, 2)),
        st.one_of(st.floats(0, 0.3), st.integers(0, 2)),
    )


def windows_or_none(split, part, length, **options):
    try:
        return make_windows(split, part, length, **options)
    except TRNNError:
        return None


def test_the_papers_548_weeks_split_by_hand() -> None:
    split = split_periods(548, 0.1, 0.1)
    assert (split.train, split.validation, split.test) == (range(438), range(438, 493), range(493, 548))
    assert split_periods(543, 0, 55).train == range(488)  # the paper's 488 / 55


@given(splits())
def test_parts_follow_each_other_and_leave_nothing_out(split: Split) -> None:
    assert [*split.train, *split.validation, *split.test] == list(range(split.n_periods))


@given(splits(), st.integers(1, 12), st.integers(1, 4), st.booleans())
def test_no_training_window_touches_a_later_part(split: Split, length: int, horizon: int, every_step: bool) -> None:
    windows = windows_or_none(split, "train", length, horizon=horizon, every_step=every_step)
    if windows is None:
        assert len(split.train) < length + horizon  # refused only when not a single window fits
        return
    assert windows.last_touched.max() < split.train.stop and windows.first.min() == 0
    for run in batches(windows, 5, seed=1):
        assert run.periods.stop <= split.train.stop and run.targets().max() < split.train.stop and run.scored().all()


@given(splits(), st.sampled_from(["validation", "test"]), st.integers(1, 12), st.integers(1, 4))
def test_each_later_period_is_predicted_by_exactly_one_last_step(split, part, length, horizon) -> None:
    windows = windows_or_none(split, part, length, horizon=horizon)
    reachable = [t for t in split[part] if t >= length - 1 + horizon]
    assert ([] if windows is None else windows.last_touched.tolist()) == reachable


@given(splits(), parts, st.integers(1, 10), st.integers(1, 30), st.booleans(), st.integers(0, 3))
def test_batches_hold_every_window_once(split, part, length, size, every_step, epoch) -> None:
    windows = windows_or_none(split, part, length, every_step=every_step)
    if windows is None:
        return
    for options in ({}, {"seed": 5, "epoch": epoch}, {"seed": 5, "epoch": epoch, "offset": False}):
        runs = batches(windows, size, **options)
        assert sorted(f for r in runs for f in range(r.first, r.first + r.count)) == windows.first.tolist()
        assert all(1 <= r.count <= size for r in runs)


def test_batches_depend_on_seed_and_epoch_only() -> None:
    windows = make_windows(split_periods(300), "train", 7)

    def order(**options):
        return [(r.first, r.count) for r in batches(windows, 32, **options)]

    assert order(seed=1, epoch=4) == order(seed=1, epoch=4)
    assert len({tuple(order(seed=s, epoch=e)) for s in (1, 2) for e in (0, 1)}) == 4
    assert order() == sorted(order())
    assert {first % 32 for first, _ in order(seed=1, offset=False)} == {0}


@pytest.mark.parametrize("every_step", [False, True])
@pytest.mark.parametrize("part", ["train", "test"])
def test_a_run_of_windows_is_the_same_as_its_windows_one_by_one(part, every_step: bool) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    windows = make_windows(split_periods(40, 6, 6), part, 5, every_step=every_step, horizon=2)
    block = padded([x], [y], windows)
    for run in batches(windows, 4, seed=3):
        weeks = x[run.periods]
        at = [int(np.flatnonzero(windows.first == run.first + w)[0]) for w in range(run.count)]
        np.testing.assert_array_equal(np.stack([weeks[w : w + 5] for w in range(run.count)]), block.inputs[at])
        np.testing.assert_array_equal(y[run.targets()], block.targets[at])
        np.testing.assert_array_equal(run.scored(), block.scored[at])


def test_many_to_many_scores_only_its_own_part() -> None:
    windows = make_windows(split_periods(20, 3, 3), "test", 4, every_step=True)
    block = padded([np.arange(20.0)[:, None]], [np.arange(20.0)[:, None]], windows)
    assert windows.first.tolist() == [13, 14, 15]
    assert block.targets[0, :, 0].tolist() == [14, 15, 16, 17]
    assert block.scored[0].tolist() == [False, False, False, True]
    assert block.scored[2].tolist() == [False, True, True, True]


@given(splits(8), parts, st.integers(1, 9), st.integers(1, 3))
def test_chunks_carry_one_series_through_in_order(split, part, length, horizon) -> None:
    try:
        pieces = list(chunks(split, part, length, horizon=horizon))
    except TRNNError:
        assert len(split[part]) == 0 or split[part].stop <= horizon
        return
    read = [t for c in pieces for t in range(c.inputs.start, c.inputs.stop)]
    assert read == list(range(split[part].stop - horizon))
    assert [c.fresh for c in pieces] == [True] + [False] * (len(pieces) - 1)
    assert all(c.targets.start - c.inputs.start == horizon for c in pieces)
    scored = [t for c in pieces for t in np.arange(c.targets.start, c.targets.stop)[c.scored]]
    assert scored == [t for t in split[part] if t >= horizon]


def test_a_panel_of_different_lengths_equals_its_series_alone() -> None:
    rng = np.random.default_rng(1)
    series = [rng.normal(size=(n, 2)) for n in (9, 14, 6)]
    split = [split_periods(len(s), 2, 2) for s in series]
    for every_step in (False, True):
        together = padded(series, series, make_windows(split, "train", None, every_step=every_step))
        assert together.lengths.tolist() == [4, 9, 1]
        for j, s in enumerate(series):
            alone = padded([s], [s], make_windows(split[j], "train", None, every_step=every_step))
            n = int(alone.lengths[0])
            np.testing.assert_array_equal(together.inputs[j, :n], alone.inputs[0])
            assert (together.inputs[j, n:] == 0).all()
            np.testing.assert_array_equal(
                together.targets[j, :n] if every_step else together.targets[j], alone.targets[0]
            )
            if every_step:
                assert together.scored[j].tolist() == [t < n for t in range(9)]


def test_windows_of_a_panel_never_run_from_one_series_into_the_next() -> None:
    split = [split_periods(n, 2, 2) for n in (12, 20, 9)]
    windows = make_windows(split, "train", 3)
    for run in batches(windows, 50, seed=0):
        assert run.periods.stop < split[run.series].train.stop + 1
        assert run.targets().max() < split[run.series].train.stop
    assert {r.series for r in batches(windows, 50)} == {0, 1, 2}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: split_periods(5, 0.5, 0.4), "At least 2 periods must be left for training. Got 5 periods"),
        (lambda: split_periods(50, -0.1), r"validation part must be a share .* Got -0.1"),
        (lambda: split_periods(50, 0.1, 1.5), r"test part must be a share .* Got 1.5"),
        (lambda: make_windows(split_periods(20), "train", 17), "at least one window of 17 periods"),
        (lambda: make_windows(split_periods(20), "train", 0), "at least one period. Got a length of 0"),
        (lambda: make_windows(split_periods(20), "train", 2, horizon=0), "one period ahead. Got 0"),
        (lambda: make_windows(split_periods(20), "future", 2), "'train', 'validation' or 'test'. Got 'future'"),  # type: ignore[arg-type]
        (lambda: make_windows(split_periods(20, 0, 0), "test", 2), "test part must hold at least one window"),
        (lambda: batches(make_windows(split_periods(20), "train", 2), 0), "at least one window. Got a size of 0"),
        (lambda: list(chunks(split_periods(20, 0, 0), "test", 3)), "test part must hold a target"),
        (lambda: padded([], [], make_windows(split_periods(20), "train", 2)), "one array for each of 1 series. Got 0"),
    ],
)
def test_bad_wishes_are_told_in_a_sentence(call, message: str) -> None:
    with pytest.raises(TRNNError, match=message):
        call()
