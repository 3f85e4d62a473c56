"""One conformance suite over every forecaster: baselines, vector networks and the recommended network alike."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from trnn_core.data.series import Provenance, RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.evaluation.forecasters import create, names
from trnn_core.models.dyad_training import TrainingPlan
from trnn_core.models.forecast import Forecaster, forecast_each
from trnn_core.models.registry import BASELINES

torch.set_num_threads(1)

ACTORS, ACTIONS = ("France", "Japan", "Kenya", "Peru", "Qatar"), ("verbal conflict", "material conflict")


def make_series(n_periods=160, seed=0, kind="count", diagonal=False, missing=0.0) -> RelationalSeries:
    """Dyads whose log rates wander slowly, so that the past tells something of the future and less of the far one."""
    rng = np.random.default_rng(seed)
    n, k = len(ACTORS), len(ACTIONS)
    walk = np.zeros((n_periods, n, n, k))
    for t in range(1, n_periods):
        walk[t] = 0.9 * walk[t - 1] + 0.4 * rng.standard_normal((n, n, k))
    values = rng.poisson(np.exp(walk + rng.normal(-0.5, 1.0, (n, n, k)))).astype(float) if kind == "count" else walk
    if not diagonal:
        values[:, range(n), range(n)] = 0
    if missing:
        values[rng.random(values.shape) < missing] = np.nan
    dates = np.datetime64("2004-01-01") + 7 * np.arange(n_periods)
    return RelationalSeries(values, dates, ACTORS, ACTIONS, source=Provenance(kind=kind, diagonal=diagonal))


# Smaller than by default, so that the suite stays fast; the laws are the same.
FAST = {
    "recommended": {"n_members": 1, "plan": TrainingPlan(epochs=1, hidden=6)},
    "tlstm": {"model.hidden_shape": (5, 5, 2)},
    "tgru": {"model.hidden_shape": (5, 5, 2)},
    "vector_lstm": {"sizes": (4, 8), "max_epochs": 15},
    "vector_gru": {"sizes": (4, 8), "max_epochs": 15},
}


def make(name: str) -> Forecaster:
    return create(name, **FAST.get(name, {}))


SERIES = make_series()
FITTED: dict[str, Forecaster] = {}


@pytest.fixture(params=names())
def model(request) -> Forecaster:
    if request.param not in FITTED:
        FITTED[request.param] = make(request.param).fit(SERIES.select(periods=slice(0, 130)))
    return FITTED[request.param]


@pytest.fixture(params=names())
def name(request) -> str:
    return request.param


def test_fit_returns_the_model_itself(name):
    unfitted = make(name)
    assert unfitted.fit(SERIES.select(periods=slice(0, 130))) is unfitted
    assert unfitted.name == name and isinstance(unfitted, Forecaster)


def test_forecast_carries_labels_dates_and_shapes(model):
    history = SERIES.select(periods=slice(0, 130))
    forecast = model.forecast(history, 3)
    assert forecast.level.shape == forecast.mean.shape == (3, 5, 5, 2)
    assert (forecast.actors, forecast.actions) == (ACTORS, ACTIONS)
    assert (forecast.dates == SERIES.dates[130:133]).all() and forecast.last_date == SERIES.dates[129]


def test_forecast_is_a_proper_count_distribution(model):
    forecast = model.forecast(SERIES.select(periods=slice(0, 135)), 2)
    counts = np.arange(200.0)[:, None, None, None, None]
    cdf = forecast.distribution.cdf(counts)
    assert (np.diff(cdf, axis=0) >= -1e-12).all() and cdf.min() >= 0
    assert np.allclose(forecast.distribution.cdf(np.array(5000.0)), 1, atol=1e-6)
    lower, upper = forecast.interval(0.9)
    assert (lower <= forecast.median).all() and (forecast.median <= upper).all() and (lower >= 0).all()
    assert np.isfinite(forecast.level).all() and (forecast.mean >= 0).all()


def test_the_future_is_never_looked_at(model):
    """From one origin, the forecast on the whole series is the forecast on the series cut there, to the last bit."""
    origins = [131, 140, 150]
    many = dict(forecast_each(model, SERIES, origins, 2))
    for t in origins:
        alone = model.forecast(SERIES.select(periods=slice(0, t + 1)), 2)
        np.testing.assert_allclose(many[t].level, alone.level, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(many[t].mean, alone.mean, rtol=1e-5, atol=1e-6)


def test_equal_fits_give_equal_forecasts(model):
    again = make(model.name).fit(SERIES.select(periods=slice(0, 130)))
    one, two = (m.forecast(SERIES, 2) for m in (model, again))
    assert np.array_equal(one.level, two.level) and np.array_equal(one.mean, two.mean)


def test_a_longer_horizon_leaves_the_nearer_steps_alone(model):
    short, long = model.forecast(SERIES, 1), model.forecast(SERIES, 4)
    np.testing.assert_allclose(short.level[0], long.level[0])
    np.testing.assert_allclose(short.mean[0], long.mean[0])


def test_uncertainty_grows_with_the_horizon(model):
    """On average over cells."""
    forecasts = [f for _, f in forecast_each(model, SERIES, list(range(130, 158, 3)), 8)]
    variance = np.mean([f.distribution.variance.mean(axis=(1, 2, 3)) for f in forecasts], axis=0)
    assert variance[-1] > variance[0], f"variance per step {variance.round(3)}"
    assert (np.diff(forecasts[0].distribution.size, axis=0) <= 0).all()


def test_nobody_acts_on_itself_where_the_diagonal_was_dropped(model):
    forecast = model.forecast(SERIES, 2)
    own = np.arange(len(ACTORS))
    assert (forecast.level[:, own, own] == 0).all() and (forecast.mean[:, own, own] == 0).all()
    assert (forecast.probability(at_least=1)[:, own, own] == 0).all()


def test_forecasts_beat_guessing(model):
    """Worth its name: a better log score than one distribution for all cells, or at least than a coin's of the mean."""
    origins = list(range(130, 159))
    off = ~np.eye(len(ACTORS), dtype=bool)
    errors, guess = [], np.log1p(SERIES.values[:130][:, off]).mean()
    for t, forecast in forecast_each(model, SERIES, origins, 1):
        came = np.log1p(SERIES.values[t + 1][off])
        expected = forecast.distribution[0].expected_log1p()[off]
        errors.append([((expected - came) ** 2).mean(), ((guess - came) ** 2).mean()])
    mine, naive = np.mean(errors, axis=0)
    assert mine < naive


