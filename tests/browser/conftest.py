"""A real server on a free port and a real Chromium; nothing mocked."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from scripts.find_browser import installed
from tests.trained_store import make_home

ROOT = Path(__file__).resolve().parents[2]
WAIT = 60_000  # milliseconds; the machine may be busy


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(item.fspath).is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.xdist_group("browser"))


class Server:
    """The dashboard as `make app` starts it, on its own data and runs."""

    def __init__(self, home: Path):
        self.home = home
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.start()

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def start(self) -> None:
        environment = os.environ | {
            "TRNN_DATA": str(self.home / "data"),
            "TRNN_RUNS": str(self.home / "runs"),
            "PYTHONPATH": str(ROOT),
        }
        with (self.home / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(self.port), "--server.headless", "true"],
                cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=2).read()
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError(f"the server did not answer: {self.log()[-2000:]}")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)

    def log(self) -> str:
        return (self.home / "server.log").read_text(errors="replace")


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_home(tmp_path_factory.mktemp("template") / "home", n_actors=8, n_periods=120)


@pytest.fixture(scope="module")
def server(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("server") / "home"
    shutil.copytree(template, home)
    running = Server(home)
    yield running
    running.stop()
    end_worker(home)


def end_worker(home: Path) -> None:
    """The worker outlives the server by design; here it is told to end."""
    from trnn_core.training.jobs import worker_folder
    from trnn_core.training.processes import read_beat
    from trnn_core.training.store import RunStore

    beat = read_beat(worker_folder(RunStore(home / "runs")) / "heartbeat.json")
    pid = beat.get("pid") if isinstance(beat, dict) else getattr(beat, "pid", None)
    if pid:
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGTERM)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = installed()
    if path is None:
        pytest.fail("no Chromium: run `make browser`, or name one with TRNN_BROWSER")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    made = chromium.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
    made.set_default_timeout(WAIT)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()
