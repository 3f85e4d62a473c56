"""Tasks with real processes: progress, stop, kill -9, failures in words, nothing done twice, nobody left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.training.end_tasks import end_tasks
from tests.training.test_jobs import until
from trnn_core.errors import TRNNError
from trnn_core.files import read_sealed, write_sealed
from trnn_core.jobs.processes import pulse, read_beat
from trnn_core.runs import task_process, tasks
from trnn_core.runs.store import RunStore
from trnn_core.runs.tasks import find_task, list_tasks, start_task

ROOT = Path(__file__).resolve().parents[2]


def command(store: RunStore, kind: str, *more: str) -> list[str]:
    return [sys.executable, "-m", "tests.training.task_kinds", "task", kind, "--runs", str(store.root), *more]


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store whose task processes know the kinds of this test; none of them may outlive it."""
    store = RunStore(tmp_path / "runs")
    monkeypatch.setattr(tasks, "process_command", command)
    yield store
    end_tasks(store)


def ended(task, seconds=30.0):
    until(lambda: not task.status().is_live, f"{task.task_id} must end", seconds)
    return task.status()


def diary(store) -> list[str]:
    path = store.root / "diary.txt"
    return path.read_text().splitlines() if path.exists() else []


def test_what_was_done_before_does_not_count_for_the_pace(store):
    task = start_task(store, "steps", {"steps": 100, "pause": 0.1, "done_before": 70})
    until(lambda: task.status().done > 0.8, "progress must be seen")
    running = task.status()
    assert running.eta_seconds > 0.5 * 0.1 * 100 * (1 - running.done)
    task.stop()


def test_a_task_tells_its_progress_and_keeps_its_result(store):
    task = start_task(store, "steps", {"steps": 30, "pause": 0.1}, run_id="r1")
    assert task.status().state == "queued" and task.files() == []
    until(lambda: task.status().done > 0.3, "progress must be seen")
    running = task.status()
    assert running.state == "running" and running.message.startswith("step ")
    assert running.eta_seconds == pytest.approx(3 * (1 - running.done), abs=1.5)
    beat = read_beat(task.folder / "heartbeat.json")
    assert os.getpriority(os.PRIO_PROCESS, beat["process"]["pid"]) >= 10  # pages come first
    assert start_task(store, "steps", {"pause": 0.1, "steps": 30}, run_id="r1").task_id == task.task_id  # asked twice
    status = ended(task)
    assert (status.state, status.done, status.message) == ("done", 1.0, "All steps are done.")
    assert task.files() == ["answer.txt"] and task.read("answer.txt") == b"435"

    # Its process is still there: the next answer comes at once, an equal one is not done again.
    start = time.monotonic()
    second = start_task(store, "steps", {"steps": 3})
    ended(second)
    assert time.monotonic() - start < 0.8
    assert read_beat(second.folder / "heartbeat.json")["process"] == beat["process"]
    again = start_task(store, "steps", {"steps": 3})
    assert (
        again.task_id == second.task_id and again.status().state == "done" and diary(store).count(second.task_id) == 1
    )
    assert ended(start_task(store, "steps", {"steps": 3}, fresh=True)).state == "done"
    assert diary(store).count(second.task_id) == 2
    assert [t.task_id for t in list_tasks(store)] == [second.task_id, task.task_id]
    assert [t.task_id for t in list_tasks(store, "steps", run_id="r1")] == [task.task_id]
    assert find_task(store, task.task_id).arguments == {"steps": 30, "pause": 0.1}

    # A process with nothing to do leaves, and leaves nobody and nothing behind.
    until(lambda: pulse(beat["process"]) == "dead", "an idle process leaves", 20)
    until(lambda: not Path(f"/proc/{beat['process']['pid']}").exists(), "and is no zombie")
    path = next((task.folder / "files").iterdir())
    path.write_bytes(b"436")
    with pytest.raises(TRNNError, match="damaged"):
        task.read("answer.txt")


def test_stopping(store):
    first = start_task(store, "steps", {"steps": 1000, "pause": 0.05})
    second = start_task(store, "steps", {"steps": 2})
    until(lambda: first.status().state == "running", "it must start")
    assert second.status().state == "queued"
    assert second.stop().state == "stopped" and second.status().message == "Stopped while it was waiting."
    first.stop()
    assert ended(first).message == "Stopped on request." and first.status().state == "stopped"
    assert not (first.folder / "request.json").exists() and first.files() == []
    assert ended(start_task(store, "steps", {"steps": 2})).state == "done"  # a stopped one may be asked for again
    assert diary(store).count(second.task_id) == 1


