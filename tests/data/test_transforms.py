"""Transforms: by hand, against scipy, back and forth, stored and read again."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors.numpy import load, save
from scipy.stats import norm, rankdata

from trnn_core.data.transforms import NAMES, Transform, fit_transform
from trnn_core.errors import TRNNError

EVERY = [*NAMES, "log1p+standardise", "log1p+min-max", "log1p+normal scores"]


def one_series(*values: float) -> np.ndarray:
    return np.array(values, dtype=float).reshape(-1, 1, 1, 1)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("none", [0, 0, 1, 3]),
        ("log1p", np.log([1, 1, 2, 4])),
        ("standardise", (np.array([0, 0, 1, 3]) - 1) / np.sqrt(1.5)),
        ("min-max", [0, 0, 1 / 3, 1]),
        # average ranks 1.5 1.5 3 4 of n = 4, over 5, then the mean taken out
        ("normal scores", norm.ppf([0.3, 0.3, 0.6, 0.8]) - norm.ppf([0.3, 0.3, 0.6, 0.8]).mean()),
    ],
)
def test_by_hand(name: str, expected) -> None:
    x = one_series(0, 0, 1, 3)
    np.testing.assert_allclose(fit_transform(name, x).apply(x).ravel(), expected, atol=1e-12)


def test_normal_scores_vs_scipy() -> None:
    x = np.random.default_rng(0).poisson(2.0, size=(100, 3, 3, 2)).astype(float)
    ours = fit_transform("normal scores", x).apply(x)
    z = norm.ppf(rankdata(x, axis=0) / 101)
    np.testing.assert_allclose(ours, z - z.mean(axis=0), atol=1e-12)


counts = st.integers(0, 60).map(float)
series_pair = st.tuples(
    arrays(np.float64, (12, 2, 2, 1), elements=counts),
    arrays(np.float64, (5, 2, 2, 1), elements=st.integers(0, 400).map(float)),
)


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=60)
@given(series_pair)
def test_invert_undoes_apply_also_beyond_the_training_range(name: str, pair) -> None:
    train, later = pair
    transform = fit_transform(name, train)
    for x in (train, later):
        np.testing.assert_allclose(transform.invert(transform.apply(x)), x, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=40)
@given(series_pair)
def test_a_larger_value_never_gets_a_smaller_score(name: str, pair) -> None:
    transform = fit_transform(name, pair[0])
    x = np.arange(0.0, 500.0)[:, None, None, None] * np.ones((1, 2, 2, 1))
    assert (np.diff(transform.apply(x), axis=0) > 0).all()


@pytest.mark.parametrize("name", EVERY)
def test_missing_cells_stay_missing_and_are_not_fitted(name: str) -> None:
    x = np.random.default_rng(1).poisson(3.0, size=(20, 2, 2, 1)).astype(float)
    observed = np.random.default_rng(2).random(x.shape) < 0.7
    wild = np.where(observed, x, 1e6)  # what stands under a missing cell must not matter
    a, b = fit_transform(name, x, observed), fit_transform(name, wild, observed)
    z = np.where(observed, x, np.nan)
    np.testing.assert_array_equal(a.apply(z), b.apply(z))
    assert np.isnan(a.apply(z)).tolist() == (~observed).tolist()
    np.testing.assert_allclose(a.invert(a.apply(z)), z, atol=1e-9)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("value", [0.0, 0.1, 7.0])
def test_a_constant_or_unseen_series_stays_finite_and_invertible(name: str, value: float) -> None:
    x = np.full((9, 2, 2, 1), value)
    x[:, 0, 1] = np.nan
    transform = fit_transform(name, x)
    later = np.full((3, 2, 2, 1), value + 2)
    z = transform.apply(later)
    assert np.isfinite(z).all() and np.abs(z).max() < 20
    np.testing.assert_allclose(transform.invert(z), later, rtol=1e-9)


def test_a_burst_beyond_the_training_range_does_not_explode_normal_scores() -> None:
    x = one_series(*([0] * 480 + [1] * 8))
    assert fit_transform("normal scores", x).apply(one_series(500)).item() < 12


@pytest.mark.parametrize("name", EVERY)
def test_stored_and_read_again_it_is_the_same(name: str) -> None:
    x = np.random.default_rng(3).poisson(2.0, size=(30, 3, 3, 2)).astype(float)
    transform = fit_transform(name, x)
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **transform.to_arrays())  # type: ignore[arg-type]
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        from_npz = Transform.from_arrays(dict(stored))
    from_safetensors = Transform.from_arrays(load(save(transform.to_arrays())))
    for again in (from_npz, from_safetensors):
        assert (again.name, again.shape) == (transform.name, transform.shape)
        np.testing.assert_array_equal(again.apply(x), transform.apply(x))
        np.testing.assert_array_equal(again.invert(x), transform.invert(x))


@pytest.mark.parametrize("name", EVERY)
def test_the_width_of_the_numbers_is_kept_and_leading_modes_are_free(name: str) -> None:
    x = np.random.default_rng(4).poisson(2.0, size=(30, 2, 2, 2)).astype(np.float32)
    transform = fit_transform(name, x)
    assert transform.apply(x).dtype == transform.invert(x).dtype == np.float32
    samples = transform.invert(np.stack([x, x]).astype(np.float64))
    assert samples.shape == (2, 30, 2, 2, 2) and samples.dtype == np.float64
    np.testing.assert_array_equal(samples[0], samples[1])


def test_bad_input_is_told_in_a_sentence() -> None:
    x = one_series(0, 1, 2)
    with pytest.raises(TRNNError, match=r"one of none, log1p, normal scores.*Got 'sqrt'"):
        fit_transform("sqrt", x)
    with pytest.raises(TRNNError, match=r"log1p needs values above -1. Got -3"):
        fit_transform("log1p", one_series(0, -3))
    with pytest.raises(TRNNError, match=r"series of shape \(1, 1, 1\). Got an array of shape \(3, 2, 2, 1\)"):
        fit_transform("none", x).apply(np.zeros((3, 2, 2, 1)))
    with pytest.raises(TRNNError, match="at least one period"):
        fit_transform("none", np.zeros((0, 2, 2, 1)))
    with pytest.raises(TRNNError, match=r"'0.scale'.* missing"):
        Transform.from_arrays(
            {k: v for k, v in fit_transform("standardise", x).to_arrays().items() if "scale" not in k}
        )
    with pytest.raises(TRNNError, match="must hold the arrays 'name' and 'shape'"):
        Transform.from_arrays({})
