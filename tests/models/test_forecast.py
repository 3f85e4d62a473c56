"""The one Forecast: what it says agrees with its distribution, and survives a file, new or old."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from trnn_core import Forecast
from trnn_core.cli import main
from trnn_core.errors import TRNNError
from trnn_core.files import npz_bytes
from trnn_core.models.distributions import KINDS, Bernoulli, Distribution, NegativeBinomial, Normal
from trnn_core.models.forecast import FIGURES
from trnn_core.runs.demo import ensure_demo

DEMO = Path(__file__).parents[2] / "data" / "demo_run" / "forecast.npz"  # written before distributions were kept
SHAPE = (3, 4, 4, 2)
RNG = np.random.default_rng(7)
MADE: dict[str, Distribution] = {
    "NegativeBinomial": NegativeBinomial(RNG.gamma(0.7, 3.0, SHAPE), RNG.gamma(2.0, 0.5, SHAPE) + 0.05),
    "Normal": Normal(RNG.normal(size=SHAPE), RNG.gamma(2.0, 1.0, SHAPE) + 0.1),
    "Bernoulli": Bernoulli(RNG.random(SHAPE)),
}


def make(kind: str = "NegativeBinomial", **changes) -> Forecast:
    dates = np.datetime64("2004-01-08") + 7 * np.arange(SHAPE[0])
    last = np.round(RNG.gamma(1.0, 2.0, SHAPE[1:]))
    last[0, 1, 0] = np.nan
    labels = (("A", "B", "Côte d'Ivoire", "D"), ("x", "y"))
    meta = {"simulated": True, "level": 0.9, "words": "as told"}
    level = RNG.gamma(1.0, 1.0, SHAPE)
    return replace(Forecast(dates, dates[0] - 7, *labels, level, MADE[kind], last, meta=meta), **changes)


def test_every_kind_of_distribution_is_tried_here():
    assert set(MADE) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_forecast_is_the_same_forecast(kind, tmp_path):
    made = make(kind, observed=np.full(SHAPE, np.nan))
    made.save(tmp_path / "f.npz")
    again = Forecast.load(tmp_path / "f.npz")
    assert (again.dates == made.dates).all() and again.last_date == made.last_date and again.meta == made.meta
    assert (again.actors, again.actions) == (made.actors, made.actions)
    np.testing.assert_array_equal(again.last_values, made.last_values)
    np.testing.assert_array_equal(again.observed, made.observed)
    for name in FIGURES:
        np.testing.assert_allclose(getattr(again, name), getattr(made, name), rtol=1 / 8000)
    np.testing.assert_allclose(again.level, made.level, rtol=1 / 256)
    assert type(again.distribution) is KINDS[kind]
    np.testing.assert_allclose(again.probability(at_least=1), made.probability(at_least=1), atol=3e-3)
    assert again.to_npz() == made.to_npz()  # and the digits kept are kept for good


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_intervals_and_chances_are_those_of_the_distribution(kind, level):
    forecast, known = make(kind), MADE[kind]
    lower, upper = forecast.interval(level)
    np.testing.assert_array_equal(lower, known.quantile((1 - level) / 2))
    np.testing.assert_array_equal(upper, known.quantile((1 + level) / 2))
    np.testing.assert_array_equal(forecast.mean, known.mean)
    above = 1 - known.cdf(np.ones(()) if kind == "Normal" else np.zeros(()))  # a count of at least 1 is one above 0
    np.testing.assert_allclose(forecast.probability(at_least=1), above)


def test_chances_of_counts_are_sums_of_probabilities():
    one = NegativeBinomial(np.full(SHAPE, 2.0), np.ones(SHAPE))  # P(0) = 1/3, P(1) = 2/9, P(2) = 4/27
    forecast = make(exact=one)
    assert forecast.probability()[0, 0, 1, 0] == pytest.approx(2 / 3)
    assert forecast.probability(at_least=3)[0, 0, 1, 0] == pytest.approx(1 - 1 / 3 - 2 / 9 - 4 / 27)
    assert (forecast.probability(at_least=0) == 1).all()


def test_a_chance_of_any_event_says_nothing_of_two():
    with pytest.raises(TRNNError, match=r"the chance of any event only\. Got a question for at least 2"):
        make("Bernoulli").probability(at_least=2)


@pytest.mark.parametrize("level", [0, 1, -0.1, 90])
def test_an_interval_needs_a_level_between_0_and_1(level):
    with pytest.raises(TRNNError, match="must lie between 0 and 1"):
        make().interval(level)


def test_a_file_of_an_earlier_version_shows_its_figures_and_says_what_it_lacks():
    forecast = Forecast.load(DEMO)
    with np.load(DEMO, allow_pickle=False) as stored:
        assert "distribution" not in stored.files
        for name in (*FIGURES, "last_values"):
            np.testing.assert_array_equal(getattr(forecast, name), stored[name])
        assert [str(d) for d in forecast.dates] == stored["dates"].tolist()
        assert str(forecast.last_date) == str(stored["last_date"])
    assert forecast.simulated and forecast.horizon == 8 and forecast.observed is None
    np.testing.assert_array_equal(forecast.interval(0.9)[1], forecast.upper)
    assert np.isnan(forecast.level).all()
    for ask in (lambda: forecast.probability(at_least=1), lambda: forecast.interval(0.5)):
        with pytest.raises(TRNNError, match="not its whole distribution; train the run again"):
            ask()
    again = Forecast.from_npz(forecast.to_npz())
    assert again.exact is None and np.array_equal(again.upper, forecast.upper)


def test_the_frame_of_the_demo_is_the_table_of_the_command_line_byte_for_byte(tmp_path, capsys):
    """The reckoning of the command before there was a Forecast: the stored arrays, entry by entry, off the diagonal."""
    run = ensure_demo(tmp_path / "runs")
    assert (
        main(["forecast", "demo", "--runs", str(tmp_path / "runs"), "--horizon", "2", "--out", str(tmp_path / "f")])
        == 0
    )
    rows = ["date,source,target,action,mean,median,lower,upper,data"]
    with np.load(DEMO, allow_pickle=False) as stored:
        figures = {name: stored[name].astype(float) for name in FIGURES}
        actors, actions = stored["actors"].tolist(), stored["actions"].tolist()
        for h, i, j, k in np.ndindex(2, 25, 25, 4):
            if i != j:
                label = [str(stored["dates"][h]), actors[i], actors[j], actions[k]]
                rows.append(",".join([*label, *(repr(float(figures[f][h, i, j, k])) for f in FIGURES), "simulated"]))
    written = (tmp_path / "f").read_bytes()
    assert written == ("\ufeff" + "".join(f"{row}\r\n" for row in rows)).encode()
    frame = run.forecast().select(steps=slice(0, 2)).to_frame()
    assert frame.to_csv(index=False, lineterminator="\r\n").encode("utf-8-sig") == written


def test_part_of_a_forecast_is_the_part_of_its_figures():
    made = make(observed=RNG.random(SHAPE))
    part = made.select(steps=slice(1, 3), actions=slice(1, 2))
    assert part.actions == ("y",) and (part.dates == made.dates[1:]).all()
    for name in (*FIGURES, "level", "change", "error", "width", "observed"):
        np.testing.assert_array_equal(getattr(part, name), getattr(made, name)[1:, ..., 1:])
    pd.testing.assert_frame_equal(
        part.to_frame(),
        made.to_frame().query("action == 'y' and date > '2004-01-08'").reset_index(drop=True),
    )


def test_a_distribution_nobody_knows_is_refused():
    with np.load(DEMO, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    with pytest.raises(TRNNError, match=r"must be one of NegativeBinomial, Normal, Bernoulli\. Got 'Zipf'"):
        Forecast.from_npz(npz_bytes(**arrays, distribution=np.array("Zipf")))
    for name, spoilt in (("meta", "{"), ("dates", ["someday"] * 8), ("distribution", "NegativeBinomial")):
        with pytest.raises(TRNNError, match=r"f\.npz cannot be read"):
            Forecast.from_npz(npz_bytes(**{**arrays, name: np.array(spoilt)}), "f.npz")
    with pytest.raises(TRNNError, match=r"f\.npz cannot be read"):
        Forecast.from_npz(b"PK\x03\x04 and no more", "f.npz")
