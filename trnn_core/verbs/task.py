"""`task LANE`: do the jobs of one lane that pages have asked for; started by them, in the background.

A request that is to be done as a job is stored as a task: what determines the result as its arguments, how it is made
as its means. The questions to a network share a lane, and their arguments name the question.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from trnn_core import verbs
from trnn_core.errors import TRNNError
from trnn_core.jobs.context import Context, Stopped
from trnn_core.runs import layout
from trnn_core.runs.store import RunStore
from trnn_core.runs.task_process import TaskContext, TaskProcess, shorten_log, sweep
from trnn_core.runs.tasks import Task, list_tasks, start_task
from trnn_core.verbs.base import BaseRequest, Option, Result, Said
from trnn_core.verbs.common import store_of

HELP = "do waiting tasks of one kind (backtests, explanations, reports), then stay for a while in case more come"
NICE = 10  # pages and other people come first

# question of a stored task -> the verb, and what it adds to the request
QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "attribution": ("explain", {}),
    "scenario": ("scenario", {}),
    "impulse": ("impulse", {}),
    "unusual": ("unusual", {}),
    "warm": ("warm", {"spread": False}),
    "ready": ("warm", {"spread": True}),
    "influence": ("influence", {"retrain": False}),
    "retrain": ("influence", {"retrain": True}),
}


class Request(BaseRequest):
    machines: ClassVar[bool] = False

    kind: Annotated[str, Option(f"one of {', '.join(verbs.lanes())}", positional=True)]
    idle_exit: Annotated[float | None, Option("end after so long without work", metavar="SECONDS", role="means")] = None


def run(request: Request, context: Context) -> Result:
    lanes = verbs.lanes()
    if request.kind not in lanes:
        raise TRNNError(f"The kind of task must be one of {', '.join(lanes)}. Got {request.kind!r} instead.")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    idle = lanes[request.kind] if request.idle_exit is None else request.idle_exit
    process = TaskProcess(store_of(context), request.kind, lambda: worker_of(request.kind), idle)
    shorten_log(process.folder / layout.LOG)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: process.end())
    os.nice(NICE)
    process.run()
    return Said("")


def start(store: RunStore, verb: str, request: BaseRequest, fresh: bool = False) -> Task:
    """Ask for a request to be done as a job; an equal one that waits, runs or is done is returned, not done twice."""
    return start_task(
        store,
        verbs.VERBS[verb].lane,
        arguments_of(verb, request),
        run_id=getattr(request, "run", None),
        fresh=fresh,
        means=request.stored("means"),
    )


def find(store: RunStore, verb: str, request: BaseRequest) -> Task | None:
    """The newest job of this very request."""
    asked = arguments_of(verb, request)
    tasks = list_tasks(store, verbs.VERBS[verb].lane, getattr(request, "run", None))
    return next((task for task in tasks if task.arguments == asked), None)


def arguments_of(verb: str, request: BaseRequest) -> dict[str, Any]:
    """A request as the arguments of its task."""
    asked = request.stored()
    for question, (name, given) in QUESTIONS.items():
        if name == verb and given.items() <= asked.items():
            return {"question": question, **{k: v for k, v in asked.items() if k not in given}}
    return asked


def request_of(kind: str, arguments: dict[str, Any], means: dict[str, Any], run_id: str | None) -> tuple[str, Any]:
    """The verb and the request that a task was made of."""
    asked = {**arguments, **means}
    question = asked.pop("question", None)
    if question is not None and question not in QUESTIONS:
        raise TRNNError(f"A question must be one of {', '.join(QUESTIONS)}. Got {question!r:.40} instead.")
    verb, given = QUESTIONS[question] if question is not None else (kind, {})
    owner = {"run": run_id} if run_id is not None else {}
    return verb, verbs.load(verb).Request(**asked, **given, **owner)


class JobContext(Context):
    """A task, as the context of its verb."""

    live = True

    def __init__(self, task: TaskContext):
        super().__init__(task.store.root)
        self.task_id, self._task = task.task_id, task
        self._seconds: float | None = None

    def progress(self, done: float, message: str) -> None:
        self._task.progress(done, message, self._seconds)

    def expect(self, seconds: float) -> None:
        self._seconds = seconds

    def stopping(self) -> bool:
        return self._task.stopping()

    def write(self, name: str, content: bytes) -> None:
        self._task.write(name, content)


def worker_of(kind: str) -> Callable[[TaskContext], None]:
    """The function that does one task of a lane; torch and the like are loaded only now."""

    def work(task: TaskContext) -> None:
        verb, request = request_of(kind, task.arguments, task.means, task.run_id)
        try:
            verbs.load(verb).run(request, JobContext(task))
        except Stopped:
            return
        if keep := verbs.VERBS[verb].keep:
            sweep(task.store, kind, most=keep)

    return work
