"""A worker in a process of its own, and what may be asked of it in a test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

import psutil

from tests.campaign import ROOT, until
from trnn_core.jobs.processes import pulse, read_beat
from trnn_core.runs.store import RunStore


class WorkerProcess:
    """Ended when the test is over, its jobs with it."""

    def __init__(
        self,
        store: RunStore,
        limit: int = 1,
        environment: Mapping[str, str] | None = None,
        first: Callable[[], None] | None = None,
    ):
        self.store = store
        command = [sys.executable, "-m", "trnn_core", "worker", "--limit", str(limit), "--runs", str(store.root)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=os.environ | dict(environment or {}), stderr=subprocess.DEVNULL, preexec_fn=first
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        seen = [read_beat(run.folder / "heartbeat.json") for run in self.store.runs()]
        self.process.terminate()
        try:
            self.process.wait(timeout=90)
        except subprocess.TimeoutExpired:
            for left in (*psutil.Process(self.process.pid).children(recursive=True), self.process):
                left.kill()
            raise
        until(lambda: not any(pulse(beat["process"]) == "alive" for beat in seen if beat), "a job outlived its worker")


def job_pid(store: RunStore, run_id: str) -> int:
    beat = read_beat(store.get(run_id).folder / "heartbeat.json")
    assert beat is not None, f"{run_id} has no heartbeat"
    return int(beat["process"]["pid"])


def reach(store: RunStore, run_id: str, epoch: int, seconds: float = 120.0) -> None:
    """Wait until a run at work has finished so many epochs."""

    def there() -> bool:
        status = store.get(run_id).status()
        assert status.is_live, f"{run_id} is {status.state}: {status.message}"
        return status.state == "running" and status.epoch >= epoch

    until(there, f"{run_id} reaches epoch {epoch}", seconds)


def cpu_seconds(pid: int) -> float:
    """Of a process and its children, those that have ended included."""
    used = psutil.Process(pid).cpu_times()
    living = sum(sum(child.cpu_times()[:2]) for child in psutil.Process(pid).children(recursive=True))
    return sum(used[:4]) + living


def make_home(folder: Path) -> Path:
    """A home for a server: the demo set; the demo run is put there by the first page."""
    import shutil

    (folder / "data").mkdir(parents=True)
    shutil.copy(ROOT / "data" / "demo.npz", folder / "data" / "demo.npz")
    return folder
