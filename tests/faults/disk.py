"""A full disk, a store that becomes read-only, a store deleted under a running job: a clear word, nothing lost, no busy loop."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.campaign import ROOT, Tally, until
from tests.faults.workers import WorkerProcess, cpu_seconds, reach
from tests.training.small import SMALL
from trnn_core.data.series import RelationalSeries
from trnn_core.runs.store import RunStore
from trnn_core.training.checkpoints import newest_good

LONG = SMALL.changed(**{"train.epochs": 200_000})
IDLE = 0.25  # of one core: what a process that only waits may use at the very most


class CannotMount(Exception):
    """No right to mount a disk of one's own here."""


@contextmanager
def small_disk(place: Path, megabytes: int = 2) -> Iterator[Path]:
    """A real file system of so many megabytes."""
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if done.returncode:
        raise CannotMount("a small disk cannot be mounted here (no right to)")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill_up(path: Path) -> None:
    """Take all the room there is."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        for size in (65536, 4096, 1):
            try:
                while True:
                    os.write(descriptor, b"x" * size)
            except OSError:
                continue
    finally:
        os.close(descriptor)


def check_calm(pid: int, seconds: float = 3.0) -> None:
    """Whoever only waits lives, and uses hardly any processor time."""
    before = cpu_seconds(pid)
    time.sleep(seconds)
    used = (cpu_seconds(pid) - before) / seconds
    assert used < IDLE, f"a busy loop: {used:.0%} of a core while there is nothing to do"


def worker_waits(worker: WorkerProcess) -> None:
    """No job is left at work."""
    until(lambda: not psutil.Process(worker.process.pid).children(), "a job that cannot save must end", 40)


def full_disk(folder: Path, series: RelationalSeries, case: int) -> None:
    """The disk fills up while a job is saving; when there is room again it goes on exactly from there."""
    with small_disk(folder / f"full-{case}") as disk:
        store = RunStore(disk / "runs")
        for name in ("long", "next"):
            store.submit(LONG, series, run_id=name)
        with WorkerProcess(store) as worker:
            reach(store, "long", 2 + case)
            fill_up(disk / "hog")
            until(lambda: not store.get("long").status().is_live, "the job must notice the full disk", 40)
            fill_up(disk / "hog-2")  # what the job gave up so that it could say so
            status = store.get("long").status()
            assert status.state == "failed" and "disk is full" in status.message and status.can_resume, status
            snapshot, _, problems = newest_good(store.root / "long" / "checkpoints")
            assert snapshot is not None and snapshot.epoch >= 2 + case and not problems, "the checkpoint is lost"
            assert store.get("long").verify() == []
            worker_waits(worker)  # the one that waits may have been started while the first was ending
            check_calm(worker.process.pid, 8.0)
            assert worker.process.poll() is None, "the worker did not outlive the full disk"
            for hog in ("hog", "hog-2"):
                (disk / hog).unlink()
            settle(store, "next")
            store.get("long").resume()
            reach(store, "long", snapshot.epoch + 2)
            store.get("long").ask("cancel")
            assert store.get("long").wait().state == "cancelled"


def settle(store: RunStore, run_id: str) -> None:
    """A run that waited while there was no room is trained when there is, by itself or when resumed; then cancelled."""
    if not store.get(run_id).status().is_live:
        assert "disk is full" in store.get(run_id).status().message, store.get(run_id).status()
        store.get(run_id).resume()
    reach(store, run_id, 2)
    store.get(run_id).ask("cancel")
    assert store.get(run_id).wait().state == "cancelled"


def read_only(folder: Path, series: RelationalSeries, case: int) -> None:
    """The store has become read-only (as a network disk may): all is told in words, all can still be read."""
    with small_disk(folder / f"read-only-{case}", 8) as disk:
        store = RunStore(disk / "runs")
        store.submit(LONG, series, run_id="long")
        with WorkerProcess(store):
            reach(store, "long", 2 + case)
            store.get("long").ask("pause")
            epoch = store.get("long").wait().epoch
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        for words in (["worker"], ["train", "--resume", "long"], ["runs", "rename", "long", "x"]):
            before = psutil.Process().cpu_times().children_user
            done = subprocess.run(
                [sys.executable, "-m", "trnn_core", *words, "--runs", str(store.root)],
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert done.returncode in (1, 2) and "read-only" in done.stderr, (
                f"{words}: {done.returncode} {done.stderr[-200:]}"
            )
            assert len(done.stderr.strip().splitlines()) <= 2, (
                f"{words} says more than a sentence: {done.stderr[-300:]}"
            )
            assert psutil.Process().cpu_times().children_user - before < 30, "a busy loop"
        run = RunStore(store.root).get("long")
        assert run.status().state == "paused" and run.verify() == []
        assert (found := newest_good(run.folder / "checkpoints")[0]) is not None and found.epoch == epoch
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        with WorkerProcess(store):
            store.get("long").resume()
            reach(store, "long", epoch + 2)


def obey_permissions() -> None:
    """Root may write wherever it likes; a process begun after this may not (CAP_DAC_OVERRIDE is dropped)."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)


