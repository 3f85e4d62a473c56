"""The dashboard as a context: started on a free port with its own data and runs, ended on leaving.

Used by the browser tests, the screenshots and the page benchmarks.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parents[1]
# Every rerun is a thread of its own, and glibc would give each a heap with holes of its own: with two, memory stays
# level.
HEAPS = {"MALLOC_ARENA_MAX": "2"}


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """`url` answers once the constructor has returned; `kill` and `start` may be called in between.

    prefix         the path under which a reverse proxy shows it
    options        further words for the command line
    environment    further variables
    before         a command that starts it, such as one that puts it into a namespace of its own
    """

    def __init__(
        self,
        data: Path,
        runs: Path,
        wait: float = 60.0,
        *,
        prefix: str = "",
        options: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        before: Sequence[str] = (),
    ):
        self.data, self.runs, self.wait, self.prefix = data, runs, wait, prefix
        self.before = before
        self.options = [*options, *(["--server.baseUrlPath", prefix] if prefix else [])]
        self.environment = {"TRNN_DATA": str(data), "TRNN_RUNS": str(runs), **(environment or {})}
        self.port = free_port()
        self.output = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the object
        self.start()

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}" + (f"/{self.prefix}" if self.prefix else "")

    def start(self) -> None:
        self.process = subprocess.Popen(
            [
                *self.before,
                sys.executable,
                "-m",
                "streamlit",
                "run",
                "scripts/studio.py",
                "--server.port",
                str(self.port),
                "--server.headless",
                "true",
                *self.options,
            ],
            cwd=ROOT,
            env=HEAPS | os.environ | self.environment,
            stdout=self.output,
            stderr=self.output,
            start_new_session=True,
        )
        deadline = time.monotonic() + self.wait
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=2).read()
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"the server did not answer: {self.log()[-2000:]}")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)

    def log(self) -> str:
        self.output.seek(0)
        return self.output.read().decode(errors="replace")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.output.close()
