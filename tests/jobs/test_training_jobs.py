"""Training jobs with real processes: queue, limit, stop, pause, resume, cancel, kill -9, and nobody left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.jobs.ending import until
from tests.training.small import SMALL, TINY
from trnn_core.data.simulation import simulate
from trnn_core.errors import TRNNError
from trnn_core.files import read_sealed, write_sealed
from trnn_core.jobs import queue
from trnn_core.jobs import worker as worker_module
from trnn_core.jobs.lanes import repair_queue
from trnn_core.jobs.processes import pulse, read_beat
from trnn_core.jobs.worker import Child, Worker, default_limit
from trnn_core.runs.store import RunStore
from trnn_core.training.recipes import preset
from trnn_core.verbs import job_verbs

ROOT = Path(__file__).resolve().parents[2]
LONG = SMALL.changed(**{"train.epochs": 100_000, "train.checkpoint_every": 3})
PATIENCE = 60.0


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs")


class WorkerProcess:
    """A worker in a process of its own; ended, and checked to have left nobody behind, when the test is over."""

    def __init__(self, store: RunStore, limit: int = 1, program: str = "trnn_core", **environment: str):
        self.store = store
        command = [sys.executable, "-m", program, "worker", "--limit", str(limit), "--runs", str(store.root)]
        self.process = subprocess.Popen(command, cwd=ROOT, env=os.environ | environment, stderr=subprocess.DEVNULL)

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        seen = [read_beat(run.folder / "heartbeat.json") for run in self.store.runs()]
        self.process.terminate()
        assert self.process.wait(timeout=PATIENCE) in (0, -signal.SIGKILL)
        until(lambda: not any(pulse(beat["process"]) == "alive" for beat in seen if beat), "a job outlived its worker")


def trained(store, run_id, epochs=1):
    def going() -> bool:
        status = store.get(run_id).status()
        assert status.is_live, status
        return status.state == "running" and status.epoch >= epochs

    until(going, f"{run_id} must reach epoch {epochs}", 2 * PATIENCE)


def test_a_life_in_the_queue(store, small_series):
    for name in ("first", "second", "third"):
        store.submit(LONG, small_series, run_id=name)
    assert queue.queued(store, "train") == ["first", "second", "third"]
    assert store.get("third").ask("cancel").state == "cancelled" and queue.queued(store, "train") == ["first", "second"]
    with WorkerProcess(store, limit=1):
        trained(store, "first", 4)
        assert store.get("second").status().state == "queued"  # the limit holds
        assert queue.queued(store, "train") == ["second"]

        store.get("first").ask("pause")
        assert store.get("first").wait().state == "paused"
        paused_at = store.get("first").status().epoch
        trained(store, "second")
        beat = read_beat(store.get("second").folder / "heartbeat.json")
        assert os.getpriority(os.PRIO_PROCESS, beat["process"]["pid"]) >= 10  # pages come first

        store.get("second").ask("stop")
        status = store.get("second").wait()
        second = store.get("second")
        assert status.state == "stopped" and f"epoch {status.best_epoch}" in status.message
        assert second.forecast().mean.shape == (8, 6, 6, 4) and second.verify() == []
        assert pulse(beat["process"]) == "dead" and not (second.folder / "request.json").exists()

        store.get("first").resume()
        trained(store, "first", paused_at + 2)
        pid = read_beat(store.get("first").folder / "heartbeat.json")["process"]["pid"]
        os.kill(pid, signal.SIGKILL)
        until(lambda: store.get("first").status().state == "interrupted", "a killed job is shown as interrupted", 30)
        until(lambda: "killed" in store.get("first").status().message, "and the worker says why")
        assert store.get("first").status().can_resume and store.get("first").verify() == []

        store.get("first").resume()
        trained(store, "first", store.get("first").status().epoch + 1)
        store.get("first").ask("cancel")
        assert store.get("first").wait().state == "cancelled"
        with pytest.raises(TRNNError, match=r"must be queued or running to stop it. It is cancelled"):
            store.get("first").ask("stop")


@pytest.mark.slow
def test_a_job_killed_again_and_again_ends_as_if_nothing_had_happened(store, small_series):
    from tests.faults.killing import Reference, without_seconds

    recipe = SMALL.changed(**{"train.epochs": 200})
    reference = Reference(small_series, recipe)
    store.submit(recipe, small_series, run_id="hunted")
    with WorkerProcess(store):
        for epoch in (10, 30, 50):
            trained(store, "hunted", epoch)
            os.kill(read_beat(store.get("hunted").folder / "heartbeat.json")["process"]["pid"], signal.SIGKILL)
            until(lambda: store.get("hunted").status().state == "interrupted", "shown as interrupted", 30)
            store.get("hunted").resume()
        assert store.get("hunted").wait().state == "finished"
    run = store.get("hunted")
    assert run.read_checked("weights.safetensors") == reference.weights and run.verify() == []
    assert without_seconds(run.history()) == reference.rows


def test_jobs_outlive_a_killed_worker_and_the_next_one_counts_them(store, small_series):
    store.submit(LONG, small_series, run_id="survivor")
    first = WorkerProcess(store, limit=1)
    try:
        trained(store, "survivor")
    finally:
        first.process.kill()
        first.process.wait()
    store.submit(TINY, small_series, run_id="next")
    with WorkerProcess(store, limit=1):
        epoch = store.get("survivor").status().epoch
        trained(store, "survivor", epoch + 3)  # it went on
        assert store.get("next").status().state == "queued"  # its slot is still taken
        store.get("survivor").ask("stop")
        assert store.get("survivor").wait().state == "stopped"
        assert store.get("next").wait().state == "finished"


def test_an_ending_worker_sends_its_jobs_back_to_the_queue(store, small_series):
    store.submit(LONG, small_series, run_id="patient")
    with WorkerProcess(store):
        trained(store, "patient")
    assert store.get("patient").status().state == "queued" and queue.queued(store, "train") == ["patient"]
    assert store.get("patient").verify() == []


def test_a_detached_worker_outlives_its_caller_and_leaves_when_idle(store, small_series):
    store.submit(TINY, small_series, run_id="one")
    code = "import sys; from trnn_core.jobs.queue import ensure_worker; from trnn_core.runs.store import RunStore; print(ensure_worker(RunStore(sys.argv[1]), idle_exit=1.0)); print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(store.root)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "False"]
    assert queue.ensure_worker(store) is False and queue.worker_is_alive(store.root)  # one is enough
    until(lambda: read_beat(queue.worker_folder(store.root) / "heartbeat.json"), "the worker must start")
    process = read_beat(queue.worker_folder(store.root) / "heartbeat.json")["process"]
    assert store.get("one").wait().state == "finished"
    until(lambda: pulse(process) == "dead", "an idle worker leaves")
    assert not queue.worker_is_alive(store.root)


def test_a_job_that_cannot_start_says_why(store, small_series):
    store.submit(TINY, small_series, run_id="broken")
    store.series_path(small_series.fingerprint).write_bytes(b"PK\x03\x04 not a zip")
    with WorkerProcess(store):
        assert store.get("broken").wait().state == "failed"
    assert "NPZ" in store.get("broken").status().message and queue.queued(store, "train") == []


def test_a_lost_ticket_is_found_again(store, small_series):
    store.create(TINY, small_series, run_id="lost")  # killed before the ticket was written
    assert queue.queued(store, "train") == []
    repair_queue(store, job_verbs())
    assert queue.queued(store, "train") == ["lost"]


def test_what_a_killed_writer_left_in_the_store_is_swept(store, small_series):
    store.create(TINY, small_series, run_id="kept")
    old, new = (store.root / f".tmp-{name}-run" for name in ("old", "new"))
    for folder in (old, new):
        folder.mkdir()
        (folder / "config.json").touch()
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    repair_queue(store, job_verbs())
    assert not old.exists() and new.exists() and store.get("kept").verify() == []


def test_a_run_that_is_finishing_is_left_alone_however_long_it_takes(store, small_series):
    """Stop and keep: it has heard, and forecasts with the best weights for longer than anybody's patience."""
    store.submit(LONG, small_series, run_id="slow")
    with WorkerProcess(
        store, program="tests.jobs.kinds", TRNN_TEST_GRACE="1", TRNN_TEST_SLOW_FORECAST="5", PYTHONUNBUFFERED="1"
    ):
        trained(store, "slow", 2)
        store.get("slow").ask("stop")
        until(lambda: "Stopping: forecasting" in store.get("slow").status().message, "it says that it has heard", 20)
        assert store.get("slow").wait().state == "stopped"
    run = store.get("slow")
    assert run.forecast() is not None and run.verify() == [] and "best weights" in run.status().message


