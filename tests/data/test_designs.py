"""Explanatory tensors: the slices by hand and against plain loops, and nothing from the future in any row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trnn_core.data.designs import BASES, TIMES, build_inputs, parse_slice, warm_up
from trnn_core.errors import TRNNError

T, N, K = 12, 4, 2
HOFF = ("direct", "reciprocal", "transitive")
HOFF_LAGGED = (*HOFF, *(f"{base}@mean:4" for base in HOFF))  # his final model: last week and the last four weeks
EVERY = [f"{base}{time}" for base in BASES for time in ("", "@lag:2", "@mean:3", "@ewma:0.3")]


@pytest.fixture
def z() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(T, N, N, K))


def only(z: np.ndarray, text: str, **options) -> np.ndarray:
    return build_inputs(z, (text,), **options)[0]


def test_hoffs_three_slices_by_loops(z: np.ndarray) -> None:
    x, names = build_inputs(z, HOFF, actions=("words", "deeds"), diagonal=True)
    assert x.shape == (T, N, N, 3 * K)
    for t in (0, 5):
        for i in range(N):
            for j in range(N):
                for k in range(K):
                    y = z[t, :, :, k]
                    through = sum((y[i, m] + y[m, i]) * (y[j, m] + y[m, j]) for m in range(N))
                    assert x[t, i, j, k] == y[i, j] and x[t, i, j, K + k] == y[j, i]
                    assert x[t, i, j, 2 * K + k] == pytest.approx(through)
    assert names[0] == "words (direct)" and names[3] == "deeds (reciprocal)" and names[4] == "words (transitive)"


def test_hoffs_final_design_has_each_slice_twice(z: np.ndarray) -> None:
    x, names = build_inputs(z, HOFF_LAGGED)
    assert x.shape[-1] == 6 * K and len(set(names)) == 6 * K
    four = build_inputs(z, ("transitive",))[0][2:6].mean(axis=0)
    np.testing.assert_allclose(x[5, ..., 5 * K :], four)


def test_activity_is_the_mean_over_partners_without_the_diagonal(z: np.ndarray) -> None:
    t, i, j, k = 3, 1, 2, 0
    y = z[t, :, :, k]
    others = [m for m in range(N) if m != i]
    assert only(z, "sender")[t, i, j, k] == pytest.approx(np.mean([y[i, m] for m in others]))
    assert only(z, "sender_received")[t, i, j, k] == pytest.approx(np.mean([y[m, i] for m in others]))
    others = [m for m in range(N) if m != j]
    assert only(z, "receiver")[t, i, j, k] == pytest.approx(np.mean([y[m, j] for m in others]))
    assert only(z, "receiver_sent")[t, i, j, k] == pytest.approx(np.mean([y[j, m] for m in others]))
    off = ~np.eye(N, dtype=bool)
    assert only(z, "world")[t, i, j, k] == pytest.approx(y[off].mean())
    assert only(z, "world", diagonal=True)[t, i, j, k] == pytest.approx(y.mean())


def test_a_dropped_diagonal_counts_for_nothing(z: np.ndarray) -> None:
    changed = z.copy()
    changed[:, range(N), range(N)] = 1e6
    for base in ("transitive", "transitive_root", "sender", "receiver", "world"):
        np.testing.assert_array_equal(only(z, base), only(changed, base))
        assert not np.allclose(only(z, base, diagonal=True), only(changed, base, diagonal=True))


def test_time_by_loops(z: np.ndarray) -> None:
    lag, mean, ewma = only(z, "lag:2"), only(z, "mean:3"), only(z, "direct@ewma:0.3")
    level = z[0]
    for t in range(T):
        past = [z[max(t - lag_, 0)] for lag_ in range(3)]  # before the beginning the first period is repeated
        level = level if t == 0 else 0.7 * level + 0.3 * z[t]
        np.testing.assert_allclose(lag[t], past[2])
        np.testing.assert_allclose(mean[t], np.mean(past, axis=0))
        np.testing.assert_allclose(ewma[t], level)


def test_level_is_the_log_of_smoothed_counts(z: np.ndarray) -> None:
    counts = np.random.default_rng(1).poisson(2.0, size=z.shape).astype(float)
    smooth = only(counts, "direct@ewma:0.2")
    np.testing.assert_allclose(only(z, "direct@level:0.2", counts=counts), np.log1p(smooth))


def test_transitive_root_has_the_scale_of_the_data(z: np.ndarray) -> None:
    root = only(np.full((2, 30, 30, 1), 0.5), "transitive_root")
    assert root[0, 0, 1, 0] == pytest.approx(0.5, rel=0.05)
    np.testing.assert_allclose(np.sign(only(z, "transitive_root")), np.sign(only(z, "transitive")))


def test_warm_up_is_the_longest_reach() -> None:
    assert warm_up(("direct", "lag:3", "reciprocal@mean:4")) == 3
    assert warm_up(("direct", "direct@ewma:0.1")) == 0


@settings(max_examples=60)
@given(st.lists(st.sampled_from(EVERY), min_size=1, max_size=6, unique=True), st.integers(1, T - 3), st.booleans())
def test_a_row_knows_nothing_of_later_periods(slices, t: int, missing: bool) -> None:
    rng = np.random.default_rng(2)
    z = rng.normal(size=(T, N, N, K))
    if missing:
        z[rng.random(z.shape) < 0.2] = np.nan
    changed = z.copy()
    changed[t:] = np.where(rng.random(changed[t:].shape) < 0.3, np.nan, 1e3 * rng.normal(size=changed[t:].shape))
    before, after = build_inputs(z, slices)[0], build_inputs(changed, slices)[0]
    np.testing.assert_array_equal(before[:t], after[:t])
    assert not np.array_equal(before[t:], after[t:])


def test_missing_cells_take_the_last_observed_value_and_are_marked() -> None:
    z = np.array([np.nan, 2.0, np.nan, 5.0]).reshape(4, 1, 1, 1)
    x, names = build_inputs(z, ("direct", "observed"), actions=("words",))
    assert x[:, 0, 0, 0].tolist() == [0, 2, 2, 5] and x[:, 0, 0, 1].tolist() == [0, 1, 0, 1]
    assert names == ("words (direct)", "words (observed)")
    assert np.isnan(z[0, 0, 0, 0])  # the input is left as it was


@settings(max_examples=40)
@given(st.lists(st.sampled_from(EVERY), min_size=1, max_size=8, unique=True))
def test_any_combination_has_its_names_and_stays_narrow(slices) -> None:
    z = np.random.default_rng(3).normal(size=(5, 3, 3, K)).astype(np.float32)
    x, names = build_inputs(z, slices)
    assert x.dtype == np.float32 and x.shape[-1] == len(names) == len(set(names)) == K * len(slices)
    for s, text in enumerate(slices):
        np.testing.assert_array_equal(x[..., s * K : (s + 1) * K], only(z, text))


@pytest.mark.parametrize(
    "text",
    ["", "indirect", "direct@lag", "direct@lag:0", "lag:1.5", "mean:-2", "ewma:0", "ewma:1.2", "lag:x", "@lag:1"],
)
def test_a_slice_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(TRNNError, match="An input slice must be one of direct, reciprocal"):
        parse_slice(text)


def test_bad_input_is_told_in_a_sentence(z: np.ndarray) -> None:
    with pytest.raises(TRNNError, match=r"equal sources and targets. Got shape \(12, 4, 3, 2\)"):
        build_inputs(z[:, :, :3])
    with pytest.raises(TRNNError, match="none twice"):
        build_inputs(z, ("direct", "lag:1", "direct@lag:1"))
    with pytest.raises(TRNNError, match="at least one slice"):
        build_inputs(z, ())
    with pytest.raises(TRNNError, match="need the untransformed counts"):
        build_inputs(z, ("direct@level:0.1",))
    with pytest.raises(TRNNError, match=r"one label for each of 2 actions. Got 1"):
        build_inputs(z, actions=("words",))
    assert set(TIMES) == {"now", "lag", "mean", "ewma", "level"}
