"""A Dask cluster as an engine: its scheduler hands tasks of dead workers to others, we reconnect when it is
restarted."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from functools import cache
from importlib.metadata import version
from platform import python_version
from typing import Any

from trnn_core.errors import TRNNError
from trnn_core.jobs.executors import Lost, Told

CONNECT_SECONDS = 15.0
PATIENCE_SECONDS = 600.0  # for a scheduler or workers that are being restarted
SAME = ("numpy", "scipy", "torch", "pandas")  # packages whose version may change the last bit
_ALONE = threading.Lock()  # torch has one stream of random numbers per process: its tasks take turns


class DaskEngine:
    """A connection to a scheduler, until it breaks."""

    def __init__(self, address: str, again: bool) -> None:
        self.words = f"cluster at {address}"
        self._client = _connect(address, PATIENCE_SECONDS if again else CONNECT_SECONDS)
        self._shared: dict[str, Any] = {}  # series are sent once, not with every task
        self._kept: set[Any] = set()  # Dask forgets a task whose future is no longer held
        self._closing = False

    def start(self, call: Callable[..., Any], arguments: tuple[Any, ...], tell: Told) -> None:
        try:
            sent = [self._share(a) for a in arguments]
            future = self._client.submit(run_alone, call, dict(_versions()), *sent, pure=False)
        except (OSError, TimeoutError, CancelledError, RuntimeError) as e:
            raise Lost(str(e) or type(e).__name__) from e
        self._kept.add(future)
        future.add_done_callback(lambda done: self._tell(done, tell))

    def _share(self, argument: Any) -> Any:
        key = getattr(argument, "fingerprint", None)
        if key is None:
            return argument
        if key not in self._shared:
            self._shared[key] = self._client.scatter(argument, hash=False)
        return self._shared[key]

    def _tell(self, done: Any, tell: Told) -> None:
        """In a thread of the client: fetch the result, or say what became of it."""
        from distributed import KilledWorker

        if self._closing:
            return
        try:
            tell(("result", done.result()))
        except KilledWorker as e:
            tell(
                (
                    "error",
                    TRNNError(
                        f"A task ended {e.allowed_failures + 1} workers of the {self.words} one after the other (is"
                        " there enough memory?)."
                    ),
                )
            )
        except BaseException as e:  # Dask's cancellation is none of the ordinary errors
            tell(("error" if done.status == "error" else "lost", e))
        finally:
            self._kept.discard(done)

    def close(self, unfinished: bool) -> None:
        self._closing = True
        try:
            if unfinished and self._client.status == "running":
                self._client.cancel(list(self._kept), force=True)
            self._client.close(timeout=5)
        except Exception:
            return  # the other end is gone: nothing is left to be closed


def _connect(address: str, patience: float) -> Any:
    try:
        from distributed import Client
    except ImportError as e:
        raise TRNNError("A cluster needs the package 'distributed'. It is not installed; run `make install`.") from e
    end = time.monotonic() + patience
    while True:
        client = None
        try:
            client = Client(address, timeout=min(CONNECT_SECONDS, patience), set_as_default=False)
            client.wait_for_workers(1, timeout=max(1.0, end - time.monotonic()))
            return client
        except (OSError, TimeoutError) as e:
            what = "has no worker" if client is not None else "does not answer"
            if client is not None:
                client.close(timeout=5)
            if time.monotonic() >= end:
                raise TRNNError(
                    f"The cluster at {address} {what}; start it, or leave the address out to work on this machine."
                ) from e
            time.sleep(0.5)


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    return (("python", ".".join(python_version().split(".")[:2])), *((name, version(name)) for name in SAME))


def run_alone(call: Callable[..., Any], wanted: dict[str, str], *arguments: Any) -> Any:
    """On a worker of the cluster: one task at a time, on one thread, with the same packages as whoever asked."""
    here = dict(_versions())
    if different := [f"{n} {here.get(n)} instead of {v}" for n, v in wanted.items() if here.get(n) != v]:
        raise TRNNError(f"A worker of the cluster must have the packages of this machine. It has {different[0]}.")
    if os.environ.get("OMP_NUM_THREADS") != "1" or os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        raise TRNNError(
            "A worker of the cluster must compute on one thread; start it as `dask worker ADDRESS --nthreads 1`, or "
            "with OMP_NUM_THREADS=1 and OPENBLAS_NUM_THREADS=1 in its environment."
        )
    with _ALONE:
        return call(*arguments)
