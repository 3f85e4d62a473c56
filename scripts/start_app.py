"""Start the dashboard on a free port of this machine and stay until it ends (`make app`).

Two starts side by side take turns choosing a port, so that neither loses it to the other.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.lock import locked  # noqa: E402
from scripts.serve import HEAPS  # noqa: E402

FIRST_PORT, TRIES = 8501, 20


def main() -> int:
    wanted = os.environ.get("PORT", "")
    with locked(ROOT / ".start.lock"):
        try:
            port = choose_port(wanted)
        except ValueError as e:
            sys.stderr.write(f"{e}\n")
            return 1
        command = [sys.executable, "-m", "streamlit", "run", "scripts/studio.py", "--server.port", str(port)]
        server = subprocess.Popen(command + sys.argv[1:], cwd=ROOT, env=HEAPS | os.environ)
        signal.signal(signal.SIGTERM, lambda *_: server.terminate())
        wait_until_up(server, port)
    try:
        return server.wait()
    except KeyboardInterrupt:
        server.terminate()
        server.wait()
        return 0


def choose_port(wanted: str) -> int:
    if wanted:
        if not wanted.isdigit() or not 1 <= int(wanted) <= 65535:
            raise ValueError(f"PORT must be a number from 1 to 65535, got '{wanted}': try 'make app PORT=8600'.")
        if not is_free(int(wanted)):
            raise ValueError(
                f"Port {wanted} is taken by another program: stop it, or choose another with 'make app PORT=8600'."
            )
        return int(wanted)
    port = next((p for p in range(FIRST_PORT, FIRST_PORT + TRIES) if is_free(p)), None)
    if port is None:
        raise ValueError(
            f"Ports {FIRST_PORT} to {FIRST_PORT + TRIES - 1} are all taken: stop an older dashboard, or choose a port"
            " with 'make app PORT=8600'."
        )
    if port != FIRST_PORT:
        sys.stdout.write(f"Port {FIRST_PORT} is taken, so this dashboard is on http://localhost:{port}\n")
        sys.stdout.flush()
    return port


def is_free(port: int) -> bool:
    """Free only if nobody listens there and we may."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            return False
    with socket.socket() as probe:
        if os.name != "nt":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def wait_until_up(server: subprocess.Popen, port: int, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and server.poll() is None and is_free(port):
        time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main())
