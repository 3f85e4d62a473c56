"""The process of one job: `python -m trnn_core.runs.job STORE RUN SLOT`, started by the worker."""

from __future__ import annotations

import logging
import os
import signal
import sys
from pathlib import Path

from trnn_core.errors import TRNNError
from trnn_core.files import lock
from trnn_core.runs.jobs import resume
from trnn_core.runs.store import RunStore
from trnn_core.training.events import Request

NICE = 10  # pages and other people come first


class Asked:
    """What signals have asked for: SIGINT stops and keeps, SIGTERM sends the run back to the queue."""

    def __init__(self) -> None:
        self.request: Request | None = None
        signal.signal(signal.SIGINT, lambda *_: self._set("stop"))
        signal.signal(signal.SIGTERM, lambda *_: self._set("pause"))

    def _set(self, request: Request) -> None:
        self.request = request

    def __call__(self) -> Request | None:
        return self.request


def main(root: str, run_id: str, slot: str) -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    log = logging.getLogger(__name__)
    asked = Asked()
    os.nice(NICE)
    store = RunStore(root)
    try:
        with lock(Path(slot), "the slot is taken"):
            from trnn_core.runs.execute import train_run  # torch is loaded only now, after the slot is ours

            status = train_run(store, store.get(run_id), control=asked, only_if=("queued",))
        log.info("%s: %s", status.state, status.message)
        if status.state == "paused" and asked.request == "pause":
            resume(store, run_id)  # the worker is ending, not the person's interest
    except TRNNError as e:
        log.error("%s", e)
        return 2
    except Exception as e:
        log.exception("the job failed")
        os.write(2, f"{type(e).__name__}: {e}\n".encode())  # the last line, should there be no memory for the log
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
