"""Make sure that a browser for the browser tests is there, and print where it is.

A Chromium or Chrome already on the machine; else Debian's package, where we may install one; else Playwright's own
download. `TRNN_BROWSER` names another one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"


def installed() -> str | None:
    """A browser that really starts, or None."""
    named = os.environ.get("TRNN_BROWSER")
    for name in [named] if named else [*NAMES, MAC]:
        path = shutil.which(name)
        if path and starts(path):
            return path
    own = None if named else playwrights_own()
    return own if own and starts(own) else None


def starts(path: str) -> bool:
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=30).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def playwrights_own() -> str | None:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    with sync_playwright() as p:
        path = p.chromium.executable_path
    return path if Path(path).exists() else None


def install() -> None:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update"], env=environment, **quiet)  # type: ignore[call-overload]
        done = subprocess.run(
            ["apt-get", "install", "-y", "--no-install-recommends", "chromium"], env=environment, **quiet
        )  # type: ignore[call-overload]
        if done.returncode == 0 and installed():
            return
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], stdout=subprocess.DEVNULL)


def main() -> int:
    if installed() is None:
        sys.stderr.write("No Chromium found; installing one for the browser tests.\n")
        install()
    path = installed()
    if path is None:
        sys.stderr.write(
            "No browser could be installed: install Chromium or Chrome, or name one with TRNN_BROWSER=/path/to/it, and"
            " run the command again.\n"
        )
        return 1
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
