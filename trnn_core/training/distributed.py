"""One training on several processes or machines, started by torchrun; same loss curve, same checkpoints.

    torchrun --nproc-per-node 2 -m trnn_core train --data X.npz --preset quick

Every process holds the whole network and learns from its own consecutive windows of each batch; torch's
DistributedDataParallel (see `shared_learner`) averages the gradients, so that a step is that of the whole batch up to
the order of additions. The first process (rank 0) reads the data, decides and writes; the others are told by it and
need no files.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import get_args

import numpy as np
import torch
import torch.distributed as dist

from trnn_core.data.readers.npz import read_npz, write_npz
from trnn_core.data.series import RelationalSeries
from trnn_core.training.checkpoints import Arrays, Snapshot, arrays_to_bytes, bytes_to_arrays
from trnn_core.training.config import Recipe
from trnn_core.training.events import Control, Request
from trnn_core.training.recipes import plain

REQUESTS: tuple[Request, ...] = get_args(Request)
PATIENCE = timedelta(minutes=30)  # for a process that is still reading or was starved
Job = tuple[RelationalSeries, Recipe, Snapshot | None]


@contextmanager
def joined() -> Iterator[Group]:
    """Meet the other processes, and part from them at the end."""
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
    # Losses and requests are summed on the processor, gradients where the network is.
    dist.init_process_group("cpu:gloo,cuda:nccl" if on_gpu else "gloo", timeout=PATIENCE)
    try:
        yield Group()
    finally:
        leave()


def current() -> Group | None:
    """The processes this one trains with; None when it trains alone."""
    return Group() if dist.is_available() and dist.is_initialized() else None


def leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


class Group:
    """The processes of one training."""

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def share_job(self, job: Job | None) -> Job:
        """What rank 0 is about to train, told to all; the others give None."""
        head, snapshot = b"", None
        if job is not None:
            _, recipe, snapshot = job
            notes = (
                None
                if snapshot is None
                else {"epoch": snapshot.epoch, "state": snapshot.state, "history": snapshot.history}
            )
            head = json.dumps({"recipe": plain(recipe), "snapshot": notes}).encode()
        told = json.loads(self._bytes(head))
        content = self._bytes(_series_bytes(job[0]) if job else b"")
        arrays = [self._arrays(part) for part in _parts(snapshot)] if told["snapshot"] else []
        if job is not None:
            return job
        if told["snapshot"]:
            weights, optimiser, best = arrays
            snapshot = Snapshot(**told["snapshot"], weights=weights, optimiser=optimiser, best_weights=best or None)
        return _series(content), Recipe(**told["recipe"]), snapshot

    def agreed(self, control: Control | None) -> Control:
        """What rank 0 is asked to do, asked by all at the same step: all stop together."""

        def ask() -> Request | None:
            request = control() if control is not None and self.rank == 0 else None
            code = torch.tensor([REQUESTS.index(request) + 1 if request else 0])
            dist.broadcast(code, src=0)
            return REQUESTS[int(code) - 1] if int(code) else None

        return ask

    def sums(self, numbers: torch.Tensor) -> torch.Tensor:
        """Added over all processes; the same bits in each of them."""
        dist.all_reduce(numbers)
        return numbers

    def _bytes(self, content: bytes) -> bytes:
        size = torch.tensor([len(content)])
        dist.broadcast(size, src=0)
        data = (
            torch.frombuffer(bytearray(content), dtype=torch.uint8)
            if content
            else torch.empty(int(size), dtype=torch.uint8)
        )
        dist.broadcast(data, src=0)
        return data.numpy().tobytes()

    def _arrays(self, arrays: Arrays) -> Arrays:
        return bytes_to_arrays(self._bytes(arrays_to_bytes(arrays) if self.rank == 0 else b""), Path("rank 0"))


def _parts(snapshot: Snapshot | None) -> list[Arrays]:
    """The arrays of a snapshot, in the order in which they are sent; empty ones stand for what is received."""
    if snapshot is None:
        return [{}, {}, {}]
    return [snapshot.weights, snapshot.optimiser, snapshot.best_weights or {}]


def _series_bytes(series: RelationalSeries) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return write_npz(series, Path(folder) / "series.npz").read_bytes()


def _series(content: bytes) -> RelationalSeries:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "series.npz"
        path.write_bytes(content)
        return read_npz(path, max_bytes=2**40)


def own_share(n: int, rank: int, size: int) -> range:
    """The places of n that a process works on: neighbours, as even as can be.

    >>> [list(own_share(5, rank, 2)) for rank in (0, 1)]
    [[0, 1, 2], [3, 4]]
    """
    cuts = np.linspace(0, n, size + 1).round(6)
    return range(int(np.ceil(cuts[rank])), int(np.ceil(cuts[rank + 1])))
