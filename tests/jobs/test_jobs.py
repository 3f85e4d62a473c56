"""Jobs with real processes: progress, stop, kill -9, failures in words, nothing done twice, nobody left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.jobs.ending import end_jobs, until
from trnn_core.errors import TRNNError
from trnn_core.files import read_sealed, write_sealed
from trnn_core.jobs import queue, requests
from trnn_core.jobs.lanes import lane_log
from trnn_core.jobs.processes import pulse, read_beat
from trnn_core.jobs.requests import find_job, list_jobs, start_job, sweep
from trnn_core.runs.store import RunStore

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store whose worker knows the verbs of this test; no process may outlive it."""
    store = RunStore(tmp_path / "runs")
    monkeypatch.setattr(queue, "PROGRAM", "tests.jobs.kinds")
    yield store
    end_jobs(store)


def ended(job, seconds=30.0):
    until(lambda: not job.status().is_live, f"{job.job_id} must end", seconds)
    return job.status()


def diary(store) -> list[str]:
    path = store.root / "diary.txt"
    return path.read_text().splitlines() if path.exists() else []


def test_what_was_done_before_does_not_count_for_the_pace(store):
    job = start_job(store, "steps", {"steps": 100, "pause": 0.1, "done_before": 70})
    until(lambda: job.status().done > 0.8, "progress must be seen")
    running = job.status()
    assert running.eta_seconds > 0.5 * 0.1 * 100 * (1 - running.done)
    job.stop()


def test_a_task_tells_its_progress_and_keeps_its_result(store):
    job = start_job(store, "steps", {"steps": 30, "pause": 0.1}, run_id="r1")
    assert job.status().state == "queued" and job.files() == []
    until(lambda: job.status().done > 0.3, "progress must be seen")
    running = job.status()
    assert running.state == "running" and running.message.startswith("step ")
    assert running.eta_seconds == pytest.approx(3 * (1 - running.done), abs=1.5)
    beat = read_beat(job.folder / "heartbeat.json")
    assert os.getpriority(os.PRIO_PROCESS, beat["process"]["pid"]) >= 10  # pages come first
    assert start_job(store, "steps", {"pause": 0.1, "steps": 30}, run_id="r1").job_id == job.job_id  # asked twice
    status = ended(job)
    assert (status.state, status.done, status.message) == ("done", 1.0, "All steps are done.")
    assert job.files() == ["answer.txt"] and job.read("answer.txt") == b"435"

    # Its process is still there: the next answer comes at once, an equal one is not done again.
    start = time.monotonic()
    second = start_job(store, "steps", {"steps": 3})
    ended(second)
    assert time.monotonic() - start < 0.8
    assert read_beat(second.folder / "heartbeat.json")["process"] == beat["process"]
    again = start_job(store, "steps", {"steps": 3})
    assert again.job_id == second.job_id and again.status().state == "done" and diary(store).count(second.job_id) == 1
    assert ended(start_job(store, "steps", {"steps": 3}, fresh=True)).state == "done"
    assert diary(store).count(second.job_id) == 2
    assert [t.job_id for t in list_jobs(store)] == [second.job_id, job.job_id]
    assert [t.job_id for t in list_jobs(store, "steps", run_id="r1")] == [job.job_id]
    assert find_job(store, job.job_id).request == {"steps": 30, "pause": 0.1}

    # A process with nothing to do leaves, and leaves nobody and nothing behind.
    until(lambda: pulse(beat["process"]) == "dead", "an idle process leaves", 20)
    until(lambda: not Path(f"/proc/{beat['process']['pid']}").exists(), "and is no zombie")
    path = next((job.folder / "files").iterdir())
    path.write_bytes(b"436")
    with pytest.raises(TRNNError, match="damaged"):
        job.read("answer.txt")


