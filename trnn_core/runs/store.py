"""The run store: a folder of run folders. Create, list, rename, tag, compare, throw away and take back.

What is where: `trnn_core.runs.layout`.

A run folder appears in one step and under a name nobody else has; whoever changes it holds its lock.
"""

from __future__ import annotations

import platform
import secrets
import shutil
import time
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from trnn_core.data.readers.npz import read_npz, write_npz
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.files import (
    explain_os_error,
    lock,
    sealed_bytes,
    sync,
    temporary_name,
    with_no_error,
    write_sealed,
)
from trnn_core.jobs.job import State
from trnn_core.jobs.processes import Watcher
from trnn_core.jobs.queue import drop_tickets
from trnn_core.runs import layout
from trnn_core.runs.checkup import Checkup
from trnn_core.runs.run import Run, Status, check_run_id, load_run
from trnn_core.training.config import Recipe
from trnn_core.training.memory import fit_to_memory
from trnn_core.training.recipes import plain

FRESH_SECONDS = 3600.0


class RunStore:
    """A folder of runs; every method looks at the disk, so that any number of processes may share one store."""

    def __init__(self, root: str | Path = "runs"):
        self.root = Path(root)
        self.watcher = Watcher()
        self.checkup = Checkup()

    def create(
        self,
        recipe: Recipe,
        series: RelationalSeries,
        *,
        run_id: str | None = None,
        name: str | None = None,
        tags: Iterable[str] = (),
        state: State = "queued",
    ) -> Run:
        """A new run folder with its settings and its data, ready to be trained."""
        recipe.check_length(len(series))
        self.keep_series(series)
        recipe, notes = fit_to_memory(
            recipe.changed(**{"data.fingerprint": series.fingerprint}), selected_shape(recipe, series)
        )
        stamp = datetime.now().astimezone()
        run_id = check_run_id(run_id) if run_id else f"{stamp:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
        config = {
            "run_id": run_id,
            "created": stamp.isoformat(timespec="seconds"),
            "recipe": plain(recipe),
            "data": describe_series(series),
            "versions": _versions(),
            "notes": notes,  # what had to be changed, said again whenever the run tells how it stands
        }
        status = Status(state=state, epochs=recipe.train.epochs, updated=stamp.isoformat(timespec="seconds"))
        labels = {"name": clean_label(name or run_id), "tags": sorted({clean_label(t) for t in tags})}
        folder, new = self.root / run_id, temporary_name(self.root / run_id)
        try:
            (new / layout.CHECKPOINTS).mkdir(parents=True)
            for file, payload in (
                (layout.CONFIG, config),
                (layout.CONFIG_COPY, config),
                (layout.STATUS, status.__dict__),
                (layout.LABELS, labels),
            ):
                (new / file).write_bytes(sealed_bytes(payload))
            for file in (layout.HISTORY, layout.LOCK):
                (new / file).touch()
            for entry in (*new.iterdir(), new):
                sync(entry)
            new.rename(folder)  # fails where a run of that name exists
            sync(self.root)
        except OSError as e:
            shutil.rmtree(new, ignore_errors=True)
            if folder.exists():
                raise TRNNError(f"There is already a run {run_id!r} in {self.root}; choose another id.") from e
            raise explain_os_error(e, folder) from e
        return self._run(folder)

    def submit(self, recipe: Recipe, series: RelationalSeries, **labels: Any) -> Run:
        """Create a run and queue it; `labels` as in `create`."""
        run = self.create(recipe, series, **labels)
        run.add_ticket()
        return run

    def _run(self, folder: Path) -> Run:
        run = Run(folder, self.watcher)
        run.checkup = self.checkup
        return run

    def get(self, run_id: str) -> Run:
        return self._run(load_run(run_id, self.root).folder)

    def runs(self, *, state: str | None = None, tag: str | None = None, text: str | None = None) -> list[Run]:
        """All runs, newest first; filtered by state, tag, or a text found in name, id or data title."""
        if not self.root.is_dir():
            return []
        found = []
        for folder in self.root.iterdir():
            if folder.name.startswith(".") or not any(
                (folder / n).exists() for n in (layout.CONFIG, layout.CONFIG_COPY)
            ):
                continue
            run = self._run(folder)
            if (
                (state is None or run.status().state == state)
                and (tag is None or tag in run.tags)
                and _mentions(run, text)
            ):
                found.append(run)
        return sorted(found, key=_created, reverse=True)

    def rename(self, run_id: str, name: str) -> None:
        self._label(run_id, name=clean_label(name))

    def tag(self, run_id: str, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        self._label(run_id, add=[clean_label(t) for t in add], remove=list(remove))

    def _label(self, run_id: str, name: str | None = None, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        run = self.get(run_id)
        with lock(run.folder / layout.LABELS_LOCK, f"Run {run_id} is being renamed elsewhere; try again."):
            labels = run.labels()
            tags = (set(labels["tags"]) | set(add)) - set(remove)
            write_sealed(run.folder / layout.LABELS, {"name": name or labels["name"], "tags": sorted(tags)})

    def delete(self, run_id: str) -> Path:
        """Move a run to the trash; a run at work must be stopped first."""
        run = self.get(run_id)
        busy = f"Run {run_id} is being trained; stop or cancel it before deleting it."
        with lock(run.folder / layout.LOCK, busy):
            trash = self.root / layout.TRASH
            place = trash / f"{run_id}~{secrets.token_hex(4)}"
            try:
                trash.mkdir(exist_ok=True)
                run.folder.rename(place)
                sync(self.root)
            except OSError as e:
                raise explain_os_error(e, run.folder) from e
            drop_tickets(self.root, run_id)
        return place

    def trash(self) -> list[str]:
        """Names in the trash, to be handed to `restore`."""
        folder = self.root / layout.TRASH
        return sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []

    def restore(self, name: str) -> Run:
        """Take a run back out of the trash; `name` as listed by `trash`, or the run id."""
        match = [n for n in self.trash() if n == name or n.partition("~")[0] == name]
        if not match:
            raise TRNNError(f"There is no {name!r} in the trash of {self.root}.")
        run_id = check_run_id(match[-1].partition("~")[0])
        try:
            (self.root / layout.TRASH / match[-1]).rename(self.root / run_id)
        except OSError as e:
            raise TRNNError(f"Run {run_id} cannot be restored: another run has taken its name ({e.strerror}).") from e
        return self.get(run_id)

    def empty_trash(self) -> int:
        """Remove what is in the trash for good, and series that no run needs; returns the bytes freed."""
        before = self.disk_usage()["total"]
        shutil.rmtree(self.root / layout.TRASH, ignore_errors=True)
        needed = {run.config["data"]["fingerprint"] for run in self.runs() if _readable(run)}
        if all(_readable(run) for run in self.runs()):
            for path in (self.root / layout.DATA).glob("*.npz"):
                fresh = abs(time.time() - path.stat().st_mtime) < FRESH_SECONDS  # somebody may be creating a run on it
                if path.stem not in needed and not fresh:
                    with_no_error(path.unlink)
        return before - self.disk_usage()["total"]

    def compare(self, run_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Settings in which the runs differ, and their results, by run id."""
        runs = [self.get(run_id) for run_id in run_ids]
        flat = {run.run_id: _flatten(run.recipe.model_dump(mode="json")) for run in runs}
        names = sorted({name for settings in flat.values() for name in settings})
        differing = [n for n in names if len({repr(settings.get(n)) for settings in flat.values()}) > 1]
        return {run.run_id: {n: flat[run.run_id].get(n) for n in differing} | _results(run) for run in runs}

    def disk_usage(self) -> dict[str, int]:
        """Bytes of each run, of the series, of the trash, of other jobs, and in total."""
        usage = {run.run_id: run.disk_usage() for run in self.runs()}
        for part in (layout.DATA, layout.TRASH, layout.TASKS):
            usage[part] = sum(p.stat().st_size for p in (self.root / part).rglob("*") if p.is_file())
        return usage | {"total": sum(usage.values())}

    def keep_series(self, series: RelationalSeries) -> Path:
        """Store a series under its fingerprint, once."""
        path = self.series_path(series.fingerprint)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise explain_os_error(e, self.root) from e
        try:
            if path.exists():
                path.touch()  # wanted again: not to be cleared away with the trash
            else:
                write_npz(series, path)
        except OSError as e:
            raise explain_os_error(e, path) from e
        return path

    def series_path(self, fingerprint: str) -> Path:
        return self.root / layout.DATA / f"{fingerprint}.npz"

    def series(self, run: Run) -> RelationalSeries:
        """The series a run was trained on, checked against its fingerprint."""
        fingerprint = run.config["data"]["fingerprint"]
        series = read_npz(self.series_path(fingerprint))
        if series.fingerprint != fingerprint:
            raise TRNNError(
                f"{self.series_path(fingerprint)} is damaged: its content does not match its name; "
                "delete it and train once from the original file to put it back."
            )
        return series


def clean_label(text: str) -> str:
    """A name or tag as a person typed it, on one line and of bearable length."""
    label = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())[:120]
    if not label:
        raise TRNNError(f"A name must hold at least one visible character. Got {text!r:.80} instead.")
    return label


def selected_shape(recipe: Recipe, series: RelationalSeries) -> tuple[int, ...]:
    """The shape of what the recipe keeps of a series."""
    n, k = recipe.data.actors, recipe.data.actions
    actors, actions = len(n) if n else series.shape[1], len(k) if k else series.shape[3]
    return len(series), actors, actors, actions


def describe_series(series: RelationalSeries) -> dict[str, Any]:
    return {
        "fingerprint": series.fingerprint,
        "title": series.source.title,
        "simulated": series.source.simulated,
        "kind": series.source.kind,
        "shape": list(series.shape),
        "period": series.period,
        "first": str(series.dates[0]),
        "last": str(series.dates[-1]),
        "actors": list(series.actors),
        "actions": list(series.actions),
    }


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {"python": platform.python_version(), **{p: version(p) for p in ("torch", "numpy", "pydantic")}}


def _readable(run: Run) -> bool:
    try:
        return bool(run.config)
    except TRNNError:
        return False


def _created(run: Run) -> tuple[float, str]:
    """An instant, not its spelling: where clocks are set back, a later run can have an earlier hour."""
    return (datetime.fromisoformat(run.config["created"]).timestamp() if _readable(run) else 0.0, run.run_id)


def _mentions(run: Run, text: str | None) -> bool:
    if not text:
        return True
    title = run.config["data"]["title"] if _readable(run) else ""
    return text.lower() in f"{run.name} {run.run_id} {title}".lower()


def _flatten(settings: dict[str, Any]) -> dict[str, Any]:
    return {
        f"{section}.{k}": v for section, group in settings.items() if isinstance(group, dict) for k, v in group.items()
    }


def _results(run: Run) -> dict[str, Any]:
    status, summary = run.status(), run.summary() or {}
    return {
        "state": status.state,
        "epoch": status.epoch,
        "best_epoch": status.best_epoch,
        "best_val_loss": status.best_val_loss,
        "seconds": status.seconds,
        "skill": (summary.get("test") or {}).get("skill"),
    }