def allow_writing(folder: Path, allowed: bool) -> None:
    for path in (folder, *(p for p in folder.rglob("*") if p.is_dir())):
        path.chmod(0o755 if allowed else 0o555)


def unwritable(folder: Path, series: RelationalSeries, case: int) -> None:
    """Nothing can be written any more under a running job: it ends, the worker waits calmly, all can be read."""
    store = RunStore(folder / f"unwritable-{case}")
    for name in ("long", "next"):
        store.submit(LONG, series, run_id=name)
    with WorkerProcess(store, first=obey_permissions) as worker:
        reach(store, "long", 2 + case)
        allow_writing(store.root, False)
        until(lambda: not store.get("long").status().is_live, "the job must notice that it cannot save", 40)
        run = store.get("long")
        assert run.status().state == "interrupted" and run.status().can_resume, run.status()
        assert "may not write there" in (run.folder / "log.txt").read_text(), "the log does not say why"
        snapshot, _, problems = newest_good(run.folder / "checkpoints")
        assert snapshot is not None and snapshot.epoch >= 2 + case and not problems and run.verify() == []
        check_calm(worker.process.pid, 8.0)
        assert worker.process.poll() is None, "the worker did not outlive it"
        allow_writing(store.root, True)
        settle(store, "next")
        store.get("long").resume()
        reach(store, "long", snapshot.epoch + 2)


def deleted(folder: Path, series: RelationalSeries, case: int) -> None:
    """The whole store is deleted under a running job: job and worker end, and nothing is put back in its place."""
    store, job = RunStore(folder / f"deleted-{case}"), []
    store.submit(LONG, series, run_id="long")
    worker = WorkerProcess(store)
    try:
        reach(store, "long", 2 + case)
        job = psutil.Process(worker.process.pid).children()
        while store.root.exists():
            shutil.rmtree(store.root, ignore_errors=True)
        worker.process.wait(30)
        psutil.wait_procs(job, 30)
        assert not any(j.is_running() for j in job), "the job goes on without its store"
        assert not store.root.exists(), "something was put back"
    finally:
        if worker.process.poll() is None:
            job += psutil.Process(worker.process.pid).children()
            worker.process.kill()
            worker.process.wait()
        for left in job:
            if left.is_running():
                left.kill()


def disk_campaign(folder: Path, series: RelationalSeries, n_each: int) -> Tally:
    tally = Tally()
    for kind in (full_disk, read_only, unwritable, deleted):
        for case in range(n_each):
            try:
                with tally.case(f"{kind.__name__} {case}"):
                    kind(folder, series, case)
            finally:
                if tally.failures and "CannotMount" in tally.failures[-1]:
                    tally.failures.pop()
                    tally.tried -= 1
                    tally.figures["not tried"] = "disk full and read-only: no right to mount here"
    return tally
