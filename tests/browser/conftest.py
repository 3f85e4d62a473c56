"""A real server on a free port and a real Chromium; nothing mocked."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from scripts.serve import Server
from tests.jobs.ending import end_jobs
from tests.trained_store import make_home
from trnn_core.runs.store import RunStore

WAIT = 60_000  # milliseconds; the machine may be busy


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(item.fspath).is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_home(tmp_path_factory.mktemp("template") / "home", n_actors=8, n_periods=120)


@pytest.fixture(scope="module")
def server(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("server") / "home"
    shutil.copytree(template, home)
    with Server(home / "data", home / "runs") as running:
        yield running
    end_jobs(RunStore(home / "runs"))


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    made = chromium.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
    made.set_default_timeout(WAIT)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()
