"""Processes of this machine: spawned, of one thread each, gone when their parent is."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from trnn_core.jobs.executors import Lost, Told

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class LocalEngine:
    """A pool of processes, until one of them dies: then the whole pool is given up."""

    words = "pool of local processes"

    def __init__(self, n_workers: int) -> None:
        self._pool = ProcessPoolExecutor(n_workers, multiprocessing.get_context("spawn"), initializer=_end_with_parent)

    def start(self, call: Callable[..., Any], arguments: tuple[Any, ...], tell: Told) -> None:
        try:
            with one_thread():  # a process is spawned by the call that first needs it, and keeps this environment
                future = self._pool.submit(call, *arguments)
        except BrokenProcessPool as e:
            raise Lost(str(e)) from e
        future.add_done_callback(lambda done: _tell(done, tell))

    def close(self, unfinished: bool) -> None:
        processes = list((getattr(self._pool, "_processes", None) or {}).values())
        self._pool.shutdown(wait=not unfinished, cancel_futures=True)
        if unfinished:  # nobody waits for what they are at
            for process in processes:
                process.terminate()
            for process in processes:
                process.join(10)


def _tell(done: Future[Any], tell: Told) -> None:
    if done.cancelled():
        return
    error = done.exception()
    if isinstance(error, BrokenProcessPool):
        tell(("lost", error))
    elif error is not None:
        tell(("error", error))
    else:
        tell(("result", done.result()))


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
