"""The trainer learns, notices when it cannot, and tells all of it in events."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from tests.training.small import SMALL
from trnn_core.data.series import Provenance, RelationalSeries
from trnn_core.data.simulation import simulate
from trnn_core.errors import TRNNError
from trnn_core.runs.forecasting import look_back, summarise
from trnn_core.training.config import Recipe, TrainConfig
from trnn_core.training.events import Ended, EpochDone, Started, StepDone
from trnn_core.training.optimisers import Optimiser, rate
from trnn_core.training.prepare import make_batches, prepare
from trnn_core.training.recipes import preset
from trnn_core.training.trainer import fit


def test_it_can_overfit_a_tiny_set_to_near_zero():
    rng = np.random.default_rng(0)
    dates = np.datetime64("2004-01-01") + 7 * np.arange(12)
    series = RelationalSeries(rng.poisson(2.0, (12, 3, 3, 2)).astype(float), dates, ("A", "B", "C"), ("x", "y"))
    recipe = Recipe(
        data={"window": 2, "validation": 0.0, "test": 0.0},
        model={"cell": "gru", "hidden_shape": (6, 6, 4)},
        train={
            "epochs": 1500,
            "learning_rate": 0.02,
            "regularisation": 0.0,
            "schedule": "cosine",
            "schedule_factor": 0.01,
        },
    )
    history = fit(series, recipe).history
    variance = float(np.var(np.log1p(series.values[2:])[:, ~np.eye(3, dtype=bool)]))
    assert history[-1]["train_loss"] < 1e-3 * variance < history[0]["train_loss"]


def test_training_lowers_both_losses_and_beats_persistence_on_simulated_data():
    series = simulate(seed=3, n_actors=8, n_periods=200)
    recipe = Recipe(
        data={"design": "many-to-many"},
        model={"cell": "gru", "hidden_shape": (8, 8, 4), "init": "identity"},
        train={"epochs": 15},
    )
    fitted = fit(series, recipe)
    assert fitted.history[-1]["train_loss"] < 0.8 * fitted.history[0]["train_loss"]
    summary = summarise(fitted, look_back(fitted.learner, fitted.learner.forecaster())[1])
    assert summary["test"]["n_origins"] == 20 and summary["test"]["skill"] > 0.1
    assert fitted.best_val_loss == min(row["val_loss"] for row in fitted.history)


@pytest.mark.parametrize("likelihood", ("squared", "poisson", "negative_binomial", "cross_entropy"))
@pytest.mark.parametrize("design", ("many-to-one", "many-to-many", "single-series"))
def test_every_likelihood_learns_in_every_design(small_series, likelihood, design):
    recipe = SMALL.changed(
        **{"model.likelihood": likelihood, "data.design": design, "train.epochs": 4, "model.dropout": 0.0}
    )
    history = fit(small_series, recipe).history
    assert history[-1]["train_loss"] < history[0]["train_loss"]
    assert all(math.isfinite(v) for row in history for v in row.values())


def test_events_tell_the_story_in_order(small_series):
    events = []
    fit(small_series, SMALL.changed(**{"train.epochs": 2}), listeners=[events.append])
    kinds = [type(e) for e in events]
    assert kinds[0] is Started and kinds[-1] is Ended and kinds.count(EpochDone) == 2
    for epoch in (1, 2):
        steps = [e for e in events if isinstance(e, StepDone) and e.epoch == epoch]
        assert [e.step for e in steps] == list(range(1, steps[0].n_steps + 1))
    row = next(e for e in events if isinstance(e, EpochDone)).row
    assert list(row) == ["epoch", "train_loss", "val_loss", "regulariser", "lr", "grad_norm", "seconds"]
    assert "log1p" in events[0].loss_scale and events[-1].outcome == "finished"


def test_divergence_is_caught_at_its_step_explained_and_the_last_good_weights_kept(small_series):
    recipe = SMALL.changed(
        **{
            "train.optimiser": "sgd",
            "train.momentum": 0.9,
            "train.learning_rate": 10,
            "data.transform": "none",
            "train.epochs": 50,
        }
    )
    fitted = fit(small_series, recipe)
    assert fitted.outcome == "diverged"
    assert "learning rate 10" in fitted.message and "smaller" in fitted.message and "step" in fitted.message
    assert all(torch.isfinite(p).all() for p in fitted.network.parameters())
    assert all(math.isfinite(row["train_loss"]) for row in fitted.history)


@pytest.mark.parametrize("what", ("loss", "gradient"))
def test_a_nan_is_caught_before_it_reaches_a_weight(small_series, monkeypatch, what):
    import trnn_core.training.tensor_learner as learner

    calls = {"n": 0}
    real_learn, real_clip = learner.learn, Optimiser.clip

    def learn(*args):
        calls["n"] += 1
        loss, state = real_learn(*args)
        return loss * (float("nan") if what == "loss" and calls["n"] == 7 else 1.0), state

    def clip(self):
        norm = real_clip(self)
        return float("nan") if what == "gradient" and calls["n"] >= 7 else norm

    monkeypatch.setattr(learner, "learn", learn)
    monkeypatch.setattr(Optimiser, "clip", clip)
    fitted = fit(small_series, SMALL.changed(**{"train.epochs": 9}))
    assert fitted.outcome == "diverged" and f"The {what} became nan" in fitted.message
    assert all(torch.isfinite(p).all() for p in fitted.network.parameters())


def test_early_stopping_keeps_the_best_epoch(small_series):
    fitted = fit(small_series, SMALL.changed(**{"train.patience": 4, "train.epochs": 300, "train.learning_rate": 0.05}))
    losses = [row["val_loss"] for row in fitted.history]
    assert len(losses) < 300 and fitted.best_epoch == int(np.argmin(losses)) + 1 == len(losses) - 4
    assert "Stopped early" in fitted.message


def test_stop_drops_the_epoch_at_work_and_keeps_the_best(small_series):
    asked = iter([None] * 11 + ["stop"])
    fitted = fit(small_series, SMALL, control=lambda: next(asked))
    prepared = prepare(small_series, SMALL)
    ends = np.cumsum([len(list(make_batches(prepared, "train", 16, 5, epoch))) for epoch in range(1, 9)])
    assert fitted.outcome == "stopped" and len(fitted.history) == (ends <= 11).sum() >= 1
    assert f"epoch {fitted.best_epoch}" in fitted.message


@pytest.mark.parametrize("name", ("adam", "adamw", "sgd", "rmsprop"))
def test_each_optimiser_follows_its_namesake_in_torch(name):
    config = TrainConfig(optimiser=name, momentum=0.7, weight_decay=0.05, learning_rate=0.03)
    torch.manual_seed(0)
    ours, theirs = torch.nn.Linear(5, 3).double(), torch.nn.Linear(5, 3).double()
    theirs.load_state_dict(ours.state_dict())
    kinds = {
        "adam": torch.optim.Adam,
        "adamw": torch.optim.AdamW,
        "sgd": torch.optim.SGD,
        "rmsprop": torch.optim.RMSprop,
    }
    extra = {"momentum": 0.7} if name in ("sgd", "rmsprop") else {}
    reference = kinds[name](theirs.parameters(), lr=0.03, weight_decay=0.05, **extra)
    optimiser = Optimiser(ours, config)
    for _ in range(20):
        x = torch.randn(7, 5, dtype=torch.float64)
        for network in (ours, theirs):
            network.zero_grad()
            network(x).square().sum().backward()
        optimiser.step(0.03)
        reference.step()
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ("adam", "adamw", "sgd", "rmsprop"))
def test_a_gradient_may_lie_in_memory_as_it_likes(name):
    """A transposed gradient is the same gradient; fused kernels would take its memory for another."""
    gradient, ends = torch.arange(12.0).reshape(4, 3).T, []  # (3, 4), strides (1, 3)
    for laid_out in (gradient, gradient.contiguous()):
        network = torch.nn.Linear(4, 3, bias=False)
        torch.nn.init.ones_(network.weight)
        optimiser = Optimiser(network, TrainConfig(optimiser=name))
        network.weight.grad = laid_out
        optimiser.step(0.1)
        network.weight.grad = (laid_out - 4).reshape(3, 4) if laid_out.is_contiguous() else laid_out - 4
        optimiser.step(0.1)
        ends.append(network.weight.detach())
    torch.testing.assert_close(ends[0], ends[1], rtol=0, atol=0)


def test_a_long_training_of_the_paper_preset_goes_down():
    series = simulate(seed=3, n_actors=6, n_periods=80)
    recipe = preset("paper-case-2").changed(**{"model.hidden_shape": "5,5,3", "train.epochs": 150})
    history = fit(series, recipe).history
    assert history[-1]["train_loss"] < history[0]["train_loss"]


def test_clipping_shortens_the_gradient_and_reports_its_length():
    network = torch.nn.Linear(2, 1, bias=False)
    network.weight.grad = torch.tensor([[3.0, 4.0]])
    optimiser = Optimiser(network, TrainConfig(clip_norm=1.0))
    assert optimiser.clip() == pytest.approx(5.0)
    torch.testing.assert_close(network.weight.grad, torch.tensor([[0.6, 0.8]]))


def test_schedules():
    def rates(**settings):
        config = TrainConfig(epochs=7, learning_rate=1.0, schedule_factor=0.5, **settings)
        return [round(rate(config, e), 3) for e in range(1, 8)]

    assert rates() == [1.0] * 7
    assert rates(schedule="step", schedule_step=3) == [1, 1, 1, 0.5, 0.5, 0.5, 0.25]
    assert rates(warmup=2)[:3] == [0.333, 0.667, 1.0]
    cosine = rates(schedule="cosine", warmup=1)
    assert cosine[0] == 0.5 and cosine[1] == 1.0 and cosine[-1] == 0.5 and cosine[1:] == sorted(cosine[1:])[::-1]


def test_plateau_drops_when_the_validation_loss_stands_still(small_series):
    recipe = SMALL.changed(**{"train.epochs": 40, "train.learning_rate": 0.05, "train.schedule_step": 2})
    history = fit(small_series, recipe).history
    best, flat, lr = math.inf, 0, 0.05
    for row in history:
        assert row["lr"] == pytest.approx(lr)
        flat = 0 if row["val_loss"] < best else flat + 1
        best = min(best, row["val_loss"])
        if flat == 2:
            flat, lr = 0, lr / 2
    assert lr < 0.05


def test_the_regulariser_is_lambda_times_the_sum_of_squares(small_series):
    base = SMALL.changed(**{"train.epochs": 1, "train.learning_rate": 1e-12, "model.dropout": 0.0})
    fitted = fit(small_series, base.changed(**{"train.regularisation_per": "cell"}))
    assert fitted.history[0]["regulariser"] == pytest.approx(0.01 * fitted.network.penalty().item(), rel=1e-4)
    per_window = fit(small_series, base)
    cells = 6 * 5 * 4 * 4  # dyads, actions, steps of a window
    assert per_window.history[0]["regulariser"] == pytest.approx(
        0.01 / cells * fitted.network.penalty().item(), rel=1e-4
    )


def test_missing_cells_and_the_diagonal_are_not_learnt_from():
    series = simulate(seed=1, n_actors=5, n_periods=60)
    values, observed = series.values.copy(), np.ones(series.shape, dtype=bool)
    observed[10:20, 1] = False
    a = RelationalSeries(
        np.where(observed, values, np.nan), series.dates, series.actors, series.actions, observed, series.source
    )
    prepared = prepare(a, SMALL)
    assert not prepared.mask[10:20, 1].any() and not prepared.mask[:, range(5), range(5)].any()
    assert math.isfinite(fit(a, SMALL.changed(**{"train.epochs": 2})).history[-1]["val_loss"])


def test_counts_are_needed_for_count_likelihoods(small_series):
    source = Provenance("scores", kind="value")
    values = RelationalSeries(
        small_series.values - 2.0, small_series.dates, small_series.actors, small_series.actions, source=source
    )
    with pytest.raises(TRNNError, match="needs counts of at least 0"):
        fit(values, SMALL.changed(**{"model.likelihood": "poisson", "data.transform": "standardise"}))
    assert fit(values, SMALL.changed(**{"data.transform": "standardise", "train.epochs": 1})).outcome == "finished"


def test_training_leaves_threads_and_random_numbers_as_they_were(small_series):
    torch.manual_seed(11)
    before, threads = torch.random.get_rng_state(), n_threads()
    within = []
    fit(small_series, SMALL.changed(**{"train.epochs": 1}), listeners=[lambda event: within.append(n_threads())])
    assert torch.equal(before, torch.random.get_rng_state()) and n_threads() == threads
    assert within and all(set(found) == {1} for found in within), "as many as the recipe says, torch's and NumPy's"


def n_threads() -> list[int]:
    return [torch.get_num_threads(), *(i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas")]
