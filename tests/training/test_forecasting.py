"""What a training leaves behind: a forecast with honest intervals, and a summary that states its scale."""

from __future__ import annotations

import numpy as np
import pytest

from tests.training.small import SMALL
from trnn_core.data.readers.npz import write_npz
from trnn_core.data.simulation import simulate
from trnn_core.errors import TRNNError
from trnn_core.models.hindcast import Hindcast
from trnn_core.runs import forecasting
from trnn_core.runs.demo import ensure_demo, ship_demo
from trnn_core.runs.execute import train_run
from trnn_core.runs.forecasting import look_back
from trnn_core.runs.restore import extend_forecast, load_forecaster, load_network
from trnn_core.runs.store import RunStore
from trnn_core.training.checkpoints import arrays_to_bytes
from trnn_core.training.config import Recipe
from trnn_core.training.networks import network_arrays
from trnn_core.training.predictor import Predictor
from trnn_core.training.trainer import fit


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    store = RunStore(tmp_path_factory.mktemp("forecast"))
    series = simulate(seed=2, n_actors=8, n_periods=160)
    recipe = Recipe(model={"cell": "gru", "hidden_shape": (8, 8, 4), "init": "identity"}, train={"epochs": 8})
    run = store.create(recipe, series, run_id="done")
    train_run(store, run)
    return store, run, series


def test_the_forecast_has_its_agreed_form(done):
    _, run, series = done
    f = run.forecast()
    assert (f.dates == series.next_dates(8)).all()
    assert tuple(f.actors) == series.actors and tuple(f.actions) == series.actions
    assert f.last_date == series.dates[-1]
    np.testing.assert_array_equal(f.last_values, series.values[-1])
    for name in ("mean", "median", "lower", "upper"):
        part = getattr(f, name)
        assert part.shape == (8, 8, 8, 4) and np.isfinite(part).all() and (part >= 0).all()
    assert (f.lower <= f.median).all() and (f.median <= f.upper).all()
    meta = f.meta
    assert meta["simulated"] is True and meta["level"] == 0.9 and "validation" in meta["intervals"]
    assert "tGRU" in meta["model"] and meta["test"]["n_origins"] == 16


def test_intervals_cover_unseen_periods_about_as_often_as_they_say_and_quiet_dyads_have_narrow_ones(done):
    _, run, _ = done
    test = run.summary()["test"]
    assert 0.86 < test["coverage90"] < 0.94
    assert all(0.82 < share < 0.97 for share in test["coverage90_by_activity"].values())
    width = test["width90_by_activity"]
    assert width["quiet"] < width["middling"] < width["active"]


def test_the_hindcast_holds_what_would_have_been_forecast_then(done):
    store, run, series = done
    h = run.hindcast()
    validation, test = run.summary()["split"]["validation"], run.summary()["split"]["test"]
    assert (h.origins == series.dates[-validation - test - 1 : -1]).all()
    assert h.mean.shape == (validation + test, 8, 8, 8, 4) == h.lower.shape == h.upper.shape
    assert (h.lower <= h.upper).all() and tuple(h.actors) == series.actors
    forecaster, known = load_forecaster(store, run)
    origin = len(series) - 5
    then = forecaster.forecast(known.select(periods=slice(0, origin + 1)), 8)
    at = h.origins.tolist().index(series.dates[origin].item())
    np.testing.assert_allclose(h.mean[at], then.mean, rtol=2e-3, atol=1e-4)
    np.testing.assert_allclose(h.upper[at], then.interval()[1], atol=1e-3)


def test_a_hindcast_too_large_keeps_fewer_steps_and_the_latest_origins(done, monkeypatch):
    _, run, series = done
    learner = fit(series, run.recipe.changed(**{"train.epochs": 1})).learner
    monkeypatch.setattr(forecasting, "HINDCAST_BYTES", 12 * 8 * 8 * 4 * 27 * 2)
    hindcast, scores = look_back(learner, learner.forecaster())
    assert hindcast.horizon == 2 and len(hindcast.origins) == 27 and len(scores.by_period) == 32
    stored = Hindcast.from_npz(hindcast.to_npz())
    assert stored.mean.shape == (27, 2, 8, 8, 4) and np.array_equal(stored.mean, hindcast.mean)
    assert stored.origins[-1] == series.dates[-2]


