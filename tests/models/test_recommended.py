"""The recommended network: where it starts, what its sharing of weights means, and that it sees the past only."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from tests.shared_data import shared_file
from trnn_core.cells.gru import TensorGRU
from trnn_core.data.readers.npz import read_npz
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.evaluation.protocol import Protocol
from trnn_core.evaluation.rolling_origins import backtest
from trnn_core.models.channels import Channels
from trnn_core.models.dyad_network import DyadNetwork, negative_log_likelihood
from trnn_core.models.dyad_training import Schedule, TrainingPlan
from trnn_core.models.linear import LinearStart
from trnn_core.models.panel import Panel
from trnn_core.models.recommended import Recommended
from trnn_core.models.recommended_state import from_arrays, to_arrays

torch.set_num_threads(1)


def test_country_modes_at_the_identity_are_one_cell_shared_by_all_dyads():
    """A fourth-order tGRU with W1 = W2 = U1 = U2 = I equals the second-order one run on every dyad by itself."""
    n, channels, hidden, actions = 3, 5, 4, 2
    whole = TensorGRU((n, n, channels, actions), (n, n, hidden, actions)).double()
    shared = TensorGRU((channels, actions), (hidden, actions)).double()
    with torch.no_grad():
        for gate in "rzh":
            for kind in "WU":
                for mode in (1, 2):
                    whole.factor(kind, gate, mode).copy_(torch.eye(n))
                    whole.factor(kind, gate, mode + 2).copy_(shared.factor(kind, gate, mode))
            shared.bias(gate).normal_()
            whole.bias(gate).copy_(shared.bias(gate).expand(n, n, hidden, actions))
    x = torch.randn(2, 6, n, n, channels, actions, dtype=torch.float64)
    expected = whole(x)[0]
    dyads = x.permute(0, 2, 3, 1, 4, 5).reshape(-1, 6, channels, actions)
    found = shared(dyads)[0].reshape(2, n, n, 6, hidden, actions).permute(0, 3, 1, 2, 4, 5)
    torch.testing.assert_close(found, expected)


def test_untrained_it_is_its_linear_part(small_series):
    model = Recommended(n_members=1, plan=TrainingPlan(epochs=1)).fit(small_series)
    n_inputs = len(Channels(Panel.of(small_series), "week").names) + 3
    model.members = [DyadNetwork(n_inputs, len(model._channels(model._train).recurrent), 4).eval()]
    mine, linear = (m.forecast(small_series, 1) for m in (model, LinearStart().fit(small_series)))
    np.testing.assert_allclose(mine.mean, linear.mean, rtol=1e-5)
    np.testing.assert_allclose(mine.distribution.size, linear.distribution.size, rtol=1e-5)


def test_channels_look_at_the_past_only(small_series):
    changed = small_series.values.copy()
    changed[41:] += 7.0
    other = dataclasses.replace(small_series, values=changed)
    periods = np.array([30, 40])
    for step in (1, 3):
        one, two = (Channels(Panel.of(s), "week").at(periods, step) for s in (small_series, other))
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, Channels(Panel.of(other), "week").at(np.array([30, 41]), 3))


def test_the_season_enters_at_the_period_that_is_forecast():
    """Seven days with events on the seventh only: the day before it expects more than usual, the others less."""
    values = np.zeros((70, 3, 3, 1))
    values[6::7, 0, 1] = 5.0
    dates = np.datetime64("2020-01-01") + np.arange(70)
    channels = Channels(Panel.of(RelationalSeries(values, dates, tuple("ABC"), ("x",))), "day")
    at = channels.names.index("dyad at this point of the season")
    tomorrow = channels.at(np.arange(60, 67), 1)[:, 0, 1, at, 0]
    in_two_days = channels.at(np.arange(60, 67), 2)[:, 0, 1, at, 0]
    events = np.arange(61, 68) % 7 == 6
    assert (tomorrow[events] > 0.5).all() and (tomorrow[~events] < -0.5).all()
    np.testing.assert_allclose(in_two_days[:-1] > 0, tomorrow[1:] > 0)


def test_the_likelihood_is_the_negative_binomials():
    mean, size, y = torch.tensor([0.3, 4.0]), torch.tensor([0.5, 2.0]), torch.tensor([2.0, 1.0])
    total = torch.distributions.NegativeBinomial(size, probs=mean / (mean + size)).log_prob(y)
    expected = -(total + torch.lgamma(y + 1))
    torch.testing.assert_close(negative_log_likelihood(mean.log(), size.log(), y), expected)


@pytest.mark.parametrize("kind", ["count", "value"])
def test_saved_as_arrays_it_forecasts_the_same(small_series, kind):
    series = dataclasses.replace(small_series, source=dataclasses.replace(small_series.source, kind=kind))
    model = Recommended(n_members=2, plan=TrainingPlan(epochs=1, hidden=6, window=5)).fit(series)
    arrays = to_arrays(model, horizon=3)
    assert all(isinstance(a, np.ndarray) and a.dtype != object for a in arrays.values())
    again = from_arrays(arrays, series)
    one, two = model.forecast(series, 3), again.forecast(series, 3)
    np.testing.assert_array_equal(one.level, two.level)
    np.testing.assert_array_equal(one.mean, two.mean)
    with pytest.raises(TRNNError, match="kept for fewer steps ahead than 4"):
        again.forecast(series, 4)
    del arrays["member1.readout.A"]
    with pytest.raises(TRNNError, match="must be those of a recommended model"):
        from_arrays(arrays, series)


def test_a_pass_over_very_many_dyads_ends_early_and_one_over_few_does_not():
    usual, many = (Schedule(TrainingPlan(), 500, n * (n - 1), 4) for n in (25, 80))
    assert usual.n_steps == 2 * usual.per_pass
    assert many.per_pass > 9 * usual.per_pass and many.n_steps < 2 * usual.n_steps


@pytest.mark.slow
def test_it_beats_the_relational_autoregression_where_the_week_has_a_rhythm():
    series = read_npz(shared_file("icews2018_19_daily_hoff25_quad.npz"))
    board = backtest(series, ["relational_ar", "recommended"], Protocol()).leaderboard().set_index("model")
    assert board.loc["recommended", "mse_skill_best"] > 0.02 and board.loc["recommended", "p_mse"] < 0.05
    assert board.loc["recommended", "crps_skill_best"] > 0.01 and board.loc["recommended", "p_crps"] < 0.05
