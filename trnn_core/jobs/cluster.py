"""A Dask cluster as a pool: its scheduler hands tasks of dead workers to others, we reconnect when it is restarted.

Dask speaks pickle in both directions, and a pickle can run any code where it is opened. Workers must trust whoever may
use the scheduler. We need not trust the cluster: a task is the name of a function and bytes of data, its answer bytes
of data (messages.py), and from the first connection on no pickle that arrives through Dask may name anything
(`_refuse_code`), whatever kind of message it is in.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Future, InvalidStateError
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from inspect import signature
from platform import python_version
from typing import Any, get_type_hints

from distributed import Client

from trnn_core.errors import TRNNError
from trnn_core.jobs.messages import pack, unpack

CONNECT_SECONDS = 15.0
PATIENCE_SECONDS = 600.0  # for a scheduler or workers that are being restarted
SAME = ("numpy", "scipy", "torch", "pandas")  # packages whose version may change the last bit
RESULT, REFUSAL, FAILURE = b"+", b"!", b"?"  # the first byte of an answer
KILLED = "KilledWorker"
_ALONE = threading.Lock()  # torch has one stream of random numbers per process: its tasks take turns


class ClusterPool:
    """A connection to a scheduler, until it breaks."""

    def __init__(self, address: str, again: bool, leaving: threading.Event) -> None:
        self.words = f"cluster at {address}"
        self._refused: TRNNError | None = None
        self._waiting: dict[Any, Future[Any]] = {}  # by Dask's own: it forgets a task whose future is no longer held
        self._shared: dict[str, Any] = {}  # series are sent once, not with every task
        _watch_pickles(self)
        self._client = self._connect(address, PATIENCE_SECONDS if again else CONNECT_SECONDS, leaving)

    def submit(self, call: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        if self._refused:
            raise self._refused
        name, expected = f"{call.__module__}:{call.__qualname__}", get_type_hints(call).get("return", Any)
        try:
            sent = [self._send(a) for a in arguments]
            remote = self._client.submit(do_task, name, dict(_versions()), *sent, pure=False)
        except (OSError, TimeoutError, CancelledError, RuntimeError) as e:
            raise BrokenExecutor(str(e) or type(e).__name__) from e
        future = self._waiting[remote] = Future()
        remote.add_done_callback(partial(self._fetch, future, expected))
        return future

    def _send(self, argument: Any) -> Any:
        key = getattr(argument, "fingerprint", None)
        if key is None:
            return pack(argument)
        if key not in self._shared:
            self._shared[key] = self._client.scatter(pack(argument), hash=False)
        return self._shared[key]

    def _fetch(self, future: Future[Any], expected: Any, remote: Any) -> None:
        """In a thread of the client: fetch the answer, or say what became of it."""
        outcome: Any
        try:
            outcome = self._read(remote.result(), expected)
        except TRNNError as e:
            outcome = e
        except BaseException as e:  # Dask's cancellation is none of the ordinary errors
            outcome = self._refused or (self._lost_task(e) if remote.status == "error" else BrokenExecutor(str(e)))
        with suppress(InvalidStateError):
            if isinstance(outcome, BaseException):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)
        self._waiting.pop(remote, None)

    def _read(self, answer: Any, expected: Any) -> Any:
        if not isinstance(answer, bytes | bytearray | memoryview):
            raise TRNNError(f"The {self.words} must answer with data. Got something else, which was not used.")
        kind, content = bytes(answer[:1]), bytes(answer[1:])
        if kind == RESULT:
            return unpack(content, expected)
        words = "".join(c for c in content.decode(errors="replace") if c.isprintable() or c == "\n")
        return TRNNError(words) if kind == REFUSAL else RuntimeError(f"A task failed on the {self.words}.\n{words}")

    def _lost_task(self, error: BaseException) -> TRNNError:
        if str(error) == KILLED:
            return TRNNError(
                f"A task ended several workers of the {self.words} one after the other (is there enough memory?)."
            )
        return TRNNError(
            f"The workers of the {self.words} cannot begin a task; they need this checkout and its packages."
        )

    def refuse(self) -> None:
        """Code came: nothing more is expected of this cluster."""
        self._refused = TRNNError(
            f"The {self.words} sent code where data were expected; it was not run, and nothing else is taken from "
            "there. Tell whoever runs the cluster."
        )
        for future in list(self._waiting.values()):
            with suppress(InvalidStateError):
                future.set_exception(self._refused)

    def close(self, unfinished: bool) -> None:
        try:
            if unfinished and self._client.status == "running":
                self._client.cancel(list(self._waiting), force=True)
            self._client.close(timeout=5)
        except Exception:
            return  # the other end is gone: nothing is left to be closed

    def _connect(self, address: str, patience: float, leaving: threading.Event) -> Client:
        end = time.monotonic() + patience
        while True:
            client = None
            try:
                client = _DataClient(address, timeout=min(CONNECT_SECONDS, patience), set_as_default=False)
                client.wait_for_workers(1, timeout=max(1.0, min(CONNECT_SECONDS, end - time.monotonic())))
                return client
            except Exception as e:
                what = "has no worker" if client is not None else "does not answer"
                if client is not None:
                    client.close(timeout=5)
                if self._refused:
                    raise self._refused from e
                if not isinstance(e, OSError | TimeoutError):
                    raise
                if time.monotonic() >= end or leaving.is_set():
                    raise TRNNError(
                        f"The cluster at {address} {what}; start it, or leave the address out to work on this machine."
                    ) from e
                time.sleep(0.5)


class _DataClient(Client):
    """Dask's client, without what it would open, print or warn of its own accord."""

    def _handle_key_in_memory(self, key: Any = None, type: Any = None, workers: Any = None) -> None:
        super()._handle_key_in_memory(key=key)

    def _handle_task_erred(self, key: Any = None, exception: Any = None, traceback: Any = None) -> None:
        killed = isinstance(exception, bytes) and KILLED.encode() in exception  # looked at, not opened
        super()._handle_task_erred(key=key, exception=KILLED if killed else "failed")

    async def _handle_event(self, topic: Any, event: Any) -> None:
        """Workers have nothing to say on our screen."""

    def __del__(self) -> None:
        """A pool closes its client; one whose connection failed would wait for its other end here."""


