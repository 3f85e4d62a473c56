"""Train, kill -9, look, resume: shared by the default and the long form of the kill tests."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

from tests.campaign import Tally
from tests.faults.watching import Onlooker
from tests.training.small import SMALL
from trnn_core.data.series import RelationalSeries
from trnn_core.files import TEMPORARY, sha256
from trnn_core.runs.run import Run
from trnn_core.runs.store import RunStore
from trnn_core.training.checkpoints import arrays_to_bytes, list_epochs, load_checkpoint
from trnn_core.training.config import Recipe
from trnn_core.training.events import EpochDone, Event
from trnn_core.training.networks import network_arrays
from trnn_core.training.trainer import fit

ROOT = Path(__file__).resolve().parents[2]
AFTER_KILL = ("interrupted", "queued", "finished")  # or killed before it had begun, or just after its end


class Trainers:
    """Trainer processes on demand; a context manager that leaves none behind."""

    def __enter__(self) -> Trainers:
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("zygote.py"))],
            cwd=ROOT,
            env=os.environ
            | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def train(self, run: Run, kill_after: float | None = None, while_saving: bool = False) -> int:
        """Train a run; killed with SIGKILL after so many seconds, or at the next save after them (then `killed_at`).

        Returns the exit code, -9 for a kill.
        """
        counter = run.folder.parent / f".{run.run_id}.epoch"
        counter.write_bytes(bytes(8))
        self.process.stdin.write(f"{run.folder.parent} {run.run_id} {counter}\n")
        self.process.stdin.flush()
        pid = int(self.process.stdout.readline())
        killer = None
        if kill_after is not None:
            watch = run.folder / "checkpoints" if while_saving else None
            killer = threading.Thread(target=self._kill, args=(pid, kill_after, watch))
            killer.start()
        code = int(self.process.stdout.readline())
        if killer:
            killer.join()
        return code

    def _kill(self, pid: int, after: float, watch: Path | None) -> None:
        time.sleep(after)
        try:
            while watch is not None and not any(name.startswith(TEMPORARY) for name in os.listdir(watch)):  # noqa: PTH208
                os.kill(pid, 0)
            self.killed_at = time.monotonic()
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return


class Reference:
    """The same training without any interruption: checksums of its state after every epoch."""

    def __init__(self, series: RelationalSeries, recipe: Recipe):
        self.states: dict[int, tuple[str, str]] = {}
        begun = time.perf_counter()
        fitted = fit(series, recipe, listeners=[self._keep])
        self.seconds = time.perf_counter() - begun
        self.rows = without_seconds(fitted.history)
        self.weights = arrays_to_bytes(network_arrays(fitted.network))

    def _keep(self, event: Event) -> None:
        if isinstance(event, EpochDone):
            s = event.snapshot()
            self.states[event.epoch] = (sha256(arrays_to_bytes(s.weights)), sha256(arrays_to_bytes(s.optimiser)))


def without_seconds(rows: list[dict]) -> list[dict]:
    """History as bits: all columns but the clock's."""
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


def check_after_kill(run: Run, reference: Reference) -> dict[str, bool | int]:
    """The store opens, the run is whole up to its last finished epoch, and that is bit-exact. Returns what was hit."""
    found = RunStore(run.folder.parent).get(run.run_id)
    assert found.status().state in AFTER_KILL, found.status()
    assert run.run_id in {r.run_id for r in RunStore(run.folder.parent).runs()}
    damage = found.verify()
    assert not damage, damage
    rows = without_seconds(found.history())
    assert json.dumps(rows) == json.dumps(reference.rows[: len(rows)])
    epochs = list_epochs(found.folder / "checkpoints")
    last = epochs[-1] if epochs else 0
    assert last - len(rows) in (0, 1)  # the row of a checkpoint may be missing: it is inside the checkpoint
    at_work = struct.unpack("q", (run.folder.parent / f".{run.run_id}.epoch").read_bytes())[0]
    assert last >= at_work - 1, f"killed in epoch {at_work}, only {last} are left"
    for epoch in epochs:
        snapshot, history = load_checkpoint(found.folder / "checkpoints" / f"{epoch:06d}")
        assert len(history.splitlines()) == epoch
        assert (
            sha256(arrays_to_bytes(snapshot.weights)),
            sha256(arrays_to_bytes(snapshot.optimiser)),
        ) == reference.states[epoch]
    return {"saving": any(found.folder.rglob(f"{TEMPORARY}*")), "epoch": last}


def check_ended(run: Run, reference: Reference) -> None:
    assert run.read_checked("weights.safetensors") == reference.weights, "other weights than without the kills"
    assert json.dumps(without_seconds(run.history())) == json.dumps(reference.rows), "another history"
    assert run.verify() == []


def kill_campaign(
    store: RunStore, series: RelationalSeries, n_kills: int, seed: int, n_chains: int = 1, page: Onlooker | None = None
) -> Tally:
    """Kill trainers at random moments until `n_kills` have hit a living one.

    A run is resumed after every kill and left in peace after `n_kills / n_chains` of them; it must then end bit for bit
    as if nothing had happened. A `page` of a real server may look on.
    """
    reference = Reference(series, SMALL)
    rng = np.random.default_rng(seed)
    tally, saving, chains, at_most = Tally(), 0, 0, max(n_kills // n_chains, 1)
    with Trainers() as trainers:
        probe = store.create(SMALL, series)
        begun = time.perf_counter()
        assert trainers.train(probe) == 0
        whole = time.perf_counter() - begun
        while tally.tried < n_kills and len(tally.failures) < 20:
            run, hit = store.create(SMALL, series), False
            if page:
                page.open(run.run_id)
            for _ in range(min(at_most, n_kills - tally.tried)):
                code = trainers.train(run, rng.uniform(0.0, 0.7 * whole), while_saving=rng.random() < 0.3)
                if code != -9:
                    break
                hit = True
                with tally.case(f"kill {tally.tried + 1} of run {run.run_id}"):
                    if page:
                        page.until_shown(run.run_id, AFTER_KILL, trainers.killed_at)
                    saving += bool(check_after_kill(run, reference)["saving"])
            try:
                assert run.status().state == "finished" or trainers.train(run) == 0, "it did not end"
                check_ended(run, reference)
                chains += hit
            except Exception as e:
                tally.failures.append(f"end of run {run.run_id}: {e}")
    if chains < n_chains:
        tally.failures.append(f"only {chains} killed runs were resumed to their end, {n_chains} must be")
    if n_kills >= 100 and saving < 0.05 * n_kills:
        tally.failures.append(f"only {saving} kills came while a file was being saved: this proves little")
    tally.figures = {
        "kills while a file was being saved": str(saving),
        "killed runs resumed to their end, bit for bit": str(chains),
    }
    if page:
        tally.figures["shown as interrupted by a page within"] = f"{page.slowest:.1f} s"
    return tally
