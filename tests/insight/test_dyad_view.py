"""The recommended model can be questioned like any other: the same forecast, its derivative, complete attributions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from trnn_core.data.simulation import simulate
from trnn_core.errors import TRNNError
from trnn_core.insight.attribution import attribute
from trnn_core.insight.counterfactual import run_scenario
from trnn_core.insight.dyad_view import DyadView
from trnn_core.insight.loading import explain_influence, explain_run
from trnn_core.insight.responses import impulse_response
from trnn_core.insight.shocks import parse_shock
from trnn_core.insight.surprise import find_unusual
from trnn_core.models.dyad_training import TrainingPlan
from trnn_core.models.recommended import Recommended
from trnn_core.runs.execute import train_run
from trnn_core.runs.store import RunStore
from trnn_core.training.recipes import preset

SERIES = simulate(seed=4, n_actors=5, n_periods=130)


@pytest.fixture(scope="module")
def view() -> DyadView:
    model = Recommended(2, TrainingPlan(epochs=1, hidden=4)).fit(SERIES.select(periods=slice(0, 110)))
    model.forecast(SERIES, 3)
    return DyadView(model, SERIES, 110)


@pytest.mark.parametrize("origin", [129, 90])
@pytest.mark.parametrize("step", [1, 3])
def test_one_cell_in_torch_is_the_models_own_forecast(view, step, origin):
    expected = view.model.forecast(SERIES.select(periods=slice(0, origin + 1)), step).mean[step - 1]
    for i, j in ((0, 1), (3, 2), (2, 4)):
        with torch.no_grad():
            found = [float(view.entry_levels(view.past(origin)[None], (i, j, k), step, origin)[0]) for k in range(4)]
        np.testing.assert_allclose(np.expm1(found), expected[i, j], rtol=2e-3, atol=1e-4)


def test_attributions_are_complete_and_reach_beyond_the_own_past(view):
    for cell in ((2, 4, 0), (4, 2, 0), (0, 2, 3)):
        found = attribute(view, cell)
        assert found.gap <= 0.01 and len(found.dates) == 26
    by_pair = np.abs(attribute(view, (2, 4, 0)).contributions).sum(axis=(0, 3))
    assert np.unravel_index(by_pair.argmax(), by_pair.shape) == (2, 4) and by_pair[2, 4] < by_pair.sum()


def test_scenarios_impulses_and_unusual_weeks(view):
    shock = parse_shock(f"{SERIES.actors[2]},{SERIES.actors[4]},verbal conflict,+20", SERIES)
    outcome = run_scenario(view, [shock], horizon=3)
    assert outcome.difference[0, 2, 4].max() > 0.1
    found = impulse_response(view, (2, 4, 1), 20.0, horizon=2, n_origins=3)
    assert found.mean[0, 2, 4].max() > 0.05 and np.isfinite(found.mean).all()
    assert np.isfinite(find_unusual(view).surprise).all()


def test_it_says_that_it_knows_no_ties_between_countries(view):
    with pytest.raises(TRNNError, match="shares one set of weights"):
        explain_influence(view)


def test_and_says_so_before_three_more_are_trained(tmp_path, monkeypatch):
    """`influence RUN --retrain` of such a run is refused at once, not after three trainings."""
    store = RunStore(tmp_path / "runs")
    recipe = preset("recommended").changed(**{"train.epochs": 1, "model.members": 1, "model.channels": 4})
    run = store.create(recipe, SERIES, run_id="shared")
    train_run(store, run)
    monkeypatch.setattr("trnn_core.insight.loading.retrain", lambda *a, **k: pytest.fail("trained all the same"))
    with pytest.raises(TRNNError, match="shares one set of weights"):
        explain_run(store, run, retrained=True)
