"""The simulated set: reproducible, marked, like real event data, and with influence that can be found again."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.simulation.measures import bloc_share, profile
from tests.shared_data import REPOSITORY, shared_file
from trnn_core.cli import main
from trnn_core.data.readers.npz import read_npz
from trnn_core.data.series import QUAD_ACTIONS
from trnn_core.data.simulated_world import COUNTRIES, world_names
from trnn_core.data.simulation import LINEAR, SATURATING, THRESHOLD, Dynamics, simulate, simulation_truth, truth_of
from trnn_core.errors import TRNNError

DEMO = REPOSITORY / "data" / "demo.npz"


def _load_comparison():
    path = REPOSITORY / "benchmarks" / "simulation" / "compare.py"
    spec = importlib.util.spec_from_file_location("compare_simulation", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


compare = _load_comparison()


@pytest.fixture(scope="module")
def demo():
    return simulate(0)


def test_the_shipped_demo_is_what_its_command_makes(demo, tmp_path: Path) -> None:
    assert main(["simulate", "--seed", "0", "--out", str(tmp_path / "again.npz")]) == 0
    again, shipped = read_npz(tmp_path / "again.npz"), read_npz(DEMO)
    assert shipped.fingerprint == again.fingerprint == demo.fingerprint
    assert shipped.source == demo.source
    assert DEMO.stat().st_size < 2e6


def test_the_demo_has_hoffs_shape_and_says_that_it_is_simulated(demo) -> None:
    assert demo.shape == (548, 25, 25, 4) and demo.actions == QUAD_ACTIONS
    assert demo.actors[:3] == ("North Korea", "Georgia", "Japan") and demo.actors[-1] == "Sudan"
    assert demo.dates[0].item().isoformat() == "2004-01-01" and demo.dates[0].item().strftime("%A") == "Thursday"
    assert demo.source.simulated and "simulated" in demo.source.title.lower()
    assert demo.source.report["simulation"]["seed"] == 0
    assert demo.observed.all() and (demo.values == np.round(demo.values)).all() and demo.values.min() == 0
    assert (demo.values[:, range(25), range(25)] == 0).all() and not demo.source.diagonal


def test_same_seed_same_world_other_seed_other_world() -> None:
    a, b, c = (simulate(seed, n_actors=6, n_periods=30) for seed in (3, 3, 4))
    assert a.fingerprint == b.fingerprint != c.fingerprint
    assert not np.array_equal(simulation_truth(3).sender_influence, simulation_truth(4).sender_influence)


def test_a_larger_world_has_real_and_distinct_names() -> None:
    series = simulate(0, n_actors=40, n_periods=2)
    assert series.shape == (2, 40, 40, 4) and series.actors[:25] == tuple(name for name, _, _ in COUNTRIES)
    names = world_names(250)
    assert len(set(names)) == 250 and names[:40] == series.actors and "Brazil" in names and names[-1] == "Actor 250"


# Stated in docs/simulation.md; "factor" compares by ratio, "off" by difference.
TOLERANCES = {
    "zeros": ("off", 0.03),
    "mean": ("factor", 1.6),
    "dispersion": ("factor", 2.2),
    "dispersion_large": ("factor", 1.6),
    "concentration": ("off", 0.10),
    "bursts": ("off", 0.12),
    "memory_1": ("off", 0.08),
    "memory_4": ("off", 0.10),
    "reciprocity": ("off", 0.12),
    "reciprocity_time": ("off", 0.13),
    "stability": ("off", 0.13),
}


def test_the_demo_looks_like_full_density_icews(demo) -> None:
    real_series = compare.read_counts(shared_file(compare.FULL), days=7)
    ours, real = compare.mean_profile(demo, len(real_series)), profile(real_series)
    wrong = []
    for action in QUAD_ACTIONS:
        for measure, (how, limit) in TOLERANCES.items():
            a, b = ours[action][measure], real[action][measure]
            miss = abs(a - b) if how == "off" else max(a / b, b / a)
            if not miss <= limit:
                wrong.append(f"{action}, {measure}: simulated {a:.3f}, real {b:.3f}, {how} {miss:.3f} > {limit}")
    assert not wrong, "\n".join(wrong)
    assert abs(bloc_share(demo) - bloc_share(real_series)) <= 0.1


def test_the_demo_drifts_as_slowly_as_ten_years_of_icews(demo) -> None:
    real, ours = profile(compare.read_counts(shared_file(compare.SAMPLE))), profile(demo)
    for action in ("verbal cooperation", "verbal conflict", "material conflict"):  # the fourth is too thin there
        assert ours[action]["memory_26"] == pytest.approx(real[action]["memory_26"], abs=0.05), action
        assert 0.03 < ours[action]["memory_26"] < ours[action]["memory_1"]


def test_the_known_influence_can_be_found_in_the_demo() -> None:
    found = compare.recovery(0)
    for mode in ("sender", "receiver", "action"):
        everywhere, off_diagonal = found[mode]
        assert everywhere >= 0.9 and off_diagonal >= 0.8, (mode, found[mode])


def test_influence_is_not_found_where_there_is_none() -> None:
    """The measure can fail: without influence the ties off the diagonal are not there to be found."""
    found = compare.recovery(0, Dynamics(strength=0.0, reciprocity=0.0))
    assert max(abs(found["sender"][1]), abs(found["receiver"][1])) < 0.35


def test_a_linear_model_is_wrong_where_only_unusual_weeks_are_felt() -> None:
    linear, told = compare.recovery(0, THRESHOLD), compare.recovery(0, THRESHOLD, felt=True)
    for mode in ("sender", "receiver", "action"):
        assert told[mode][1] - linear[mode][1] >= 0.08, (mode, linear[mode], told[mode])


def test_a_shock_spreads_along_the_ties() -> None:
    truth = simulation_truth(0)
    i, j, k = truth.actors.index("China"), truth.actors.index("Japan"), QUAD_ACTIONS.index("material conflict")
    first = truth.response("China", "Japan", "material conflict", n=2)[0]
    ties = (
        truth.sender_influence[:, i, None, None]
        * truth.receiver_influence[None, :, j, None]
        * truth.action_influence[:, k]
    )
    expected = 0.4 * truth.susceptibility * ties
    expected[j, i, k] += 0.4 * 0.12 * truth.susceptibility[j, i, k]
    np.testing.assert_allclose(first, expected)
    assert (first != 0).sum() < 0.02 * first.size  # a few ties, not everybody


def test_a_shock_in_the_data_is_followed_by_more_of_what_the_truth_says(demo) -> None:
    """In the weeks after an unusual week of a dyad, the cells its ties point to rise more than the others."""
    truth = simulation_truth(0)
    z = np.log1p(demo.values.astype(float))
    z -= z.mean(axis=0)
    source, target = "United States", "Russian Federation"
    i, j = truth.actors.index(source), truth.actors.index(target)
    shocks = np.flatnonzero(z[:-1, i, j, 0] > 1.0) + 1
    after = z[shocks].mean(axis=0)
    tied = truth.response(source, target, "verbal cooperation", n=1)[0] > 0.05
    tied[i, j] = tied[j, i] = False
    others = truth.response(source, target, "verbal cooperation", n=1)[0] == 0
    assert len(shocks) > 20 and tied.sum() >= 3
    assert after[tied].mean() > after[others].mean() + 0.1


@pytest.mark.parametrize("dynamics", [LINEAR, SATURATING, THRESHOLD])
def test_the_truth_travels_with_the_series(dynamics: Dynamics) -> None:
    series = simulate(5, n_actors=6, n_periods=10, dynamics=dynamics)
    truth = truth_of(series)
    assert truth.dynamics == dynamics and truth.actors == series.actors
    np.testing.assert_array_equal(
        truth.sender_influence, simulation_truth(5, n_actors=6, dynamics=dynamics).sender_influence
    )


def test_saturating_response_is_bounded() -> None:
    truth = simulation_truth(0, dynamics=SATURATING)
    assert np.abs(truth.step(np.full((25, 25, 4), 50.0))).max() <= SATURATING.level


def test_bad_arguments_are_told_in_a_sentence(capsys, tmp_path: Path) -> None:
    with pytest.raises(TRNNError, match=r"at least 3 actors and 2 periods. Got 1 actors"):
        simulate(0, n_actors=1)
    with pytest.raises(TRNNError, match="strength must be from 0 to 2"):
        simulate(0, dynamics=Dynamics(strength=5.0))
    with pytest.raises(TRNNError, match=r"linear, saturating or threshold. Got 'wild'"):
        simulate(0, dynamics=Dynamics(response="wild"))  # type: ignore[arg-type]
    with pytest.raises(TRNNError, match="Only a simulated series has a known truth"):
        truth_of(compare.RelationalSeries(np.zeros((2, 2, 2, 1)), np.array(["2004-01-01", "2004-01-08"]), "ab", "x"))
    assert main(["simulate", "--seed", "-1", "--out", str(tmp_path / "x.npz")]) == 2
    assert "seed must be 0 or more" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_the_command_answers_machines(capsys, tmp_path: Path) -> None:
    out = tmp_path / "small.npz"
    command = ["simulate", "--actors", "4", "--weeks", "12", "--response", "threshold", "--out", str(out), "--json"]
    assert main(command) == 0
    told = json.loads(capsys.readouterr().out)
    series = read_npz(out)
    assert told["simulated"] is True and told["fingerprint"] == series.fingerprint
    assert truth_of(series).dynamics == THRESHOLD