_PLAIN = {("builtins", "bytes")}  # Dask names the type of our answers
_POOLS: weakref.WeakSet[ClusterPool] = weakref.WeakSet()


def _watch_pickles(pool: ClusterPool) -> None:
    """From now on, and for as long as this process lives: a connection may speak after it was closed."""
    _POOLS.add(pool)
    _install_hook()


@cache
def _install_hook() -> None:
    sys.addaudithook(_refuse_code)
    for name in ("distributed.protocol", "distributed.core", "distributed.client", "distributed.utils"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # the person gets a sentence


def _refuse_code(event: str, arguments: tuple[Any, ...]) -> None:
    """Python asks this hook before any pickle gets the class or function that it names: without one it is only data.

    The kinds of serialisation that a client can be given do not suffice: Dask opens pickles in every message, in the
    names of types, in errors and in warnings.
    """
    if event != "pickle.find_class" or arguments in _PLAIN:
        return
    frame: Any = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] == "distributed":
            for pool in list(_POOLS):
                pool.refuse()
            raise TypeError("a pickle from a cluster may not name code")  # the kind of error that Dask survives
        frame = frame.f_back


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    return (("python", ".".join(python_version().split(".")[:2])), *((name, version(name)) for name in SAME))


def do_task(name: str, wanted: dict[str, str], *packed: bytes) -> bytes:
    """On a worker of the cluster: the function `module:name` on unpacked arguments; its result or its error packed."""
    try:
        _check_worker(wanted)
        module, _, attribute = name.partition(":")
        call = getattr(import_module(module), attribute)
        hints = get_type_hints(call)
        kinds = [hints.get(parameter, Any) for parameter in signature(call).parameters]
        arguments = [unpack(bytes(p), kind) for p, kind in zip(packed, kinds, strict=False)]
        with _ALONE:
            return RESULT + pack(call(*arguments))
    except TRNNError as e:
        return REFUSAL + str(e).encode()
    except Exception:
        return FAILURE + traceback.format_exc().encode()


def _check_worker(wanted: dict[str, str]) -> None:
    """One task at a time, on one thread, with the same packages as whoever asked."""
    here = dict(_versions())
    if different := [f"{n} {here.get(n)} instead of {v}" for n, v in wanted.items() if here.get(n) != v]:
        raise TRNNError(f"A worker of the cluster must have the packages of this machine. It has {different[0]}.")
    if os.environ.get("OMP_NUM_THREADS") != "1" or os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        raise TRNNError(
            "A worker of the cluster must compute on one thread; start it as `dask worker ADDRESS --nthreads 1`, or "
            "with OMP_NUM_THREADS=1 and OPENBLAS_NUM_THREADS=1 in its environment."
        )
