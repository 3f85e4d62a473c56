"""Whether runs that have ended are still whole, and what is left of one that is not. No torch here.

Reading everything against its checksums at every look would be slow: a run is read when it is first seen, when one of
its files has changed, and again after an hour, since a disk that rots does not change a file's date.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trnn_core.errors import TRNNError
from trnn_core.files import read_bytes, read_sealed
from trnn_core.runs import layout
from trnn_core.training import checkpoints

if TYPE_CHECKING:
    from trnn_core.runs.run import Run

AGAIN_SECONDS = 3600.0
Stamp = tuple[tuple[str, int, int], ...]


class Checkup:
    """One per watching process, asked again and again."""

    def __init__(self, again: float = AGAIN_SECONDS):
        self.again = again
        self._seen: dict[Path, tuple[Stamp, float, str]] = {}

    def damage(self, run: Run) -> str:
        """What is wrong with a run's files and what is left of it; empty when it is whole."""
        now, stamp = time.monotonic(), stamp_of(run.folder)
        before, when, told = self._seen.get(run.folder, ((), now, ""))
        if before != stamp or now - when > self.again:
            told = describe(run, run.verify())
            self._seen[run.folder] = (stamp, now, told)
        return told


def stamp_of(folder: Path) -> Stamp:
    """Names, dates and sizes of a run's files; checkpoints by their folder, which appears and goes in one step."""
    try:
        entries = sorted(p for p in folder.iterdir() if p.name not in layout.VOLATILE)
        return tuple((p.name, (about := p.stat()).st_mtime_ns, about.st_size) for p in entries)
    except OSError:
        return ()  # moved away while we looked


def what_is_left(run: Run) -> list[str]:
    """The parts of a damaged run that can still be used."""
    parts: dict[str, Callable[[], object]] = {
        "settings": lambda: run.config,
        "history": run.history,
        "weights": run.weights,
        "forecast": run.forecast,
        "scores": run.summary,
        "checkpoint": lambda: checkpoints.newest_good(run.folder / layout.CHECKPOINTS)[0],
    }
    return [name for name, read in parts.items() if _usable(read)]


def _usable(read: Callable[[], object]) -> bool:
    try:
        return read() not in (None, [])
    except TRNNError:
        return False


def describe(run: Run, damage: list[str]) -> str:
    """The state of a damaged run, for its status; nothing to be said of a whole one."""
    if not damage:
        return ""
    left = what_is_left(run)
    can = f"Still whole: {', '.join(left)}." if left else "Nothing else of it can be read."
    more = f" (and {len(damage) - 1} more)" if len(damage) > 1 else ""
    way = " Resume to train on from the last good checkpoint." if "checkpoint" in left and "settings" in left else ""
    return f"{damage[0].rstrip('.')}{more}. {can}{way}"


def find_damage(run: Run) -> list[str]:
    """Every damage found by reading all files against their checksums; empty when the run is whole."""
    damage: list[str] = []
    for name in layout.SEALED:
        path = run.folder / name
        if path.exists() or name in (layout.CONFIG, layout.STATUS):
            damage += _problem(read_sealed, path)
    for epoch in checkpoints.list_epochs(run.folder / layout.CHECKPOINTS):
        damage += checkpoints.find_damage(run.folder / layout.CHECKPOINTS / f"{epoch:06d}")
    try:
        for name in run.manifest():
            if not (run.folder / name).exists():
                damage.append(f"{run.folder / name} is missing")
            damage += _problem(run.read_checked, name)
    except TRNNError:
        pass  # told above
    return damage + _history_damage(run.folder)


def _history_damage(folder: Path) -> list[str]:
    """Between checkpoint and manifest: the history must begin with, or be the beginning of, the checkpoint's copy."""
    path = folder / layout.HISTORY
    try:
        _, kept, _ = checkpoints.newest_good(folder / layout.CHECKPOINTS)
    except TRNNError:
        return []
    found = read_bytes(path) if path.exists() else b""
    found = found[: found.rfind(b"\n") + 1]
    shared = min(len(found), len(kept))
    return [] if found[:shared] == kept[:shared] else [f"{path} does not match the copy in its checkpoint"]


def _problem(read: Callable[[Any], object], argument: Any) -> list[str]:
    try:
        read(argument)
        return []
    except TRNNError as e:
        return [str(e)]