@pytest.mark.parametrize("kind", ["missing", "values", "diagonal", "one action", "two actors", "short"])
def test_unusual_series_are_forecast_too(name, kind):
    series = {
        "missing": lambda: make_series(90, missing=0.1),
        "values": lambda: make_series(90, kind="value"),
        "diagonal": lambda: make_series(90, diagonal=True),
        "one action": lambda: make_series(90).select(actions=[ACTIONS[1]]),
        "two actors": lambda: make_series(90).select(actors=ACTORS[:2]),
        "short": lambda: make_series(50),  # what is left of a hundred weeks when fifty are scored
    }[kind]()
    forecast = make(name).fit(series).forecast(series, 2)
    assert np.isfinite(forecast.level).all() and np.isfinite(forecast.mean).all()
    lower, upper = forecast.interval(0.9)
    assert (lower <= upper).all()


@pytest.mark.parametrize("unit", [1024.0, 1 / 1024])
def test_values_are_forecast_alike_in_any_unit(name, unit):
    """Thousands of dollars or thousandths: a power of two changes no digit, so only stopping rules may differ a little."""
    series = make_series(90, kind="value")
    other = dataclasses.replace(series, values=series.values * unit)
    one, two = (make(name).fit(s).forecast(s, 1) for s in (series, other))
    off = ~np.eye(len(ACTORS), dtype=bool)  # nobody's relation to himself is forecast
    np.testing.assert_allclose((two.level / unit)[:, off], one.level[:, off], atol=0.01)
    np.testing.assert_allclose((two.distribution.sd / unit)[:, off], one.distribution.sd[:, off], rtol=0.02)


def test_a_silent_series_is_forecast_silent(name):
    silent = make_series(80)
    silent = RelationalSeries(np.zeros(silent.shape), silent.dates, ACTORS, ACTIONS)
    forecast = make(name).fit(silent).forecast(silent, 1)
    assert np.abs(forecast.level).max() < 0.1 and forecast.interval(0.9)[1].max() == 0


def test_forecasting_before_fitting_is_refused(name):
    with pytest.raises(TRNNError, match=f"'{name}' must be fitted before"):
        make(name).forecast(SERIES, 1)


def test_a_history_of_other_actors_is_refused(model):
    with pytest.raises(TRNNError, match="must have the actors and actions the model"):
        model.forecast(SERIES.select(actors=ACTORS[:3]), 1)


@pytest.mark.parametrize("horizon", [0, -1, 1.5])
def test_a_horizon_below_one_is_refused(model, horizon):
    with pytest.raises(TRNNError, match="horizon must be a whole number"):
        model.forecast(SERIES, horizon)


def test_too_short_a_series_is_refused(name):
    with pytest.raises(TRNNError, match="needs at least"):
        make(name).fit(SERIES.select(periods=slice(0, 8)))


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(TRNNError, match="must be one of recommended, tlstm, tgru, persistence"):
        create("oracle")


@pytest.mark.parametrize("name", [n for n in BASELINES if not n.startswith("vector")])  # weights drawn at random
def test_renaming_actors_only_moves_the_forecast(name):
    order = (3, 0, 4, 1, 2)
    turned = SERIES.select(actors=[ACTORS[i] for i in order])
    one = make(name).fit(SERIES).forecast(SERIES, 1).level[0]
    two = make(name).fit(turned).forecast(turned, 1).level[0]
    np.testing.assert_allclose(two, one[np.ix_(order, order)], atol=2e-3)
