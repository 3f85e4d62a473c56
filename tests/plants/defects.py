"""Planted defects: for each row of the long tests, one mistake that must turn it red.

`TRNN_PLANT=row` with this folder on Python's path puts a row's defect in place in every process of that row, the
servers, workers and jobs it starts included; the product itself knows nothing of it. `crash` is a tool: a mistake in a
page that nobody foresaw.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Spoiler = Callable[[Any], None]


@dataclass(frozen=True)
class Defect:
    words: str
    sign: str  # a pattern of what the row must then complain of: red for another reason proves nothing
    spoilers: Mapping[str, Spoiler] = field(default_factory=dict)  # by the module they spoil


def write_in_place(module: Any) -> None:
    """Checkpoints are written where they will be read, slowly, one file after the other."""

    def written(path: Path, files: dict[str, bytes], **_: Any) -> None:
        path.mkdir(exist_ok=True)
        for name, content in files.items():
            with (path / name).open("wb") as file:
                for at in range(0, len(content), 512):
                    file.write(content[at : at + 512])
                    file.flush()
                    time.sleep(0.005)

    module.write_folder = written


def die_with_the_server(module: Any) -> None:
    """Workers and jobs end when the server that started them is gone."""
    if sys.argv[0].endswith(("app.py", "studio.py")):  # Streamlit puts the script's name there
        os.environ["TRNN_PLANTED_SERVER"] = str(os.getpid())
        return
    server = os.environ.get("TRNN_PLANTED_SERVER")
    if server is None:
        return

    def watch() -> None:
        while Path(f"/proc/{server}").exists():
            time.sleep(0.1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def trust_every_byte(module: Any) -> None:
    module.Run.verify = lambda self: []
    module.Run.read_checked = lambda self, name: p.read_bytes() if (p := self.folder / name).exists() else None


def spin_when_a_write_fails(module: Any) -> None:
    """A write that fails is tried again at once, for ever."""

    def stubborn(write: Callable[..., None]) -> Callable[..., None]:
        def written(*args: Any, **more: Any) -> None:
            while True:
                try:
                    return write(*args, **more)
                except module.TRNNError:
                    continue

        return written

    for name in ("write_atomic", "write_folder", "append"):
        setattr(module, name, stubborn(getattr(module, name)))
    module.remove_folder = lambda path: None


def no_locks(module: Any) -> None:
    from contextlib import contextmanager

    @contextmanager
    def lock(path: Path, busy: str, patience: float = 0.5):
        yield

    module.lock = lock


def wall_clock(module: Any) -> None:
    """Hearts are judged by dates: a beat older than 20 s, or from the future, is a dead one."""

    def judge(self: Any, path: Path) -> str:
        beat = module.read_beat(path)
        if beat is None or module.pulse(beat["process"]) == "dead":
            return "dead"
        return "alive" if abs(time.time() - path.stat().st_mtime) < 20 else "dead"

    module.Watcher.judge = judge


def no_reason(module: Any) -> None:
    module.failure_words = lambda error: "The job failed."


def slow_pages(module: Any) -> None:
    gate = module.gate
    module.gate = lambda: (time.sleep(1.0), gate())[1]


def leak(module: Any) -> None:
    kept, gate = [], module.gate
    module.gate = lambda: (kept.append(os.urandom(2_000_000)), gate())[1]


def leak_in_live_panel(module: Any) -> None:
    kept, head = [], module.head

    def shown(*args: Any) -> None:
        kept.append(os.urandom(800_000))
        head(*args)

    module.head = shown


def careless_cache(module: Any) -> None:
    """The first set that is read is handed to everybody with a set of the same size."""
    read, seen = module.load_file, {}
    module.load_file = lambda path: seen.setdefault(path.stat().st_size // 4096, read(path))


def unforeseen_byte(module: Any) -> None:
    """The reader stumbles over a byte it does not expect."""
    read = module.read_series

    def stumble(path: Any, **more: Any):
        first = Path(path[0] if isinstance(path, list) else path)
        if b"e" in first.read_bytes()[-40:]:
            raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "planted")
        return read(path, **more)

    module.read_series = stumble


def no_limits(module: Any) -> None:
    module.check_expansion = lambda *_: None


def any_id(module: Any) -> None:
    module.check_run_id = lambda run_id: run_id.lstrip("/")


def allow_pickles(module: Any) -> None:
    """np.load as it was once: objects are unpickled."""
    load = module.load

    def loaded(file: Any, *args: Any, **more: Any):
        return load(file, *args, **{**more, "allow_pickle": True})

    module.load = loaded


def everybody_is_welcome(module: Any) -> None:
    module.gate = lambda: None


def crash(module: Any) -> None:
    """A mistake on every page: on every other look one that the guard catches, and one that nothing catches."""
    guard, looks = module.guard, iter(range(10**9))

    def mistake() -> None:
        raise ValueError("the-inside-of-the-server")

    def guarded():
        if next(looks) % 2:
            mistake()
        return guard()

    module.gate, module.guard = mistake, guarded


def tell_lookups(module: Any) -> None:
    """Say in the server's log when Streamlit asks an address outside who we are."""

    def asked() -> None:
        sys.stderr.write("looked up outside\n")

    module.get_external_ip = asked