def test_stopping(store):
    first = start_job(store, "steps", {"steps": 1000, "pause": 0.05})
    second = start_job(store, "steps", {"steps": 2})
    until(lambda: first.status().state == "running", "it must start")
    assert second.status().state == "queued"
    assert second.stop().state == "stopped" and second.status().message == "Stopped while it was waiting."
    first.stop()
    assert ended(first).message == "Stopped on request." and first.status().state == "stopped"
    assert not (first.folder / "request.json").exists() and first.files() == []
    assert ended(start_job(store, "steps", {"steps": 2})).state == "done"  # a stopped one may be asked for again
    assert diary(store).count(second.job_id) == 1


def test_kill_9_is_shown_as_interrupted_and_can_be_started_again(store):
    job = start_job(store, "steps", {"steps": 40, "pause": 0.05})
    until(lambda: job.status().state == "running", "it must start")
    behind = start_job(store, "steps", {"steps": 4})
    process = read_beat(job.folder / "heartbeat.json")["process"]
    os.kill(process["pid"], signal.SIGKILL)
    until(lambda: job.status().state == "interrupted", "a killed job is shown as interrupted", 5)
    assert "start it again" in job.status().message
    until(lambda: "killed by the system or a person" in job.status().message, "the worker says why", 20)
    assert ended(behind).state == "done"  # the worker gives it another process
    until(lambda: not Path(f"/proc/{process['pid']}").exists(), "no zombie stays")
    assert start_job(store, "steps", {"steps": 40, "pause": 0.05}).job_id == job.job_id
    assert ended(job).state == "done" and job.read("answer.txt") == b"780"


def test_failures_are_told_in_words(store):
    bad = start_job(store, "steps", {"fail": "input"})
    bug = start_job(store, "steps", {"fail": "bug"})
    assert ended(bad).state == "failed" and bad.status().message == "The week must be a Thursday. Got a Friday instead."
    words = ended(bug).message
    reference = words.rpartition("reference ")[2].strip(".")
    log = lane_log(store.root, "steps").read_text()
    assert bug.status().state == "failed" and "nobody expected" not in words
    assert f"reference {reference}" in log and "ZeroDivisionError: nobody expected this" in log


def test_a_kind_that_does_not_exist_is_told(store):
    job = start_job(store, "nonsense", {})
    assert ended(job).state == "failed" and "must be one of" in job.status().message


def test_a_task_that_does_not_answer_is_ended(store, monkeypatch):
    monkeypatch.setenv("TRNN_TEST_GRACE", "1")
    job = start_job(store, "steps", {"deaf": True})
    until(lambda: job.status().state == "running", "it must start")
    process = read_beat(job.folder / "heartbeat.json")["process"]
    job.stop()
    assert ended(job).state == "stopped" and "did not answer" in job.status().message
    until(lambda: pulse(process) == "dead", "its process is ended")


def test_a_job_that_has_heard_may_take_its_time(store, monkeypatch):
    monkeypatch.setenv("TRNN_TEST_GRACE", "1")
    job = start_job(store, "steps", {"slow_end": 4.0})
    until(lambda: job.status().state == "running", "it must start")
    process = read_beat(job.folder / "heartbeat.json")["process"]
    job.stop()
    until(lambda: read_beat(job.folder / "heartbeat.json")["heard"], "it says that it has heard")
    assert ended(job).message == "Stopped on request." and pulse(process) == "alive"


def test_a_killed_worker_is_replaced_and_its_process_goes_on_with_its_jobs(store):
    first = start_job(store, "steps", {"steps": 60, "pause": 0.05})
    until(lambda: first.status().state == "running", "it must start")
    worker = read_beat(queue.worker_folder(store.root) / "heartbeat.json")["process"]
    os.kill(worker["pid"], signal.SIGKILL)
    until(lambda: pulse(worker) == "dead", "the worker is gone")
    second = start_job(store, "steps", {"steps": 2})
    assert ended(first).state == "done" and ended(second).state == "done"
    beats = [read_beat(job.folder / "heartbeat.json") for job in (first, second)]
    assert beats[0]["process"] == beats[1]["process"] != worker  # no second process was started beside it
    until(lambda: read_beat(queue.worker_folder(store.root) / "heartbeat.json"), "a new worker is there")


