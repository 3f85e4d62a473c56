"""A real Dask cluster on this machine, set up as docs/server.md says: a scheduler and workers, each a process that can be
killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


class Cluster:
    """`with Cluster(folder, 2) as cluster: ... cluster.address`"""

    def __init__(self, folder: Path, n_workers: int, preload: str = "", **environment: str) -> None:
        """preload    a module that scheduler and workers load instead of what docs/server/dask.yaml says"""
        self.folder, self.n_workers, self.port = folder, n_workers, free_port()
        self.preload, self.environment = ["--preload", preload] if preload else [], environment
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Cluster:
        self.start_scheduler()
        for _ in range(self.n_workers):
            self.start_worker()
        return self

    def __exit__(self, *_: object) -> None:
        for process in [*self.workers, self.scheduler]:
            if process is not None:
                self._kill(process)

    def start_scheduler(self) -> None:
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard")
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError("the scheduler did not start")

    def start_worker(self) -> None:
        self.workers.append(
            self._start(
                "worker",
                self.address,
                "--nthreads",
                "1",
                "--no-dashboard",
                "--host",
                "127.0.0.1",
                "--no-nanny",
                "--local-directory",
                str(self.folder),
            )
        )

    def wait_for_workers(self) -> None:
        """Until all of them have joined."""
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(self.n_workers, timeout=60)

    def kill_worker(self) -> None:
        self._kill(self.workers.pop(0))

    def restart_scheduler(self) -> None:
        """Killed and started again at the same address, with new workers, as a service manager does."""
        assert self.scheduler is not None
        self._kill(self.scheduler)
        self.start_scheduler()
        for process in self.workers:
            self._kill(process)
        self.workers = []
        for _ in range(self.n_workers):
            self.start_worker()

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            "PYTHONPATH": str(ROOT),
            "DASK_CONFIG": "" if self.preload else str(ROOT / "docs" / "server" / "dask.yaml"),
            **self.environment,
        }
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments, *self.preload],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
