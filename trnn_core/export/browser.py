"""A Chromium without a window: prints a report to PDF and turns charts into images. It never goes on the network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from trnn_core.errors import TRNNError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1100,1400",
    "--hide-scrollbars",
    "--mute-audio",
    "--force-color-profile=srgb",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    # A page's own clock runs on until its scripts are done, then the result is taken.
    "--virtual-time-budget=60000",
)
TIMEOUT = 120.0
LOOK_SECONDS = 0.2
_look: ContextVar[Callable[[], None]] = ContextVar("look", default=lambda: None)


@contextmanager
def while_waiting(look: Callable[[], None]) -> Iterator[None]:
    """Inside it `look` is called while a browser is at work; what it raises ends the browser."""
    token = _look.set(look)
    try:
        yield
    finally:
        _look.reset(token)


def find_browser() -> str:
    """The program to use; `TRNN_BROWSER` names another one."""
    named = os.environ.get("TRNN_BROWSER")
    for name in [named] if named else [*NAMES, MAC]:
        path = shutil.which(name)
        if path:
            return path
    looked = f"TRNN_BROWSER={named} is not a program" if named else "none was found"
    raise TRNNError(
        f"PDF files, slides and images need Chromium or Chrome, and {looked}; install one or set TRNN_BROWSER to its"
        " path. HTML reports, tables and networks work without."
    )


def print_pdf(html: str, timeout: float = TIMEOUT) -> bytes:
    """A page printed with its own print style."""
    with tempfile.TemporaryDirectory(prefix="trnn-", ignore_cleanup_errors=True) as folder:
        out = Path(folder) / "page.pdf"
        _run(html, Path(folder), [f"--print-to-pdf={out}", "--no-pdf-header-footer"], timeout)
        content = out.read_bytes() if out.exists() else b""
    if not content.startswith(b"%PDF"):
        raise TRNNError("The browser printed no PDF; try again, or name another Chromium with TRNN_BROWSER.")
    return content


def run_page(html: str, marker: str, timeout: float = TIMEOUT) -> str:
    """Load a page and return the text its scripts left in the element `<pre id=marker>`."""
    with tempfile.TemporaryDirectory(prefix="trnn-", ignore_cleanup_errors=True) as folder:
        dumped = _run(html, Path(folder), ["--dump-dom"], timeout)
    found = re.search(rf'<pre id="{marker}">(.*?)</pre>', dumped, re.S)
    if found is None:
        raise TRNNError("The browser drew no image; try again, or name another Chromium with TRNN_BROWSER.")
    return found[1]


def _run(html: str, folder: Path, arguments: list[str], timeout: float) -> str:
    page = folder / "page.html"
    page.write_text(html, encoding="utf-8")
    as_root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    profile = f"--user-data-dir={folder / 'profile'}"
    command = [find_browser(), *FLAGS, *as_root, profile, *arguments, page.as_uri()]
    try:
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            try:
                out, errors = _wait(process, timeout)
            except BaseException:
                process.kill()
                raise
    except subprocess.TimeoutExpired as e:
        raise TRNNError(
            f"The browser did not finish within {timeout:.0f} s; try again when the machine is less busy."
        ) from e
    except OSError as e:
        raise TRNNError(
            f"The browser {command[0]} does not start ({e.strerror}); name another one with TRNN_BROWSER."
        ) from e
    if process.returncode != 0:
        last = (errors.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        raise TRNNError(
            f"The browser {command[0]} failed with code {process.returncode} ({last[:200]}); name another one with"
            " TRNN_BROWSER."
        )
    return out.decode("utf-8", errors="replace")


def _wait(process: subprocess.Popen[bytes], timeout: float) -> tuple[bytes, bytes]:
    begun = time.monotonic()
    while True:
        try:
            return process.communicate(timeout=LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            if time.monotonic() - begun > timeout:
                raise
            _look.get()()
