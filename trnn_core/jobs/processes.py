"""Who runs a job, and whether it still does: process identity, heartbeat counters, and the clock of the watcher.

No wall clock is compared: a process is known by pid, start time and boot; a heartbeat is a counter, and only whoever
watches it measures, on a monotonic clock, how long it has stood still.
"""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import psutil

import trnn_core
from trnn_core.errors import TRNNError
from trnn_core.files import read_sealed, write_sealed

Pulse = Literal["alive", "dead", "unknown"]
BEAT_SECONDS = 1.0
SILENCE_SECONDS = 20.0  # a counter that stands still this long belongs to a dead process
HUNG_TIMES = 6  # a process that is seen to live on this machine gets so many times longer: it may just be starved


@dataclass(frozen=True)
class Identity:
    """One process among all that ever ran: pids are reused, start times and boots are not."""

    pid: int
    started: str
    boot: str
    place: str  # host and pid namespace: the same pid elsewhere is another process

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def identify(pid: int | None = None) -> Identity:
    """This process, or the one with that pid now."""
    pid = os.getpid() if pid is None else pid
    return Identity(pid, _started(pid), _boot(), _place())


def pulse(process: dict[str, Any] | None) -> Pulse:
    """Whether the process described by a record runs; 'unknown' when it ran on another machine."""
    if not process:
        return "dead"
    try:
        known = Identity(**process)
    except TypeError:
        return "dead"
    if known.place != _place():
        return "unknown"
    if known.boot != _boot():
        return "dead"
    return "alive" if known.started and _started(known.pid) == known.started else "dead"


def _started(pid: int) -> str:
    """When a process was started, by a clock that nobody sets; empty for no such process, and for one that has ended
    and is only waited for."""
    try:
        while True:
            boot = psutil.boot_time()
            process = psutil.Process(pid)
            if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
                return ""
            if not psutil.LINUX:
                return f"{process.create_time():.2f}"  # noted by the system once
            started = process.create_time() - boot  # there both are counted from the boot, and move with the clock
            if psutil.boot_time() == boot:
                return str(round(started * 100))
    except psutil.Error:
        return ""


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return platform.node()  # no such thing but on Linux: the start time has to do


def _place() -> str:
    try:
        return f"{platform.node()}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return platform.node()


def machine_name() -> str:
    """This machine as part of a path."""
    return re.sub(r"[^A-Za-z0-9-]", "_", platform.node())[:60] or "host"


def start_detached(command: list[str], log: Path, threads: int = 1) -> subprocess.Popen:
    """A process of its own that outlives this one and its terminal; what it prints goes to the end of `log`.

    threads    set in its environment, before any library is loaded
    """
    apart: dict[str, Any] = (
        {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}  # type: ignore[attr-defined]
        if os.name == "nt"
        else {"start_new_session": True}
    )
    environment = os.environ | {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            cwd=Path(trnn_core.__file__).resolve().parents[1],  # where `python -m trnn_core` finds it
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            **apart,
        )


def yield_to_others() -> None:
    """Pages and other people come first."""
    psutil.Process().nice(10 if os.name != "nt" else psutil.BELOW_NORMAL_PRIORITY_CLASS)


def on_request_to_end(action: Callable[[], None]) -> None:
    """Call `action` when the system, a person or `ask_to_end` wants this process to end."""
    for name in ("SIGINT", "SIGTERM", "SIGBREAK"):
        if number := getattr(signal, name, None):
            signal.signal(number, lambda *_: action())


def ask_to_end(pid: int) -> None:
    with suppress(OSError):
        os.kill(pid, signal.SIGTERM if os.name != "nt" else signal.CTRL_BREAK_EVENT)  # type: ignore[attr-defined]


def kill_with_children(pid: int) -> None:
    """End a process and all that it has started, at once."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        for one in [*process.children(recursive=True), process]:
            with suppress(psutil.Error):
                one.kill()


class Heartbeat:
    """A thread that counts upwards in a file for as long as the process lives."""

    def __init__(self, path: Path, seconds: float = BEAT_SECONDS):
        self.path, self.seconds = Path(path), seconds
        self.progress: dict[str, Any] = {}  # what the loop is at, for whoever watches
        self.heard = False  # that it was asked to end, and is about to
        self._stop = threading.Event()
        last = read_beat(self.path) or {}
        self._counter = last.get("counter", 0)  # going on from the last writer's: never a step back
        self._process = identify().to_json()
        self._thread = threading.Thread(target=self._run, daemon=True, name="heartbeat")

    def __enter__(self) -> Heartbeat:
        self.beat()  # there before anybody is told that work has begun
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def beat(self) -> None:
        self._counter += 1
        payload = {
            "counter": self._counter,
            "process": self._process,
            "progress": dict(self.progress),
            "heard": self.heard,
        }
        with suppress(TRNNError):  # a full disk may have room again at the next beat
            write_sealed(self.path, payload, durable=False)

    def _run(self) -> None:
        while not self._stop.wait(self.seconds) and self.path.parent.exists():  # deleted: nothing left to report to
            self.beat()


def read_beat(path: Path) -> dict[str, Any] | None:
    """The last heartbeat, or None when there is none to be read."""
    try:
        return read_sealed(path)
    except TRNNError:
        return None


class Watcher:
    """Judges heartbeats over time: one per watching process, asked again and again."""

    def __init__(self, silence: float = SILENCE_SECONDS):
        self.silence = silence
        self._seen: dict[Path, tuple[int, float]] = {}

    def judge(self, path: Path) -> Pulse:
        """'dead' at once when the process is gone from this machine, or after `silence` of a counter standing still.

        A process that is seen to live on this machine gets longer: under heavy load it may just be starved.
        """
        beat = read_beat(path)
        process = beat["process"] if beat else None
        known = pulse(process)
        if known == "dead":
            return "dead"
        counter = beat["counter"] if beat else -1
        now = time.monotonic()
        last, since = self._seen.get(path, (None, now))
        if counter != last:
            self._seen[path] = (counter, now)
            return "alive" if last is not None else known
        patience = self.silence * (HUNG_TIMES if known == "alive" else 1)
        return "dead" if now - since > patience else "alive"


NO_MEMORY = (
    "MemoryError",
    "an't allocate",
    "annot allocate",
    "not enough memory",
    "failed to map segment",
    "llocation still failed",
)


def is_memory_error(words: str) -> bool:
    """Whether a message of Python, torch, BLAS or the loader of libraries means that there was no memory left.

    >>> is_memory_error("ImportError: libtorch_cpu.so: failed to map segment from shared object")
    True
    """
    return any(sign in words for sign in NO_MEMORY)


def last_words(path: Path) -> str:
    """The last line of a log, or that there is none."""
    try:
        lines = path.read_text(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1][:300] if lines else "its log is empty"
