"""The recommended preset as a training: a loss curve, exact resume, a run like any other, and no look at what it must not see."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import torch

from tests.faults.killing import Trainers, without_seconds
from trnn_core.data.simulation import simulate
from trnn_core.errors import TRNNError
from trnn_core.models.recommended import Recommended
from trnn_core.models.size import count_parameters
from trnn_core.runs.execute import train_run
from trnn_core.runs.restore import extend_forecast, load_forecaster, load_network
from trnn_core.runs.store import RunStore
from trnn_core.training.checkpoints import arrays_to_bytes
from trnn_core.training.dyad_learner import DyadLearner, plan_of
from trnn_core.training.events import EpochDone
from trnn_core.training.recipes import preset
from trnn_core.training.trainer import fit

torch.set_num_threads(1)
SMALL = preset("recommended").changed(**{"model.members": 2, "model.channels": 4, "train.epochs": 6, "data.window": 4})


@pytest.fixture(scope="module")
def series():
    return simulate(seed=2, n_actors=5, n_periods=110)


@pytest.fixture(scope="module")
def done(series, tmp_path_factory):
    store = RunStore(tmp_path_factory.mktemp("dyads"))
    run = store.create(SMALL, series, run_id="done")
    train_run(store, run)
    return store, run


def test_a_run_of_the_recommended_preset_is_whole(done, series):
    store, run = done
    assert run.status().state == "finished" and run.verify() == []
    rows = run.history()
    assert len(rows) == 6 and all(np.isfinite([r["train_loss"], r["val_loss"]]).all() for r in rows)
    assert run.status().best_epoch == 1 + int(np.argmin([r["val_loss"] for r in rows]))
    forecast, summary = run.forecast(), run.summary()
    assert forecast.mean.shape == (8, 5, 5, 4) and (forecast.lower <= forecast.upper).all()
    assert (forecast.mean[:, np.arange(5), np.arange(5)] == 0).all()
    assert summary["test"]["n_origins"] == 11 and summary["test"]["scale"] == "log1p"
    assert summary["n_parameters"] == count_parameters(SMALL.model, (5, 5, 4), (5, 5, 4), period="week")
    assert run.hindcast().mean.shape == (22, 8, 5, 5, 4)
    again, known = load_forecaster(store, run)
    np.testing.assert_allclose(again.forecast(known, 8).mean, forecast.mean, rtol=1e-3, atol=1e-5)
    far = extend_forecast(store, run, 10)
    np.testing.assert_allclose(far.mean[:8], forecast.mean, rtol=1e-3, atol=1e-5)
    with pytest.raises(TRNNError, match="tensorial network is needed"):
        load_network(store, run)


def test_without_a_validation_part_it_is_the_model_of_the_backtest(series):
    """`train` and `backtest` mean the same model: equal weights, equal forecasts."""
    recipe = SMALL.changed(**{"data.validation": 0})
    trained = fit(series, recipe).learner.forecaster()
    known = series.select(periods=slice(0, 99))
    model = Recommended(2, plan_of(recipe)).fit(known)
    np.testing.assert_array_equal(trained.forecast(known, 2).level, model.forecast(known, 2).level)


def test_resume_from_any_epoch_gives_the_same_bits(series):
    snapshots = {}
    whole = fit(
        series,
        SMALL,
        listeners=[lambda e: snapshots.update({e.epoch: e.snapshot()}) if isinstance(e, EpochDone) else None],
    )
    for epoch in (4,):
        start = dataclasses.replace(snapshots[epoch], best_weights=snapshots[snapshots[epoch].best_epoch].weights)
        again = fit(series, SMALL, resume=start)
        assert arrays_to_bytes(again.learner.result(1)) == arrays_to_bytes(whole.learner.result(1))
        assert without_seconds(again.history) == without_seconds(whole.history)
    other = fit(series, SMALL.changed(**{"train.seed": 1, "train.epochs": 2}))
    assert without_seconds(other.history) != without_seconds(whole.history)[:2]


def test_kill_9_and_resume_end_with_the_same_bits(done, series, tmp_path):
    _, whole = done
    store, rng = RunStore(tmp_path), np.random.default_rng(0)
    run = store.create(SMALL, series)
    lasts = whole.status().seconds  # a fast machine must not be done before it is killed
    with Trainers() as trainers:
        kills = 0
        while kills < 2 and trainers.train(run, lasts * rng.uniform(0.1, 0.6), while_saving=kills % 2 == 1) == -9:
            kills += 1
            assert run.verify() == []
            assert without_seconds(run.history()) == without_seconds(whole.history())[: len(run.history())]
        assert run.status().state == "finished" or trainers.train(run) == 0
    assert kills
    assert run.read_checked("weights.safetensors") == whole.read_checked("weights.safetensors")
    assert json.dumps(without_seconds(run.history())) == json.dumps(without_seconds(whole.history()))


def test_stop_keeps_the_best_weights_and_a_forecast(series, tmp_path):
    store = RunStore(tmp_path)
    run = store.create(SMALL, series)
    status = train_run(store, run, control=lambda: "stop" if run.status().epoch >= 2 else None)
    assert status.state == "stopped" and status.epoch == 2
    assert run.forecast() is not None and "shape" in run.weights()


def test_nothing_after_the_training_periods_teaches_it(series):
    changed = series.values.copy()
    changed[88:] = changed[88:][::-1] * 3
    other = dataclasses.replace(series, values=changed)
    one, two = (DyadLearner(s, SMALL) for s in (series, other))
    for learner in (one, two):
        for batch in learner.batches(1, 0):
            learner.gradient(batch)
            learner.update()
    assert arrays_to_bytes(one.weights()) == arrays_to_bytes(two.weights())
    assert one.validation_loss() != two.validation_loss()


def test_settings_it_has_no_use_for_are_refused_in_words():
    for name, value, words in (
        ("data.transform", "min-max", r"'data.transform' must be log1p when 'model.network' is 'dyad', got min-max"),
        ("model.hidden_shape", "25,25,4", r"'model.hidden_shape' must be 14,14,4 when"),
        ("train.schedule", "cosine", r"'train.schedule' must be one-cycle"),
        ("model.cell", "lstm", r"'model.cell' must be gru"),
    ):
        with pytest.raises(TRNNError, match=words):
            preset("recommended").changed(**{name: value})
    with pytest.raises(TRNNError, match=r"'model.members' must be 1 when 'model.network' is 'tensor', got 5"):
        preset("quick").changed(**{"model.members": 5})
