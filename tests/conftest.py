"""Shared by all tests: one thread per process, browser tests on one worker, a small made-up series."""

from __future__ import annotations

import os
from collections.abc import Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from playwright.sync_api import Browser, sync_playwright

from scripts.find_browser import installed
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


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The one real browser of a test process."""
    path = installed()
    if path is None:
        pytest.fail("no Chromium: run `make browser`, or name one with TRNN_BROWSER")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()
