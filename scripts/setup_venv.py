"""Make `.venv` and install a requirements file into it, once: a stamp remembers what is installed.

Runs on the machine's own Python with the standard library only. Several of these may start side by side: a lock lets
one install while the others wait. Whatever goes wrong is told in one sentence; pip's own words stay in a log file.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.lock import locked  # noqa: E402

VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
LOG = ROOT / ".setup.log"

# What pip says -> what the user is told to do.
REASONS = [
    (
        (
            r"NewConnectionError|NameResolution|Max retries|Network is unreachable|ConnectTimeout|ProxyError|Connection"
            r" refused|from versions: none"
        ),
        "the package index could not be reached: check the network (or your proxy) and run the command again",
    ),
    (r"No space left on device", "the disk is full: free about 4 GB and run the command again"),
    (
        r"No matching distribution found for (\S+)",
        "a package has no build for this computer: try Python 3.11, 3.12 or 3.13 with 'make app PYTHON=...'",
    ),
    (r"Permission denied", "this folder may not be written to: move the project to a folder of your own"),
]


class SetupFailed(Exception):
    """Told to the user in one sentence."""


def main(requirements: str) -> int:
    try:
        with locked(ROOT / ".setup.lock", waiting="Another start is installing; waiting for it to finish."):
            prepare(ROOT / requirements)
    except SetupFailed as e:
        sys.stderr.write(f"{e}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("Stopped; run the command again to go on installing where it left off.\n")
        return 1
    return 0


def prepare(requirements: Path) -> None:
    stamp = VENV / f".installed-{requirements.stem}"
    wanted = fingerprint(requirements)
    if PYTHON.exists() and stamp.exists() and stamp.read_text() == wanted:
        return
    if not works(PYTHON):
        sys.stdout.write("Making .venv\n")
        sys.stdout.flush()
        run_logged([sys.executable, "-m", "venv", "--clear", str(VENV)], "no environment could be made", venv_reason)
    sys.stdout.write(f"Installing {requirements.name} (once; torch is large, so this can take some minutes)\n")
    sys.stdout.flush()
    flags = shlex.split(os.environ.get("PIP_FLAGS", ""))
    run_logged(
        [
            str(PYTHON),
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--progress-bar",
            "off",
            "--retries",
            "2",
            *flags,
            "-r",
            str(requirements),
        ],
        "the packages could not be installed",
        pip_reason,
    )
    stamp.write_text(wanted)


def fingerprint(requirements: Path) -> str:
    """Of the file and of those it includes, and of pip's flags."""
    digest = hashlib.sha256(os.environ.get("PIP_FLAGS", "").encode())
    digest.update(requirements.read_bytes())
    for included in re.findall(r"^-r\s+(\S+)", requirements.read_text(), re.M):
        digest.update((requirements.parent / included).read_bytes())
    return digest.hexdigest()


def works(python: Path) -> bool:
    """Whether the environment's Python starts and has pip (a half-made or moved one does not)."""
    if not python.exists():
        return False
    check = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    return subprocess.run([str(python), "-c", check], capture_output=True).returncode == 0


def run_logged(command: list[str], what: str, reason: Callable[[str], str]) -> None:
    """Show pip's downloads briefly, keep everything in the log, and fail with one sentence."""
    said: list[str] = []
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace"
    )
    assert process.stdout is not None
    for line in process.stdout:
        said.append(line)
        download = re.match(r"\s*Downloading (?:\S*/)?([A-Za-z0-9_.]+-[0-9][^-\s]*)\S*(?: \((.+)\))?", line)
        if download:
            sys.stdout.write(f"  {download[1]} {download[2] or ''}\n")
            sys.stdout.flush()
    failed = process.wait()
    LOG.write_text("".join(said), encoding="utf-8")
    if failed:
        raise SetupFailed(f"{what[0].upper()}{what[1:]}, because {reason(''.join(said))} (details in {LOG.name}).")


def pip_reason(text: str) -> str:
    for pattern, sentence in REASONS:
        if re.search(pattern, text):
            return sentence
    errors = re.findall(r"^ERROR: (.+)$", text, re.M)
    return f"pip said: {errors[-1].strip().rstrip('.')}" if errors else "pip stopped"


def venv_reason(text: str) -> str:
    if "ensurepip" in text or "No module named venv" in text:
        return "this Python lacks the venv module: on Debian or Ubuntu run 'sudo apt install python3-venv', then again"
    return pip_reason(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "requirements.txt"))
