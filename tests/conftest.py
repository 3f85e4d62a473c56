"""Shared by all tests: one thread per process, browser tests on one worker, a small made-up series."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest

from trnn_core.data.series import QUAD_ACTIONS, Provenance, RelationalSeries


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="session")
def small_series() -> RelationalSeries:
    """Six countries, four actions, 60 weeks of counts; names that try to be something else."""
    rng = np.random.default_rng(7)
    actors = ("France", "Côte d'Ivoire", "Korea, South", "=cmd()", "<script>x</script>", "Japan")
    rates = rng.gamma(0.6, 3.0, size=(6, 6, 4)) * (1 - np.eye(6))[:, :, None]
    values = rng.poisson(rates, size=(60, 6, 6, 4)).astype(float)
    dates = np.datetime64("2004-01-01") + 7 * np.arange(60)
    return RelationalSeries(values, dates, actors, QUAD_ACTIONS, source=Provenance("Made up", simulated=True))
