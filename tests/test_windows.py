"""Windows has neither fcntl nor /proc: every module is imported, and a queued job done, where ours can have neither.

The libraries underneath (filelock, psutil) have their own ways on each system, and keep them here.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.jobs.ending import end_jobs
from tests.training.small import TINY
from trnn_core.evaluation.protocol import Protocol
from trnn_core.files import Busy, is_locked, lock
from trnn_core.runs.store import RunStore
from trnn_core.verbs.as_job import start
from trnn_core.verbs.backtest import KIND, Request

ROOT = Path(__file__).resolve().parents[1]
HIDDEN = ("fcntl", "resource", "pwd", "grp", "termios")
MISSING = ("killpg", "getpgid", "nice", "posix_fallocate", "setsid", "getuid", "fork")

# sitecustomize of every process of this test: what is not there on Windows is not there for our own code.
HIDE = f"""
import builtins, io, os, pathlib, sys

OURS = {str(ROOT)!r}

def ours(depth=2):
    frame = sys._getframe(depth)
    while frame is not None and frame.f_code.co_filename.startswith(("<frozen", pathlib.__file__)):
        frame = frame.f_back
    name = frame.f_code.co_filename if frame else ""
    return name.startswith(OURS) and ".venv" not in name

real_import = builtins.__import__

def hidden_import(name, *args, **more):
    if name.partition(".")[0] in {HIDDEN!r} and ours():
        raise ImportError(f"No module named {{name!r}} (hidden)")
    return real_import(name, *args, **more)

builtins.__import__ = hidden_import

def hide(module, name):
    real = getattr(module, name)
    def hidden(path, *args, **more):
        if str(path).startswith("/proc") and ours():
            raise FileNotFoundError(2, "No such file or directory (hidden)", str(path))
        return real(path, *args, **more)
    setattr(module, name, hidden)

for module, name in ((io, "open"), (builtins, "open"), (os, "open"), (os, "stat"), (os, "listdir")):
    hide(module, name)

class Absent:
    def __init__(self, real):
        self.real = real
    def __call__(self, *args, **more):
        assert not ours(), "not there on Windows"
        return self.real(*args, **more)

for name in {MISSING!r}:
    setattr(os, name, Absent(getattr(os, name)))
"""

IMPORT_ALL = """
import importlib, pathlib
for room in ("trnn_core", "ui"):
    for path in sorted(pathlib.Path(room).rglob("*.py")):
        name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        if name != "trnn_core.__main__":
            importlib.import_module(name)
print("all")
"""


@pytest.fixture
def hidden(tmp_path, monkeypatch):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(HIDE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))


def test_what_is_hidden_is_hidden(hidden):
    """Else the tests below would prove nothing."""
    for code in (
        "import fcntl",
        "open('/proc/self/stat')",
        "from pathlib import Path; Path('/proc/uptime').read_text()",
    ):
        script = ROOT / "trnn_core" / "files.py"
        done = subprocess.run(
            [sys.executable, "-c", f"exec(compile({code!r}, {str(script)!r}, 'exec'))"],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert done.returncode and "hidden" in done.stderr, (code, done.stderr)


def test_every_module_is_imported(hidden):
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL], cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.stdout.endswith("all\n"), done.stderr[-2000:]


def test_a_queued_training_and_another_job_come_to_their_end(hidden, tmp_path, small_series):
    store = RunStore(tmp_path / "runs")
    run = store.submit(TINY, small_series, run_id="one")
    store.keep_series(small_series)
    protocol = Protocol(min_origins=10)
    asked = Request(fingerprint=small_series.fingerprint, models=("persistence",), protocol=protocol)
    job = start(store, KIND, asked)  # starts the worker, whose environment hides what this process has
    try:
        assert run.wait(120).state == "finished", run.status()
        assert job.wait(60).state == "done", job.status()
    finally:
        end_jobs(store)


def test_a_taken_lock_is_an_error_of_its_own_class(tmp_path):
    with lock(tmp_path / "x", "first"):
        assert is_locked(tmp_path / "x")
        with pytest.raises(Busy, match="taken already"), lock(tmp_path / "x", "taken already", patience=0.05):
            pass
    assert not is_locked(tmp_path / "x") and (tmp_path / "x").exists()
