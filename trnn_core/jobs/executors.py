"""Where work is done: processes of this machine, or a Dask cluster by its address; one `concurrent.futures` interface.

    with open_executor(workers=4) as executor:                       # or open_executor("tcp://10.0.0.1:8786")
        futures = [executor.submit(train, seed) for seed in range(20)]

A worker that dies, or a scheduler that is restarted, costs time only: what was unfinished is handed out again, and a
task's result is taken once. Results are the same to the last bit everywhere: each task runs alone in its process, on
one thread, and draws its random numbers from its own arguments.

Calls travel between our own processes by pickle, as `concurrent.futures` and Dask do; no file is ever read that way.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from trnn_core.errors import TRNNError

log = logging.getLogger(__name__)
LOSSES = 3  # times in a row that workers may be lost without a single task finished in between
VARIABLE = "TRNN_CLUSTER"

Outcome = tuple[Literal["result", "error", "lost"], Any]
Told = Callable[[Outcome], None]


class Engine(Protocol):
    """What carries out calls until it breaks; a new one is then opened."""

    words: str

    def start(self, call: Callable[..., Any], arguments: tuple[Any, ...], tell: Told) -> None: ...

    def close(self, unfinished: bool) -> None: ...


@dataclass
class _Task:
    call: Callable[..., Any]
    arguments: tuple[Any, ...]
    future: Future[Any]


class Lost(Exception):
    """An engine has broken."""


class SteadyExecutor(Executor):
    """An executor over engines that may break: one thread hands tasks out, and out again when their engine is gone."""

    def __init__(self, open_engine: Callable[[bool], Engine]) -> None:
        """open_engine(again) makes an engine; `again` is true when it replaces a broken one."""
        self._open_engine = open_engine
        self._engine: Engine | None = open_engine(False)
        self.words = self._engine.words
        self._events: queue.Queue[tuple[str, int, int, Any]] = queue.Queue()  # what, engine number, task number, more
        self._tasks: dict[int, _Task] = {}
        self._number, self._generation, self._losses = 0, 0, 0
        self._dropped = False  # whether some task is no longer wanted though it may be running
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="executor", daemon=True)
        self._thread.start()

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        if named:
            raise TRNNError(f"A task takes its arguments by position. Got {', '.join(named)} by name instead.")
        if self._ended.is_set():
            raise RuntimeError("cannot schedule new futures after shutdown")
        future: Future[Any] = Future()
        self._number += 1
        self._events.put(("new", 0, self._number, _Task(call, arguments, future)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._events.put(("cancel" if cancel_futures else "end", 0, 0, None))
        self._ended.set()
        if wait:
            self._thread.join()

    def _run(self) -> None:
        ending = False
        try:
            while not (ending and not self._tasks):
                what, generation, number, more = self._events.get()
                if what == "new":
                    self._tasks[number] = more
                    self._start(number)
                elif what == "told":
                    self._take(generation, number, more)
                else:
                    ending = True
                    self._drop_cancelled(everything=what == "cancel")
                if ending:
                    self._drop_cancelled()
        except BaseException as e:
            self._fail(e)
        finally:
            if self._engine is not None:
                self._engine.close(unfinished=self._dropped or bool(self._tasks))

    def _start(self, number: int) -> None:
        task, generation = self._tasks[number], self._generation
        if task.future.cancelled():
            self._tasks.pop(number)
            return
        assert self._engine is not None
        try:
            self._engine.start(task.call, task.arguments, lambda o: self._events.put(("told", generation, number, o)))
        except Lost as e:
            self._replace(e)

    def _take(self, generation: int, number: int, outcome: Outcome) -> None:
        kind, value = outcome
        if kind == "lost":
            if generation == self._generation:  # a task of an earlier engine is already on its way again
                self._replace(value)
            return
        task = self._tasks.pop(number, None)
        if task is None or not task.future.set_running_or_notify_cancel():
            return
        self._losses = 0
        if kind == "result":
            task.future.set_result(value)
        else:
            task.future.set_exception(value)

    def _replace(self, reason: BaseException) -> None:
        """A new engine for everything unfinished."""
        assert self._engine is not None
        self._losses += 1
        self._generation += 1
        words = self._engine.words
        self._engine.close(unfinished=True)
        self._engine = None
        if self._losses >= LOSSES:
            raise TRNNError(
                f"The {words} broke down {LOSSES} times without finishing a task (is there enough memory?); "
                f"{len(self._tasks)} tasks are left. Try again with fewer workers."
            ) from reason
        log.warning("the %s broke down (%s); %d tasks are handed out again", words, reason, len(self._tasks))
        self._engine = self._open_engine(True)
        generation = self._generation
        for number in sorted(self._tasks):
            if self._generation == generation:
                self._start(number)

    def _drop_cancelled(self, everything: bool = False) -> None:
        for number, task in list(self._tasks.items()):
            if task.future.cancel() if everything else task.future.cancelled():
                self._tasks.pop(number)
                self._dropped = True

    def _fail(self, error: BaseException) -> None:
        self._ended.set()
        while not self._events.empty():
            what, _, number, more = self._events.get()
            if what == "new":
                self._tasks[number] = more
        for task in self._tasks.values():
            if task.future.set_running_or_notify_cancel():
                task.future.set_exception(error)


def cluster_address(given: str | None = None) -> str | None:
    """The Dask scheduler to use, that of the environment where none is given; None for this machine's own processes.

    >>> cluster_address("lab:8786"), cluster_address("")
    ('tcp://lab:8786', None)
    """
    address = (os.environ.get(VARIABLE, "") if given is None else given).strip()
    if not address:
        return None
    scheme, found, rest = address.partition("://")
    if not found:
        scheme, rest = "tcp", address
    if scheme not in ("tcp", "tls") or not rest.rpartition(":")[2].isdigit():
        raise TRNNError(
            f"The address of a cluster must look like tcp://10.0.0.1:8786 (or tls://...). Got {address!r} instead."
        )
    return f"{scheme}://{rest}"


@contextmanager
def open_executor(address: str | None = None, *, workers: int | None = None) -> Iterator[Executor]:
    """The executor of a cluster's address (None: of TRNN_CLUSTER); without one, `workers` spawned processes of this
    machine."""
    if workers is not None and workers < 1:
        raise TRNNError(f"The number of workers must be at least 1. Got {workers} instead.")
    found = cluster_address(address)
    if found is not None:
        from trnn_core.jobs.dask_engine import DaskEngine

        executor = SteadyExecutor(lambda again: DaskEngine(found, again))
    else:
        from trnn_core.jobs.local_engine import LocalEngine

        n_workers = workers or os.cpu_count() or 1
        executor = SteadyExecutor(lambda again: LocalEngine(n_workers))
    try:
        yield executor
    except BaseException:
        executor.shutdown(cancel_futures=True)
        raise
    else:
        executor.shutdown()
