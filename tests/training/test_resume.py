"""Exact resume: however a training was interrupted, it ends with the bits it would have had."""

from __future__ import annotations

import json

import pytest

from tests.faults.killing import Reference, without_seconds
from tests.training.small import SMALL
from trnn_core.errors import TRNNError
from trnn_core.runs.execute import train_run
from trnn_core.runs.store import RunStore
from trnn_core.training.checkpoints import arrays_to_bytes, list_epochs
from trnn_core.training.config import Recipe
from trnn_core.training.events import EpochDone, Event
from trnn_core.training.networks import network_arrays
from trnn_core.training.trainer import fit

OPTIMISERS = ("adam", "adamw", "sgd", "rmsprop")


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("design", ("many-to-one", "single-series"))
def test_resume_from_any_snapshot_gives_the_same_bits(small_series, optimiser, design):
    recipe = SMALL.changed(
        **{
            "train.optimiser": optimiser,
            "train.momentum": 0.5,
            "data.design": design,
            "train.epochs": 6,
            "train.learning_rate": 0.002,
        }
    )
    snapshots = {}

    def keep(event: Event) -> None:
        if isinstance(event, EpochDone):
            snapshots[event.epoch] = event.snapshot()

    whole = fit(small_series, recipe, listeners=[keep])
    for epoch in (1, 4):
        best = snapshots[snapshots[epoch].best_epoch].weights
        start = snapshots[epoch]
        again = fit(small_series, recipe, resume=type(start)(**{**start.__dict__, "best_weights": best}))
        assert arrays_to_bytes(network_arrays(again.network)) == arrays_to_bytes(network_arrays(whole.network))
        assert without_seconds(again.history) == without_seconds(whole.history)


def test_resume_restores_early_stopping_and_the_best_weights(small_series, tmp_path):
    recipe = SMALL.changed(**{"train.patience": 5, "train.epochs": 200, "train.learning_rate": 0.05})
    whole = fit(small_series, recipe)
    assert len(whole.history) < 200, "the recipe must stop early for this test to mean something"
    store = RunStore(tmp_path)
    run = store.create(recipe, small_series)
    while run.status().state != "finished":
        steps = iter(range(7 * 5))  # a pause every few epochs, in the middle of one
        train_run(store, run, control=lambda steps=steps: None if next(steps, None) is not None else "pause")
    assert without_seconds(run.history()) == without_seconds(whole.history)
    assert run.read_checked("weights.safetensors") == arrays_to_bytes(network_arrays(whole.network))
    assert run.status().best_epoch == whole.best_epoch


def test_a_damaged_checkpoint_is_left_out_and_the_one_before_resumed_from(small_series, tmp_path):
    reference = Reference(small_series, SMALL)
    store = RunStore(tmp_path)
    run = store.create(SMALL, small_series)
    train_run(store, run, control=_after(run, 7))
    newest = run.folder / "checkpoints" / f"{list_epochs(run.folder / 'checkpoints')[-1]:06d}" / "weights.safetensors"
    content = bytearray(newest.read_bytes())
    content[-3] ^= 4
    newest.write_bytes(content)
    assert any("weights.safetensors" in problem for problem in run.verify())
    status = train_run(store, run)
    assert status.state == "finished" and "damaged checkpoint was left out" in status.message
    assert run.read_checked("weights.safetensors") == reference.weights
    assert without_seconds(run.history()) == reference.rows


def test_same_seed_same_bits_other_seed_other_bits(small_series):
    recipe = SMALL.changed(**{"train.epochs": 4})
    a, b = fit(small_series, recipe), fit(small_series, recipe)
    c = fit(small_series, recipe.changed(**{"train.seed": 6}))
    assert json.dumps(without_seconds(a.history)) == json.dumps(without_seconds(b.history))
    assert arrays_to_bytes(network_arrays(a.network)) == arrays_to_bytes(network_arrays(b.network))
    assert without_seconds(a.history) != without_seconds(c.history)


def test_weights_of_other_settings_are_refused(small_series):
    kept = []
    fit(
        small_series,
        SMALL.changed(**{"train.epochs": 1}),
        listeners=[lambda e: kept.append(e.snapshot()) if isinstance(e, EpochDone) else None],
    )
    other = Recipe(**{**SMALL.model_dump(), "model": {**SMALL.model.model_dump(), "hidden_shape": (4, 3, 2)}})
    with pytest.raises(TRNNError, match="names and shapes"):
        fit(small_series, other, resume=kept[0])


def _after(run, epoch):
    return lambda: "pause" if run.status().epoch >= epoch else None
