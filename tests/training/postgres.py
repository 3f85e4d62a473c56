"""A real PostgreSQL server of its own: a fresh data folder, a free port, its own user where we are root."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.jobs.dask_cluster import free_port


def programs() -> Path:
    """The folder of initdb and postgres; the calling test is skipped, saying so, where they are not installed."""
    found = shutil.which("initdb")
    folders = (
        [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    )
    for folder in folders:
        if (folder / "postgres").exists():
            return folder
    pytest.skip("no PostgreSQL server here (Debian's package is 'postgresql'; `make postgres` installs it)")


def _user() -> str | None:
    """PostgreSQL does not run as root."""
    if os.geteuid():
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    pytest.skip("PostgreSQL does not run as root, and there is no other user here")


@contextmanager
def server() -> Iterator[str]:
    """The address of a database that is gone afterwards."""
    folder, user, port = programs(), _user(), free_port()
    home = Path(tempfile.mkdtemp(prefix="trnn-postgres-"))
    if user:
        shutil.chown(home, user)
    common = {"user": user, "cwd": home, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        subprocess.run(
            [folder / "initdb", "-D", home / "data", "-U", "trnn", "-A", "trust", "-E", "UTF8", "--no-sync"],
            check=True,
            **common,
        )
        options = [
            "-D",
            home / "data",
            "-p",
            str(port),
            "-k",
            str(home),
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "fsync=off",
        ]
        process = subprocess.Popen([folder / "postgres", *map(str, options)], **common)
        try:
            _wait(folder, port)
            yield f"postgresql://trnn@127.0.0.1:{port}/postgres"
        finally:
            process.send_signal(signal.SIGINT)  # at once, though clients are still connected
            process.wait(60)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _wait(folder: Path, port: int) -> None:
    end = time.monotonic() + 60
    ready = [str(folder / "pg_isready"), "-h", "127.0.0.1", "-p", str(port)]
    while subprocess.run(ready, capture_output=True).returncode:
        assert time.monotonic() < end, "the PostgreSQL server did not start"
        time.sleep(0.2)
