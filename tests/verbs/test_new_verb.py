"""A new verb is one file and one line: added here at run time, it is a command, a job and a function."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import pytest

from trnn_core import verbs
from trnn_core.cli import main
from trnn_core.errors import TRNNError
from trnn_core.jobs import queue
from trnn_core.jobs.context import Context, Stopped
from trnn_core.jobs.lanes import slot_path
from trnn_core.jobs.process import JobProcess
from trnn_core.runs.store import RunStore
from trnn_core.verbs.as_job import find, start

FILE = '''
"""`greet NAME`: say hello."""
from __future__ import annotations
from typing import Annotated
from trnn_core.errors import TRNNError
from trnn_core.jobs.context import Context
from trnn_core.verbs.request import BaseRequest, Option, Result, Said

HELP = "say hello"


class Request(BaseRequest):
    name: Annotated[str, Option("who is there", positional=True)]
    times: Annotated[int, Option("how often (1)")] = 1
    loud: Annotated[bool, Option("in capitals", role="resources")] = False


def run(request: Request, context: Context) -> Result:
    if request.times < 1:
        raise TRNNError(f"Times must be at least 1. Got {request.times} instead.")
    words = " ".join(["hello"] * request.times + [request.name])
    for n in range(request.times):
        context.check()
        context.progress(n / request.times, f"hello {n + 1}")
    context.write("greeting.txt", words.encode())
    context.progress(1.0, "Said.")
    return Said(words.upper() if request.loud else words, {"words": words}, value=words)
'''


@pytest.fixture
def greet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "greet_verb.py").write_text(FILE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(verbs.VERBS, "greet", verbs.Verb("greet_verb", "greet", 1.0))
    yield verbs.load("greet")
    sys.modules.pop("greet_verb", None)


def test_it_is_a_command(greet, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["greet", "you", "--times", "2", "--loud"]) == 0
    told = capsys.readouterr()
    assert told.out == "HELLO HELLO YOU\n" and told.err.splitlines() == ["hello 1", "hello 2", "Said."]
    assert main(["greet", "you", "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out) == {"words": "hello you"} and told.err == ""
    assert main(["greet", "you", "--times", "0"]) == 2
    assert capsys.readouterr().err == "trnn_core greet: Times must be at least 1. Got 0 instead.\n"
    with pytest.raises(SystemExit):
        main(["greet", "--help"])
    assert "how often (1)" in capsys.readouterr().out


def test_it_is_a_function(greet) -> None:
    assert greet.run(greet.Request(name="you"), Context()).value == "hello you"

    class Impatient(Context):
        def stopping(self) -> bool:
            return True

    with pytest.raises(Stopped):
        greet.run(greet.Request(name="you"), Impatient())
    with pytest.raises(TRNNError, match="'nmae' must be what is asked for"):
        greet.Request(name="you", nmae="me")


def test_it_is_a_job(greet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "ensure_worker", lambda store: False)  # the process is this one, below
    store = RunStore(tmp_path / "runs")
    request = greet.Request(name="you", times=3, loud=True)
    job = start(store, "greet", request)
    assert job.request == {"name": "you", "times": 3} and job.resources == {"loud": True}
    assert find(store, "greet", request.model_copy(update={"loud": False})).job_id == job.job_id  # type: ignore[union-attr]
    process = JobProcess(
        store, slot_path(store.root, "greet"), ["greet"], lambda name: verbs.VERBS[name].take(), only=job.job_id
    )
    thread = threading.Thread(target=process.run)
    thread.start()
    thread.join(30)
    assert (job.status().state, job.status().message) == ("done", "Said.")
    assert job.read("greeting.txt") == b"hello hello hello you"
