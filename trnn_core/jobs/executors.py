"""Where work is done: processes of this machine, or a Dask cluster by its address; one `concurrent.futures` interface.

    with open_executor(workers=4) as executor:                       # or open_executor("tcp://10.0.0.1:8786")
        futures = [executor.submit(train, seed) for seed in range(20)]

A worker that dies, or a scheduler that is restarted, costs time only: what was unfinished is handed out again, and a
task's result is taken once. Results are the same to the last bit everywhere: each task runs alone in its process, on
one thread, and draws its random numbers from its own arguments.

Calls travel between the processes of this machine by pickle, as `concurrent.futures` does; what a cluster sends back is
data (cluster.py). No file is ever read by pickle.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Protocol

from trnn_core.errors import TRNNError

log = logging.getLogger(__name__)
LOSSES = 3  # times in a row that workers may be lost without a single task finished in between
VARIABLE = "TRNN_CLUSTER"
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
HERE = "this machine"


class Pool(Protocol):
    """What carries out calls until it breaks, which its futures tell by `BrokenExecutor`."""

    words: str

    def submit(self, call: Callable[..., Any], /, *arguments: Any) -> Future[Any]: ...

    def close(self, unfinished: bool) -> None: ...


class SteadyExecutor(Executor):
    """Over a pool that may break: everything unfinished then goes to a new one.

    All that begins with `_` is done by one thread, the loop, in turn: there is nothing to lock.
    """

    def __init__(self, open_pool: Callable[[bool], Pool], made_on: str = HERE) -> None:
        """open_pool(again) makes a pool; `again` is true when it replaces a broken one."""
        self.made_on, self._open_pool = made_on, open_pool
        self._pool = open_pool(False)
        self._tasks: dict[Future[Any], tuple[Callable[..., Any], tuple[Any, ...]]] = {}  # the unfinished
        self._losses = 0
        self._failure: BaseException | None = None
        self._dropped = False  # whether some task is no longer wanted though it may be running
        self._ended = False
        self._loop = ThreadPoolExecutor(1, thread_name_prefix="executor")

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        if named:
            raise TRNNError(f"A task takes its arguments by position. Got {', '.join(named)} by name instead.")
        if self._ended:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future: Future[Any] = Future()
        self._loop.submit(self._begin, future, call, arguments)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Waits for everything that was not cancelled, whatever `wait` says."""
        if not self._ended:
            self._ended = True
            wait_for(self._loop.submit(self._unfinished, cancel_futures).result())
            self._loop.submit(lambda: self._pool.close(unfinished=self._dropped)).result()
            self._loop.shutdown()

    def _begin(self, future: Future[Any], call: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._tasks[future] = (call, arguments)
        if self._failure is None:
            self._hand_out([future])
        else:
            self._settle(future, error=self._failure)

    def _hand_out(self, futures: Iterable[Future[Any]]) -> None:
        pool = self._pool
        for future in futures:
            call, arguments = self._tasks[future]
            try:
                pool.submit(call, *arguments).add_done_callback(partial(self.on_done, pool, future))
            except BrokenExecutor as e:
                self._replace(e)
                return
            except Exception as e:  # what cannot be sent is its own sender's mistake
                self._settle(future, error=e)

    def on_done(self, pool: Pool, future: Future[Any], done: Future[Any]) -> None:
        """In a thread of the pool."""
        with suppress(RuntimeError):  # nobody listens any more
            self._loop.submit(self._take, pool, future, done)

    def _take(self, pool: Pool, future: Future[Any], done: Future[Any]) -> None:
        error = BrokenExecutor("cancelled") if done.cancelled() else done.exception()
        if not isinstance(error, BrokenExecutor):
            self._losses = 0
            self._settle(future, error=error, result=None if error else done.result())
        elif pool is self._pool and future in self._tasks:  # a task of an earlier pool is already on its way again
            self._replace(error)

    def _settle(self, future: Future[Any], error: BaseException | None, result: Any = None) -> None:
        if self._tasks.pop(future, None) is None or not future.set_running_or_notify_cancel():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)

    def _replace(self, reason: BaseException) -> None:
        """A new pool for everything unfinished."""
        self._losses += 1
        words = self._pool.words
        try:
            self._pool.close(unfinished=True)
            self._unfinished()
            if self._losses >= LOSSES:
                raise TRNNError(
                    f"The {words} broke down {LOSSES} times without finishing a task (is there enough memory?); "
                    f"{len(self._tasks)} tasks are left. Try again with fewer workers."
                ) from reason
            log.warning("the %s broke down (%s); %d tasks are handed out again", words, reason, len(self._tasks))
            self._pool = self._open_pool(True)
        except Exception as e:
            self._failure = e
            for future in list(self._tasks):
                self._settle(future, error=e)
        else:
            self._hand_out(list(self._tasks))

    def _unfinished(self, cancel: bool = False) -> list[Future[Any]]:
        """What is still wanted; the rest is forgotten."""
        for future in list(self._tasks):
            if future.cancel() if cancel else future.cancelled():
                self._settle(future, error=None)
                self._dropped = True
        return list(self._tasks)


class LocalPool(ProcessPoolExecutor):
    """Processes of this machine: spawned, of one thread each, gone when their parent is."""

    words = "pool of local processes"

    def __init__(self, n_workers: int) -> None:
        super().__init__(n_workers, multiprocessing.get_context("spawn"), initializer=_end_with_parent)

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        with one_thread():  # a process is spawned by the call that first needs it, and keeps this environment
            return super().submit(call, *arguments, **named)

    def close(self, unfinished: bool) -> None:
        processes = list((getattr(self, "_processes", None) or {}).values())
        self.shutdown(wait=not unfinished, cancel_futures=True)
        if unfinished:  # nobody waits for what they are at
            for process in processes:
                process.terminate()
            for process in processes:
                process.join(10)


@contextmanager
def one_thread() -> Iterator[None]:
    """An environment whose new processes compute on one thread: several with several each are many times slower."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _end_with_parent() -> None:
    """A killed parent cannot tell its pool to end, and the pool would wait for work for ever."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True, name="parent").start()


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


def operators_address(on_cluster: bool) -> str:
    """For work that a page asked for: a page says whether, only the operator says which."""
    address = cluster_address() if on_cluster else ""
    if address is None:
        raise TRNNError(
            f"This was to be done on the lab's cluster, but {VARIABLE} names none where the work is done; start it "
            "again on this machine."
        )
    return address


@contextmanager
def open_executor(address: str | None = None, *, workers: int | None = None) -> Iterator[SteadyExecutor]:
    """The executor of a cluster's address (None: of TRNN_CLUSTER); without one, `workers` spawned processes of this
    machine. An address comes from the operator, never from a page."""
    if workers is not None and workers < 1:
        raise TRNNError(f"The number of workers must be at least 1. Got {workers} instead.")
    found, leaving = cluster_address(address), threading.Event()
    if found is not None:
        try:
            from trnn_core.jobs.cluster import ClusterPool
        except ImportError as e:
            raise TRNNError(
                "A cluster needs the package 'distributed'; it is not installed. Run `make install`."
            ) from e

        executor = SteadyExecutor(
            lambda again: ClusterPool(found, again, leaving), f"cluster {found.partition('//')[2]}"
        )
    else:
        n_workers = workers or os.cpu_count() or 1
        executor = SteadyExecutor(lambda again: LocalPool(n_workers))
    try:
        yield executor
    except BaseException:
        leaving.set()
        executor.shutdown(cancel_futures=True)
        raise
    else:
        executor.shutdown()
