"""A process that has torch loaded and makes a fresh trainer on request, so that killing hundreds of them is quick.

Not a test: started by `killing.py`. Reads "STORE RUN COUNTER" lines, answers with the pid of the trainer, then with how
it ended. The trainer writes the epoch it is in into the file COUNTER, in memory shared with whoever watches, so that
what a kill cost can be told without asking the store. Forking is safe here because no thread has been started yet; the
product itself never forks.
"""

import mmap
import os
import signal
import struct
import sys
import threading
from pathlib import Path

import torch

from trnn_core.data.simulation import simulate
from trnn_core.errors import TRNNError
from trnn_core.runs.execute import train_run
from trnn_core.runs.store import RunStore
from trnn_core.training.config import Recipe
from trnn_core.training.events import StepDone
from trnn_core.training.trainer import fit


def train(root: str, run_id: str, counter: str) -> int:
    with Path(counter).open("r+b") as file:
        shared = mmap.mmap(file.fileno(), 8)

    def tell(event: object) -> None:
        if isinstance(event, StepDone):
            struct.pack_into("q", shared, 0, event.epoch)

    store = RunStore(root)
    try:
        return 0 if train_run(store, store.get(run_id), listeners=[tell]).state == "finished" else 1
    except TRNNError as e:
        print(e, file=sys.stderr, flush=True)
        return 2


if __name__ == "__main__":
    torch.set_num_threads(1)
    fit(simulate(n_actors=4, n_periods=30), Recipe(model={"hidden_shape": (2, 2, 2)}, train={"epochs": 1}))  # load all
    assert threading.active_count() == 1
    print("ready", flush=True)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            os._exit(train(*line.split()))
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
