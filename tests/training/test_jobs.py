"""Jobs with real processes: queue, limit, stop, pause, resume, cancel, kill -9, and nobody left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.training.small import SMALL, TINY
from trnn_core.errors import TRNNError
from trnn_core.files import read_sealed, write_sealed
from trnn_core.jobs.processes import pulse, read_beat
from trnn_core.runs import jobs
from trnn_core.runs import worker as worker_module
from trnn_core.runs.store import RunStore
from trnn_core.runs.worker import Job, Worker, default_limit, repair_queue

ROOT = Path(__file__).resolve().parents[2]
LONG = SMALL.changed(**{"train.epochs": 100_000, "train.checkpoint_every": 3})
PATIENCE = 60.0


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs")


class WorkerProcess:
    """A worker in a process of its own; ended, and checked to have left nobody behind, when the test is over."""

    def __init__(self, store: RunStore, limit: int = 1):
        self.store = store
        command = [sys.executable, "-m", "trnn_core", "worker", "--limit", str(limit), "--runs", str(store.root)]
        self.process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        seen = [read_beat(run.folder / "heartbeat.json") for run in self.store.runs()]
        self.process.terminate()
        assert self.process.wait(timeout=PATIENCE) in (0, -signal.SIGKILL)
        until(lambda: not any(pulse(beat["process"]) == "alive" for beat in seen if beat), "a job outlived its worker")


def until(true, words, seconds=PATIENCE):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, words
        time.sleep(0.05)


def trained(store, run_id, epochs=1):
    def going() -> bool:
        status = store.get(run_id).status()
        assert status.is_live, status
        return status.state == "running" and status.epoch >= epochs

    until(going, f"{run_id} must reach epoch {epochs}", 2 * PATIENCE)


def test_a_life_in_the_queue(store, small_series):
    for name in ("first", "second", "third"):
        jobs.submit(store, LONG, small_series, run_id=name)
    assert jobs.queued(store) == ["first", "second", "third"]
    assert jobs.ask(store, "third", "cancel").state == "cancelled" and jobs.queued(store) == ["first", "second"]
    with WorkerProcess(store, limit=1):
        trained(store, "first", 4)
        assert store.get("second").status().state == "queued"  # the limit holds
        assert jobs.queued(store) == ["second"]

        jobs.ask(store, "first", "pause")
        assert jobs.wait(store, "first").state == "paused"
        paused_at = store.get("first").status().epoch
        trained(store, "second")
        beat = read_beat(store.get("second").folder / "heartbeat.json")
        assert os.getpriority(os.PRIO_PROCESS, beat["process"]["pid"]) >= 10  # pages come first

        jobs.ask(store, "second", "stop")
        status = jobs.wait(store, "second")
        second = store.get("second")
        assert status.state == "stopped" and f"epoch {status.best_epoch}" in status.message
        assert second.forecast().mean.shape == (8, 6, 6, 4) and second.verify() == []
        assert pulse(beat["process"]) == "dead" and not (second.folder / "request.json").exists()

        jobs.resume(store, "first")
        trained(store, "first", paused_at + 2)
        pid = read_beat(store.get("first").folder / "heartbeat.json")["process"]["pid"]
        os.kill(pid, signal.SIGKILL)
        until(lambda: store.get("first").status().state == "interrupted", "a killed job is shown as interrupted", 30)
        until(lambda: "killed" in store.get("first").status().message, "and the worker says why")
        assert store.get("first").status().can_resume and store.get("first").verify() == []

        jobs.resume(store, "first")
        trained(store, "first", store.get("first").status().epoch + 1)
        jobs.ask(store, "first", "cancel")
        assert jobs.wait(store, "first").state == "cancelled"
        with pytest.raises(TRNNError, match=r"must be queued or running to stop it. It is cancelled"):
            jobs.ask(store, "first", "stop")


@pytest.mark.slow
def test_a_job_killed_again_and_again_ends_as_if_nothing_had_happened(store, small_series):
    from tests.faults.killing import Reference, without_seconds

    recipe = SMALL.changed(**{"train.epochs": 200})
    reference = Reference(small_series, recipe)
    jobs.submit(store, recipe, small_series, run_id="hunted")
    with WorkerProcess(store):
        for epoch in (10, 30, 50):
            trained(store, "hunted", epoch)
            os.kill(read_beat(store.get("hunted").folder / "heartbeat.json")["process"]["pid"], signal.SIGKILL)
            until(lambda: store.get("hunted").status().state == "interrupted", "shown as interrupted", 30)
            jobs.resume(store, "hunted")
        assert jobs.wait(store, "hunted").state == "finished"
    run = store.get("hunted")
    assert run.read_checked("weights.safetensors") == reference.weights and run.verify() == []
    assert without_seconds(run.history()) == reference.rows


def test_jobs_outlive_a_killed_worker_and_the_next_one_counts_them(store, small_series):
    jobs.submit(store, LONG, small_series, run_id="survivor")
    first = WorkerProcess(store, limit=1)
    try:
        trained(store, "survivor")
    finally:
        first.process.kill()
        first.process.wait()
    jobs.submit(store, TINY, small_series, run_id="next")
    with WorkerProcess(store, limit=1):
        epoch = store.get("survivor").status().epoch
        trained(store, "survivor", epoch + 3)  # it went on
        assert store.get("next").status().state == "queued"  # its slot is still taken
        jobs.ask(store, "survivor", "stop")
        assert jobs.wait(store, "survivor").state == "stopped"
        assert jobs.wait(store, "next").state == "finished"


def test_an_ending_worker_sends_its_jobs_back_to_the_queue(store, small_series):
    jobs.submit(store, LONG, small_series, run_id="patient")
    with WorkerProcess(store):
        trained(store, "patient")
    assert store.get("patient").status().state == "queued" and jobs.queued(store) == ["patient"]
    assert store.get("patient").verify() == []


def test_a_detached_worker_outlives_its_caller_and_leaves_when_idle(store, small_series):
    jobs.submit(store, TINY, small_series, run_id="one")
    code = "import sys; from trnn_core.runs.jobs import ensure_worker; from trnn_core.runs.store import RunStore; print(ensure_worker(RunStore(sys.argv[1]), idle_exit=1.0)); print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(store.root)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "False"]
    assert jobs.ensure_worker(store) is False and jobs.worker_pulse(store) == "alive"  # one is enough
    process = read_beat(jobs.worker_folder(store) / "heartbeat.json")["process"]
    assert jobs.wait(store, "one").state == "finished"
    until(lambda: pulse(process) == "dead", "an idle worker leaves")
    assert jobs.worker_pulse(store) == "dead"


def test_a_job_that_cannot_start_says_why(store, small_series):
    jobs.submit(store, TINY, small_series, run_id="broken")
    store.series_path(small_series.fingerprint).write_bytes(b"PK\x03\x04 not a zip")
    with WorkerProcess(store):
        assert jobs.wait(store, "broken").state == "failed"
    assert "NPZ" in store.get("broken").status().message and jobs.queued(store) == []


def test_a_lost_ticket_is_found_again(store, small_series):
    store.create(TINY, small_series, run_id="lost")  # killed before the ticket was written
    assert jobs.queued(store) == []
    repair_queue(store)
    assert jobs.queued(store) == ["lost"]


def test_what_a_killed_writer_left_in_the_store_is_swept(store, small_series):
    store.create(TINY, small_series, run_id="kept")
    old, new = (store.root / f".tmp-{name}-run" for name in ("old", "new"))
    for folder in (old, new):
        folder.mkdir()
        (folder / "config.json").touch()
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    repair_queue(store)
    assert not old.exists() and new.exists() and store.get("kept").verify() == []


def test_resume_is_refused_in_words(store, small_series):
    run = store.create(TINY, small_series, run_id="x")
    with pytest.raises(TRNNError, match="already queued"):
        jobs.resume(store, "x")
    for state, words in (("finished", "start a new run with more epochs"), ("diverged", "smaller learning rate")):
        write_sealed(run.folder / "status.json", {**read_sealed(run.folder / "status.json"), "state": state})
        with pytest.raises(TRNNError, match=words):
            jobs.resume(store, "x")


@pytest.mark.parametrize(
    "code",
    ["while True: pass", "raise ImportError('libtorch_cpu.so: failed to map segment from shared object')"],
    ids=["spins", "says so"],
)
def test_a_job_without_the_memory_to_begin_ends_and_says_why(store, small_series, monkeypatch, code):
    """OpenBLAS asks for memory for ever when it gets none."""
    monkeypatch.setattr(worker_module, "START_SECONDS", 0.2)
    run = jobs.submit(store, TINY, small_series, run_id="x")
    with (run.folder / "log.txt").open("ab") as output:
        process = subprocess.Popen([sys.executable, "-c", code], stderr=output, start_new_session=True)
    worker = Worker(store)
    worker.jobs[0] = Job(run, process, jobs.tickets(store, "x"))
    until(lambda: (worker._end_stuck(), worker._reap(), not worker.jobs)[-1], "it must be ended")
    status = run.status()
    assert status.state == "failed" and "could not start" in status.message and "memory ran out" in status.message
    assert jobs.queued(store) == []


def test_a_second_worker_is_refused(store):
    store.root.mkdir()
    with WorkerProcess(store):
        until(lambda: jobs.worker_pulse(store) == "alive", "the worker must start")
        with pytest.raises(TRNNError, match="already at work"):
            Worker(store).run()


def test_the_default_limit_is_half_the_cores():
    assert default_limit() == max(1, len(os.sched_getaffinity(0)) // 2)