def test_kill_9_is_shown_as_interrupted_and_can_be_started_again(store):
    task = start_task(store, "steps", {"steps": 40, "pause": 0.05})
    until(lambda: task.status().state == "running", "it must start")
    behind = start_task(store, "steps", {"steps": 4})
    process = read_beat(task.folder / "heartbeat.json")["process"]
    os.kill(process["pid"], signal.SIGKILL)
    until(lambda: task.status().state == "interrupted", "a killed task is shown as interrupted", 5)
    assert "start it again" in task.status().message
    until(lambda: behind.status().state == "interrupted", "nobody is left to do it", 5)
    until(lambda: not Path(f"/proc/{process['pid']}").exists(), "no zombie stays")
    assert start_task(store, "steps", {"steps": 40, "pause": 0.05}).task_id == task.task_id
    assert ended(task).state == "done" and task.read("answer.txt") == b"780"
    assert ended(behind).state == "done"  # the new process found what the killed one had left


def test_failures_are_told_in_words(store):
    bad = start_task(store, "steps", {"fail": "input"})
    bug = start_task(store, "steps", {"fail": "bug"})
    assert ended(bad).state == "failed" and bad.status().message == "The week must be a Thursday. Got a Friday instead."
    words = ended(bug).message
    reference = words.rpartition("reference ")[2].strip(".")
    log = (tasks.process_folder(store, "steps") / "log.txt").read_text()
    assert bug.status().state == "failed" and "nobody expected" not in words
    assert f"reference {reference}" in log and "ZeroDivisionError: nobody expected this" in log


def test_a_kind_that_does_not_exist_is_told(store):
    task = start_task(store, "nonsense", {})
    assert ended(task).state == "interrupted" and "must be one of" in task.status().message


def test_a_task_that_does_not_answer_is_ended(store, monkeypatch):
    monkeypatch.setenv("TRNN_TEST_GRACE", "1")
    task = start_task(store, "steps", {"deaf": True})
    until(lambda: task.status().state == "running", "it must start")
    process = read_beat(task.folder / "heartbeat.json")["process"]
    task.stop()
    assert ended(task).state == "stopped" and "did not answer" in task.status().message
    until(lambda: pulse(process) == "dead", "its process is ended")


def test_of_two_processes_one_takes_a_task(store):
    """Two machines on one store: each its own process lock, so only the task's own lock stands between them."""
    n = 12
    made = [_queue_only(store, {"steps": 2, "pause": 0.01, "i": i}) for i in range(n)]
    code = (
        "import sys; from pathlib import Path; from trnn_core.runs import task_process as p; "
        "from trnn_core.runs.store import RunStore; from trnn_core.verbs.task import worker_of; "
        "from trnn_core.verbs import VERBS, Verb; VERBS['steps'] = Verb('tests.training.task_kinds', 'steps'); "
        "t = p.TaskProcess(RunStore(sys.argv[1]), 'steps', lambda: worker_of('steps'), 0.3); "
        "t.folder = Path(sys.argv[1]) / '.tasks' / '.process' / sys.argv[2] / 'steps'; t.run()"
    )
    both = [subprocess.Popen([sys.executable, "-c", code, str(store.root), name], cwd=ROOT) for name in ("one", "two")]
    assert [p.wait(60) for p in both] == [0, 0]
    assert sorted(diary(store)) == sorted(t.task_id for t in made)
    assert {t.status().state for t in made} == {"done"}


def _queue_only(store, arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "_ensure_process", lambda task: None)
        return start_task(store, "steps", arguments)


def test_old_tasks_are_swept_and_those_at_work_are_not(store, monkeypatch):
    monkeypatch.setattr(task_process, "KEEP_TASKS", 2)
    made = [_queue_only(store, {"i": i}) for i in range(5)]
    long_ago = (datetime.now().astimezone() - timedelta(days=8)).isoformat()
    for i, task in enumerate(made):
        asked = read_sealed(task.folder / "task.json")
        write_sealed(task.folder / "task.json", {**asked, "created": long_ago if i < 4 else asked["created"]})
        if i != 0:
            write_sealed(task.folder / "status.json", {"state": "done"})
    assert task_process.sweep(store, "steps") == 2
    left = {t.task_id for t in list_tasks(store)}
    assert made[0].task_id in left  # it still waits
    assert made[4].task_id in left and len(left) == 3


def test_bad_requests_are_refused_in_words(store):
    for kind in ("../x", "Steps", "", "a" * 50):
        with pytest.raises(TRNNError, match="short word"):
            start_task(store, kind, {})
    with pytest.raises(TRNNError, match="plain text, finite numbers"):
        start_task(store, "steps", {"x": float("nan")})
    with pytest.raises(TRNNError, match="must look like"):
        find_task(store, "../../etc")
    with pytest.raises(TRNNError, match="cleared away"):
        find_task(store, "steps-0123456789abcdef")
    assert list_tasks(store) == []
