"""What a page says of a job that was killed, and how long it takes to: seen by a real server's page, not by the store.

A watcher on the same machine sees that the process is gone; one on another machine (here: a server that cannot see the
job's process, in a process namespace of its own) sees only a heartbeat that stands still.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import threading
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Self

import psutil

from scripts.serve import Server
from tests.campaign import Tally
from tests.faults.workers import WorkerProcess, make_home, reach
from tests.load.client import Session
from tests.training.small import SMALL
from trnn_core.data.series import RelationalSeries
from trnn_core.runs.store import RunStore

WORDS = {"queued": "waiting for its turn", "running": "training", "interrupted": "interrupted", "finished": "finished"}
LIMIT = 30.0  # seconds from the kill until a page says so
ELSEWHERE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
LONG = SMALL.changed(**{"train.epochs": 200_000})


class Onlooker:
    """A server on a store and one person on its Train page; a context manager."""

    def __init__(self, store: RunStore, before: tuple[str, ...] = ()):
        self.store, self.before, self.slowest, self.visitor = store, before, 0.0, None

    def __enter__(self) -> Self:
        home = make_home(self.store.root.parent / f"home-of-{self.store.root.name}")
        self.server = Server(home / "data", self.store.root, before=self.before)
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._leave())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.server.kill()  # `unshare` does not listen to less

    def _do(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(120)

    def open(self, run_id: str) -> None:
        """Turn to a run."""
        self._do(self._open(run_id))

    def until_shown(self, name: str, states: tuple[str, ...], since: float) -> None:
        """Look again, as often as the page asks for, until it says one of these; at most `LIMIT` after `since`."""
        self._do(self._until_shown([f"{name}: {WORDS[state]}" for state in states], since))

    async def _leave(self) -> None:
        if self.visitor is not None:
            await self.visitor.close()

    async def _open(self, run_id: str) -> None:
        await self._leave()
        self.visitor = Session(self.server.url, "Train", f"run={run_id}")
        await self.visitor.open()

    async def _until_shown(self, words: list[str], since: float) -> None:
        assert self.visitor is not None
        while True:
            await self.visitor.rerun(next(iter(self.visitor.live), ""))
            taken = time.monotonic() - since
            text = self.visitor.text().replace("\\", "")
            if any(w in text for w in words):
                self.slowest = max(self.slowest, taken)
                assert taken < LIMIT, f"shown after {taken:.0f} s only"
                return
            assert taken < LIMIT, f"the page does not say {' or '.join(words)} after {taken:.0f} s: {text[-300:]}"
            await asyncio.sleep(next(iter(self.visitor.live.values()), 1.0))


def can_go_elsewhere() -> bool:
    return (
        shutil.which("unshare") is not None
        and subprocess.run([*ELSEWHERE, "true"], capture_output=True, check=False).returncode == 0
    )


def other_machine(folder: Path, series: RelationalSeries, n_kills: int) -> Tally:
    """Job and worker are killed at once, as by a machine that dies: nobody is left to write it into the store."""
    tally, slowest = Tally(), 0.0
    if not can_go_elsewhere():
        tally.figures["not tried"] = "a watcher on another machine: no right to a process namespace here"
        return tally
    for n in range(n_kills):
        store = RunStore(folder / f"elsewhere-{n}")
        store.submit(LONG, series, run_id="far", name="Far run")
        worker = WorkerProcess(store)
        try:
            reach(store, "far", 2)
            with tally.case(f"a machine that dies, {n + 1}"), Onlooker(store, before=ELSEWHERE) as page:
                page.open("far")
                page.until_shown("Far run", ("running",), time.monotonic())
                end_at_once(worker)
                page.until_shown("Far run", ("interrupted",), time.monotonic())
                assert page.slowest > 5, "this page saw the process: it was to judge by the heartbeat"
                slowest = max(slowest, page.slowest)
        finally:
            end_at_once(worker)
    tally.figures["by one on another machine"] = f"{slowest:.0f} s"
    return tally


def end_at_once(worker: WorkerProcess) -> None:
    if worker.process.poll() is None:
        for process in (
            psutil.Process(worker.process.pid),
            *psutil.Process(worker.process.pid).children(recursive=True),
        ):
            process.kill()
        worker.process.wait()
