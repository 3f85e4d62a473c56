"""Task processes outlive the server and the test by design; here they are told to end."""

from __future__ import annotations

import os
import signal

from tests.training.test_jobs import until
from trnn_core.jobs.processes import pulse, read_beat
from trnn_core.runs.store import RunStore


def end_tasks(store: RunStore) -> None:
    """Tell every task process of a store to end, and see that it does."""
    for path in (store.root / ".tasks" / ".process").glob("*/*/process.json"):
        process = read_beat(path)
        if process and pulse(process) == "alive":
            os.kill(process["pid"], signal.SIGTERM)
        until(lambda process=process: pulse(process) == "dead", "a task process outlived its store", 40)
