"""Multilinear tensor regression: its own data's coefficients come back, and Hoff's order of models holds in-sample."""

from __future__ import annotations

import numpy as np
import pytest

from tests.shared_data import shared_file
from trnn_core.data.readers.npz import read_npz
from trnn_core.models.baselines.multilinear import Additive, Multilinear, fit_additive, fit_multilinear
from trnn_core.models.panel import Panel
from trnn_core.models.registry import create

N, K, P, LAGS, T = 6, 3, 5, 2, 400


def made_data(noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    truth = Multilinear(
        (
            np.eye(N) + 0.3 * rng.standard_normal((N, N)),
            np.eye(N) + 0.3 * rng.standard_normal((N, N)),
            rng.standard_normal((K, P)),
            rng.standard_normal((1, LAGS)),
        )
    )
    x = rng.standard_normal((T, N, N, P, LAGS))
    clean = truth.predict(x)
    return truth, x, clean + noise * clean.std() * rng.standard_normal(clean.shape)


def whole_map(model: Multilinear) -> np.ndarray:
    """The factors are known up to scales that cancel: their Kronecker product is not."""
    product = np.ones((1, 1))
    for factor in model.factors:
        product = np.kron(product, factor)
    return product


def test_coefficients_of_simulated_data_are_recovered():
    truth, x, y = made_data()
    found = fit_multilinear(x, y, np.ones(y.shape, dtype=bool), n_sweeps=100)
    error = np.linalg.norm(whole_map(found) - whole_map(truth)) / np.linalg.norm(whole_map(truth))
    assert error < 0.03


def test_coefficients_are_recovered_around_missing_responses():
    truth, x, y = made_data()
    seen = np.random.default_rng(1).random(y.shape) > 0.3
    found = fit_multilinear(x, np.where(seen, y, 1e6), seen, n_sweeps=200, tolerance=1e-9)
    error = np.linalg.norm(whole_map(found) - whole_map(truth)) / np.linalg.norm(whole_map(truth))
    assert error < 0.04


def test_additive_coefficients_are_recovered():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((T, N, N, 1, 1))
    truth = Additive((rng.standard_normal((N, N)), rng.standard_normal((N, N))))
    y = truth.predict(x)
    y = y + 0.3 * rng.standard_normal(y.shape)
    found = fit_additive(x, y, np.ones(y.shape, dtype=bool), n_sweeps=100)
    np.testing.assert_allclose(found.predict(x), truth.predict(x), atol=0.25)


def test_no_sweep_raises_the_squared_error():
    _, x, y = made_data(noise=3.0)
    seen = np.random.default_rng(2).random(y.shape) > 0.2
    errors = [
        ((y - fit_multilinear(x, y, seen, n_sweeps=n, tolerance=0).predict(x))[seen] ** 2).sum() for n in range(6)
    ]
    assert (np.diff(errors) <= 1e-9 * errors[0]).all()


SHARED = ("icews0515_weekly_hoff25_quad", "icews2018_19_daily_hoff25_quad", "keds_levant_weekly_16_quad")


@pytest.mark.parametrize("name", [SHARED[0], *(pytest.param(n, marks=pytest.mark.slow) for n in SHARED[1:])])
def test_hoffs_order_of_the_four_models_holds_in_sample(name):
    """With country maps shared by the actions, so that the order is not one of parameter counts: fitted to each action
    by itself, the bilinear model has four times the country maps of the joint one and fits the past better for that."""
    series = read_npz(shared_file(f"{name}.npz"))
    series = series.select(periods=slice(max(0, len(series) - 250), None))
    models = [
        create("mltr_additive", shared=True),
        create("mltr_bilinear", shared=True),
        create("mltr_joint"),
        create("mltr"),
    ]
    r2 = {m.name: in_sample_r2(m.fit(series), series) for m in models}
    assert r2["mltr_additive"] < r2["mltr_bilinear"] < r2["mltr_joint"] < r2["mltr"], r2


def in_sample_r2(model, series) -> float:
    """Share of the variance of the next period's normal scores, off the diagonal, as Hoff reports it."""
    panel = Panel.of(series)
    origins = np.arange(10, len(series) - 1)
    scores = model._scores.of(panel)[origins + 1][:, panel.cells]
    fitted = model.predict_scores(panel, origins)[:, panel.cells]
    return 1 - float(((scores - fitted) ** 2).sum() / (scores**2).sum())