def test_a_run_that_does_not_hear_is_ended_in_true_words_and_loses_nothing(store, small_series):
    store.submit(LONG, small_series, run_id="deaf")
    with WorkerProcess(store, program="tests.jobs.kinds", TRNN_TEST_GRACE="1", TRNN_TEST_DEAF="1"):
        trained(store, "deaf", 4)
        store.get("deaf").ask("stop")
        status = store.get("deaf").wait()
        assert status.state == "interrupted" and "did not answer" in status.message, status
        assert "memory" not in status.message and "epochs are safe" in status.message and status.can_resume
        time.sleep(1.0)  # nor does the worker think better of it later
        assert store.get("deaf").status().message == status.message
        assert not (store.get("deaf").folder / "request.json").exists() and store.get("deaf").verify() == []


def test_what_waits_says_why(store, small_series, monkeypatch):
    first, second = (store.submit(TINY, small_series, run_id=name) for name in ("first", "second"))
    assert second.status().message == "Waiting for a worker to take it."
    monkeypatch.setattr(queue, "worker_is_alive", lambda root: True)
    assert "next in the queue" in first.status().message and "1 before it" in second.status().message
    worker = Worker(store, job_verbs())
    worker.folder.mkdir(parents=True)
    worker._tell_trouble(MemoryError("no"))
    assert "no" in first.status().message
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert "cannot be written to" in first.status().message
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 0}))
    assert "the disk is full" in first.status().message