def test_an_ending_worker_puts_its_jobs_back(store):
    job = start_job(store, "steps", {"steps": 1000, "pause": 0.05})
    until(lambda: job.status().state == "running", "it must start")
    end_jobs(store)
    assert job.status().state == "queued" and queue.queued(store, "steps") == [job.job_id]
    queue.ensure_worker(store)
    until(lambda: job.status().state == "running", "the next worker takes it")
    job.stop()
    assert ended(job).state == "stopped"


def test_a_job_of_an_earlier_version_is_still_there(store):
    job = _queue_only(store, {"i": 1})
    new = read_sealed(job.folder / "task.json")
    old = {"kind": "steps", "arguments": {"i": 1}, "means": {"workers": 2}, "run_id": None, "host": "here"}
    write_sealed(job.folder / "task.json", {**old, "created": new["created"]})
    write_sealed(
        job.folder / "status.json",
        {"state": "done", "done": 1.0, "message": "x", "eta_seconds": None, "seconds": 1.0, "updated": ""},
    )
    (found,) = list_jobs(store, "steps")
    assert (found.verb, found.request, found.resources, found.run_id) == ("steps", {"i": 1}, {"workers": 2}, None)
    again = _queue_only(store, {"i": 1})
    assert again.job_id == found.job_id and again.status().state == "done"  # not done twice


def test_of_two_processes_one_takes_a_task(store):
    """Two machines on one store: each its own process lock, so only the job's own lock stands between them."""
    n = 12
    made = [_queue_only(store, {"steps": 2, "pause": 0.01, "i": i}) for i in range(n)]
    code = (
        "import sys; from pathlib import Path; from trnn_core.jobs.process import JobProcess; "
        "from trnn_core.runs.store import RunStore; from trnn_core.jobs.lanes import Verb; "
        "slot = Path(sys.argv[1]) / '.worker' / sys.argv[2] / 'slot-steps-0'; steps = Verb('tests.jobs.kinds', 'steps'); "
        "JobProcess(RunStore(sys.argv[1]), slot, ['steps'], lambda verb: steps.take(), 0.3).run()"
    )
    both = [subprocess.Popen([sys.executable, "-c", code, str(store.root), name], cwd=ROOT) for name in ("one", "two")]
    assert [p.wait(60) for p in both] == [0, 0]
    assert sorted(diary(store)) == sorted(t.job_id for t in made)
    assert {t.status().state for t in made} == {"done"}


def _queue_only(store, arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queue, "ensure_worker", lambda store: False)
        return start_job(store, "steps", arguments)


def test_old_tasks_are_swept_and_those_at_work_are_not(store, monkeypatch):
    monkeypatch.setattr(requests, "KEEP_JOBS", 2)
    made = [_queue_only(store, {"i": i}) for i in range(5)]
    long_ago = (datetime.now().astimezone() - timedelta(days=8)).isoformat()
    for i, job in enumerate(made):
        asked = read_sealed(job.folder / "task.json")
        write_sealed(job.folder / "task.json", {**asked, "created": long_ago if i < 4 else asked["created"]})
        if i != 0:
            write_sealed(job.folder / "status.json", {"state": "done"})
    assert sweep(store, "steps") == 2
    left = {t.job_id for t in list_jobs(store)}
    assert made[0].job_id in left  # it still waits
    assert made[4].job_id in left and len(left) == 3


def test_bad_requests_are_refused_in_words(store):
    for kind in ("../x", "Steps", "", "a" * 50):
        with pytest.raises(TRNNError, match="short word"):
            start_job(store, kind, {})
    with pytest.raises(TRNNError, match="plain text, finite numbers"):
        start_job(store, "steps", {"x": float("nan")})
    with pytest.raises(TRNNError, match="must look like"):
        find_job(store, "../../etc")
    with pytest.raises(TRNNError, match="cleared away"):
        find_job(store, "steps-0123456789abcdef")
    assert list_jobs(store) == []