def open_door(module: Any) -> None:
    """Every origin is ours, and memory has no end."""
    module.is_ours = lambda *_: True
    module.Visitors.hold = lambda *_: True


DEFECTS: dict[str, Defect] = {
    "kill-job": Defect(
        "a checkpoint is written in place instead of beside it",
        "is not there|damaged",
        {"trnn_core.files": write_in_place},
    ),
    "kill-server": Defect(
        "a job ends with the server that started it",
        "is interrupted",
        {"trnn_core.files": die_with_the_server},
    ),
    "rot": Defect("checksums are not compared", "nobody noticed", {"trnn_core.runs.run": trust_every_byte}),
    "disk": Defect(
        "a failed write is tried again at once, for ever",
        "goes on without its store",
        {"trnn_core.files": spin_when_a_write_fails},
    ),
    "writers": Defect("locks do not lock", "is lost|is in . places|was given to", {"trnn_core.files": no_locks}),
    "clock": Defect(
        "hearts are judged by the wall clock", "sees it as interrupted", {"trnn_core.jobs.processes": wall_clock}
    ),
    "memory": Defect("a failed job gives no reason", "no reason", {"trnn_core.runs.recorder": no_reason}),
    "load": Defect("every page waits a second", "median", {"ui.page": slow_pages}),
    "churn": Defect("every look at a page leaves 2 MB behind", "the server grew", {"ui.page": leak}),
    "isolation": Defect(
        "a cache is keyed by size instead of content", "was sent the names of", {"ui.data_access": careless_cache}
    ),
    "live": Defect("every live update leaves 800 kB behind", "the server grew", {"ui.live": leak_in_live_panel}),
    "fuzz": Defect("the reader lets a decoding error through", "planted", {"trnn_core.data.readers": unforeseen_byte}),
    "upload": Defect(
        "the reader lets a decoding error through", "unforeseen error", {"trnn_core.data.readers": unforeseen_byte}
    ),
    "bombs": Defect(
        "nothing limits what a file unpacks to",
        " MB$|read without a word",
        {"trnn_core.data.readers.inputs": no_limits},
    ),
    "names": Defect("a run id may be any path", "written beside the store", {"trnn_core.runs.run": any_id}),
    "pickle": Defect("NPZ files may hold pickled objects", "the payload was executed", {"numpy": allow_pickles}),
    "defaults": Defect(
        "the server is started without XSRF protection and with error details", "without the token is taken"
    ),
    "door": Defect(
        "origins are left to Streamlit, and nothing limits the files of all visitors",
        "looked up for a stranger|where 30 fit",
        {"ui.door": open_door, "streamlit.net_util": tell_lookups},
    ),
    "proxy": Defect("the server does not know its path prefix", "through the proxy"),
    "login": Defect("pages do not ask who is there", "data without a login", {"ui.login": everybody_is_welcome}),
    "advisories": Defect("a version with a known hole is pinned", "urllib3"),
    "licences": Defect("a package under the GPL is pinned", "GPL"),
    "lookups": Defect(
        "says when an address outside is asked (a tool of the row `door`)", "", {"streamlit.net_util": tell_lookups}
    ),
    "crash": Defect("a page with a mistake in it (a tool of the row `defaults`)", "", {"ui.page": crash}),
}


def complains(key: str, failures: list[str]) -> bool:
    """Whether a row is red because of its defect."""
    return any(re.search(DEFECTS[key].sign, failure) for failure in failures)
