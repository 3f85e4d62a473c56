"""Our network trained by two processes of one thread each, as `torchrun` has it: the other way to use two cores.

`Pair` is an epoch that takes its turn among the contenders; `serve` is what its two processes run.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path


class Pair:
    """Two processes that train together whenever they are called, and wait without computing in between."""

    def __init__(self, case: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        place = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, str(Path(__file__).with_name("run.py")), "--task", "pair", case]
        self.first, self.second = (
            subprocess.Popen(
                command, env=os.environ | place | {"RANK": rank}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            for rank in ("0", "1")
        )
        self()

    def __call__(self) -> None:
        assert self.first.stdin is not None and self.first.stdout is not None
        self.first.stdin.write(b"\n")
        self.first.stdin.flush()
        if not self.first.stdout.readline():
            raise SystemExit("The two processes that train together have ended early.")

    def close(self) -> None:
        for process in (self.first, self.second):
            process.communicate(timeout=60)


def serve(make_epoch: Callable[..., Callable[[], None]]) -> None:
    """Train an epoch for every line that the first process reads; end when there are no more."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    from trnn_core.models.network import TensorNetwork
    from trnn_core.training.distributed import joined, own_share
    from trnn_core.training.prepare import Batch
    from trnn_core.training.shared_learner import Step, own_windows

    torch.set_num_threads(1)
    with joined() as group:
        shared: dict[TensorNetwork, DistributedDataParallel] = {}

        def learn(network: TensorNetwork, *batch: object) -> None:
            """One step of `SharedLearner.gradient`: own windows, the sums told to all, the gradients added up."""
            seen, wanted, length, every = batch
            whole = Batch(seen, wanted, torch.ones_like(wanted, dtype=torch.bool), length, every)  # type: ignore[arg-type]
            mine = own_windows(whole, own_share(whole.n_windows, group.rank, group.size))
            if network not in shared:
                shared[network] = DistributedDataParallel(Step(network))
            loss, learnt = shared[network](mine)
            n = mine.n_entries  # type: ignore[union-attr]
            told = group.sums(torch.tensor([loss.item() * n, n, *learnt], dtype=torch.float64))
            (n * group.size / float(told[1]) * loss).backward()

        epoch = make_epoch(learn=learn)
        go = torch.zeros(1)
        while True:
            if group.rank == 0:
                go[0] = float(bool(sys.stdin.readline()))
            dist.broadcast(go, 0)
            if not go:
                return
            epoch()
            if group.rank == 0:
                print("done", flush=True)