def test_a_series_too_short_for_the_recipe_is_refused_before_it_waits(store, small_series, tmp_path, capsys):
    from trnn_core.cli import main
    from trnn_core.data.readers import write_npz

    short = simulate(seed=0, n_actors=4, n_periods=15)
    with pytest.raises(TRNNError, match=r"'recommended' needs at least 40 periods to learn from. Got 11 instead"):
        store.submit(preset("recommended"), short)
    write_npz(short, tmp_path / "short.npz")
    assert main(["train", "--data", str(tmp_path / "short.npz"), "--queue", "--runs", str(store.root)]) == 2
    assert "needs at least 40 periods" in capsys.readouterr().err and store.runs() == []
    assert store.submit(preset("quick"), short).status().state == "queued"


def test_a_run_stopped_before_its_first_epoch_claims_no_weights(store, small_series):
    run = store.submit(TINY, small_series, run_id="early")
    status = run.ask("stop")
    assert status.state == "stopped" and "weights" not in status.message and queue.queued(store, "train") == []


def test_tickets_of_an_earlier_version_are_understood(store, small_series):
    run = store.create(TINY, small_series, run_id="old")
    (store.root / ".queue").mkdir()
    (store.root / ".queue" / "00000000000000000001~old").touch()
    repair_queue(store, job_verbs())
    assert queue.queued(store, "train") == ["old"] and len(list((store.root / ".queue").iterdir())) == 1
    assert run.status().state == "queued"


def test_resume_is_refused_in_words(store, small_series):
    run = store.create(TINY, small_series, run_id="x")
    with pytest.raises(TRNNError, match="already queued"):
        store.get("x").resume()
    for state, words in (("finished", "start a new run with more epochs"), ("diverged", "smaller learning rate")):
        write_sealed(run.folder / "status.json", {**read_sealed(run.folder / "status.json"), "state": state})
        with pytest.raises(TRNNError, match=words):
            store.get("x").resume()


@pytest.mark.parametrize(
    "code",
    ["while True: pass", "raise ImportError('libtorch_cpu.so: failed to map segment from shared object')"],
    ids=["spins", "says so"],
)
def test_a_job_without_the_memory_to_begin_ends_and_says_why(store, small_series, monkeypatch, code):
    """OpenBLAS asks for memory for ever when it gets none."""
    monkeypatch.setattr(worker_module, "START_SECONDS", 0.2)
    run = store.submit(TINY, small_series, run_id="x")
    with (run.folder / "log.txt").open("ab") as output:
        process = subprocess.Popen([sys.executable, "-c", code], stderr=output, start_new_session=True)
    worker = Worker(store, job_verbs())
    slot = store.root / "slot-training-0"
    worker.children[slot] = Child(process, run, queue.tickets_of(store.root, "x"), run.folder / "log.txt")
    until(lambda: (worker._end_stuck(), worker._reap(), not worker.children)[-1], "it must be ended")
    status = run.status()
    assert status.state == "failed" and "could not start" in status.message and "memory ran out" in status.message
    assert queue.queued(store, "train") == []


def test_a_second_worker_is_refused(store):
    store.root.mkdir()
    with WorkerProcess(store):
        until(lambda: queue.worker_is_alive(store.root), "the worker must start")
        with pytest.raises(TRNNError, match="already at work"):
            Worker(store, job_verbs()).run()


def test_the_default_limit_is_half_the_cores():
    assert default_limit() == max(1, len(os.sched_getaffinity(0)) // 2)