def test_the_summary_states_scale_and_skill(done):
    _, run, series = done
    summary = run.summary()
    assert "log1p" in summary["loss_scale"] and summary["test"]["scale"] == "log1p"
    x = np.log1p(series.values.astype(float))
    off = ~np.eye(8, dtype=bool)
    naive = np.mean((x[144:] - x[143:-1])[:, off] ** 2)
    assert summary["test"]["mse_persistence"] == pytest.approx(naive, rel=1e-9)
    assert (
        summary["test"]["skill"] == pytest.approx(1 - summary["test"]["mse"] / naive) and summary["test"]["skill"] > 0
    )


def test_the_first_step_of_a_roll_is_the_one_step_prediction(done):
    store, run, _ = done
    predictor = Predictor(*load_network(store, run))
    targets, point = predictor.one_step("test")
    rolled = predictor.roll(targets[:3] - 1, 2)
    off = ~np.eye(8, dtype=bool)
    np.testing.assert_allclose(rolled[:, 0][:, off], point[:3][:, off], atol=1e-5)


def test_a_longer_horizon_is_made_on_demand_and_agrees(done):
    store, run, _ = done
    far = extend_forecast(store, run, 12)
    assert far.mean.shape == (12, 8, 8, 4)
    np.testing.assert_allclose(far.mean[0], run.forecast().mean[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("likelihood", ("poisson", "negative_binomial", "cross_entropy"))
def test_every_likelihood_forecasts(small_series, tmp_path, likelihood):
    store = RunStore(tmp_path)
    run = store.create(SMALL.changed(**{"model.likelihood": likelihood, "train.epochs": 2}), small_series)
    assert train_run(store, run).state == "finished"
    f = run.forecast()
    assert np.isfinite(f.mean).all() and (f.mean >= 0).all()
    if likelihood == "cross_entropy":
        assert f.mean.max() <= 1 and "probability" in f.meta["units"]


def test_the_same_recipe_on_the_same_data_gives_the_same_run(done, tmp_path):
    _, run, series = done
    again = fit(series, run.recipe)
    assert arrays_to_bytes(network_arrays(again.network)) == run.read_checked("weights.safetensors")


def test_the_demo_run_is_put_into_a_store_once(done, tmp_path):
    store, _, series = done
    shipped = tmp_path / "demo_run"
    assert ship_demo(store, "done", shipped) < 1_500_000
    write_npz(series, tmp_path / "demo.npz")
    other = RunStore(tmp_path / "runs")
    run = ensure_demo(other, shipped, tmp_path / "demo.npz")
    assert run.run_id == "demo" and run.verify() == [] and run.status().state == "finished"
    assert other.series(run).fingerprint == series.fingerprint
    assert ensure_demo(other, shipped).run_id == "demo"
    other.delete("demo")
    assert ensure_demo(other, shipped) is None  # thrown away is thrown away
    assert ensure_demo(tmp_path / "empty", tmp_path / "nothing") is None
    with pytest.raises(TRNNError, match="Only a finished"):
        store.create(SMALL, series, run_id="fresh")
        ship_demo(store, "fresh", shipped)


def test_the_shipped_demo_run_is_whole_and_belongs_to_the_shipped_data(tmp_path):
    store = RunStore(tmp_path)
    run = ensure_demo(store)
    assert run is not None and run.verify() == [] and run.status().state == "finished"
    assert run.config["data"]["simulated"] is True and run.disk_usage() < 1_500_000
    _, prepared = load_network(store, run)  # the series is there, and the weights fit
    assert prepared.series.shape[0] == run.config["data"]["shape"][0]
