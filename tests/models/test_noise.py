"""The noise model finds the distribution that made the counts, and holds still outside what it saw."""

from __future__ import annotations

import numpy as np

from trnn_core.models.noise import fit_count_noise, fit_value_noise


def simulate(n: int = 60_000, seed: int = 0):
    rng = np.random.default_rng(seed)
    activity = np.exp(rng.normal(-2, 1.5, (n, 2)))
    size = np.array([0.4, 2.0])
    counts = rng.negative_binomial(size, size / (size + activity))
    return np.log1p(activity), activity, counts, size


def test_mean_and_dispersion_are_recovered_where_the_data_are():
    level, activity, counts, size = simulate()
    noise = fit_count_noise(level, activity, counts)
    usual = np.quantile(activity, [0.2, 0.5, 0.8, 0.95])[:, None] * np.ones(2)
    found = noise.distribution(np.log1p(usual), usual)
    np.testing.assert_allclose(found.mean, usual, rtol=0.12)
    np.testing.assert_allclose(found.size[2:], np.broadcast_to(size, (2, 2)), rtol=0.4)


def test_counting_zeros_on_a_grid_changes_the_fit_by_less_than_its_error():
    level, activity, counts, _ = simulate()
    other = simulate(seed=1)
    one, two = fit_count_noise(level, activity, counts), fit_count_noise(*other[:3])
    at = np.quantile(activity, [0.3, 0.9])[:, None] * np.ones(2)
    np.testing.assert_allclose(
        one.distribution(np.log1p(at), at).mean, two.distribution(np.log1p(at), at).mean, rtol=0.15
    )


def test_levels_beyond_training_are_held_to_its_range():
    level, activity, counts, _ = simulate(5_000)
    noise = fit_count_noise(level, activity, counts)
    far = noise.distribution(np.full(2, 50.0), np.full(2, 1e6))
    edge = noise.distribution(np.full(2, level.max()), np.full(2, activity.max()))
    np.testing.assert_array_equal(far.mean, edge.mean)
    assert (far.mean <= counts.max() + 1).all()


def test_the_spread_of_values_follows_their_recent_changes():
    rng = np.random.default_rng(0)
    activity = np.exp(rng.normal(0, 1, (20_000, 1)))
    values = activity * 1.5 * rng.standard_normal(activity.shape)
    noise = fit_value_noise(np.zeros_like(values), activity, values)
    np.testing.assert_allclose(
        noise.distribution(np.zeros(3), np.array([0.5, 1.0, 3.0])).sd, [0.75, 1.5, 4.5], rtol=0.05
    )
