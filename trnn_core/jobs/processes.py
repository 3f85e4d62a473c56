"""Who runs a job, and whether it still does: process identity, heartbeat counters, and the clock of the watcher.

No wall clock is compared: a process is known by pid, start time and boot; a heartbeat is a counter, and only whoever
watches it measures, on a monotonic clock, how long it has stood still.
"""

from __future__ import annotations

import os
import platform
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

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
    return Identity(pid, _started(pid)[0], _boot(), _place())


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
    started, state = _started(known.pid)
    return "alive" if started == known.started and state not in ("Z", "X") else "dead"


def _started(pid: int) -> tuple[str, str]:
    """Start time in ticks since boot, and the state letter; ('', 'X') for no such process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[19], fields[0]
    except OSError:
        if Path("/proc/self/stat").exists():
            return "", "X"
    import psutil  # systems without /proc

    try:
        process = psutil.Process(pid)
        return f"{process.create_time():.2f}", "Z" if process.status() == psutil.STATUS_ZOMBIE else "S"
    except psutil.Error:
        return "", "X"


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return platform.node()


def _place() -> str:
    try:
        return f"{platform.node()}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return platform.node()


class Heartbeat:
    """A thread that counts upwards in a file for as long as the process lives."""

    def __init__(self, path: Path, seconds: float = BEAT_SECONDS):
        self.path, self.seconds = Path(path), seconds
        self.progress: dict[str, Any] = {}  # what the loop is at, for whoever watches
        self._stop = threading.Event()
        self._counter = (read_beat(self.path) or {}).get(
            "counter", 0
        )  # going on from the last writer's: never a step back
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
        payload = {"counter": self._counter, "process": self._process, "progress": dict(self.progress)}
        with suppress(TRNNError):  # a full disk may have room again at the next beat
            write_sealed(self.path, payload, durable=False)

    def _run(self) -> None:
        while not self._stop.wait(self.seconds) and self.path.parent.exists():  # deleted: nothing left to report to
            self.beat()

    def _beat(self, content: dict[str, Any]) -> None:
        write_sealed(self.path, content, durable=False)


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
