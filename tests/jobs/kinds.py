"""Verbs to test with: `python -m tests.jobs.kinds worker ...` knows them besides the real ones."""

from __future__ import annotations

import os
import sys
import time

from trnn_core.cli import main
from trnn_core.cli.job import JOBS
from trnn_core.errors import TRNNError
from trnn_core.jobs import queue, worker
from trnn_core.jobs.lanes import Verb
from trnn_core.jobs.process import JobContext

IDLE = 1.0


def run(context: JobContext) -> None:
    asked = context.request
    if asked.get("fail") == "input":
        raise TRNNError("The week must be a Thursday. Got a Friday instead.")
    if asked.get("fail") == "bug":
        raise ZeroDivisionError("nobody expected this")
    if asked.get("deaf"):
        time.sleep(600)
    if asked.get("slow_end"):  # hears at once, and has much to put away
        while not context.stopping():
            time.sleep(0.02)
        time.sleep(asked["slow_end"])
        return
    with (context.store.root / "diary.txt").open("a") as diary:  # one line per time that the work is really done
        diary.write(f"{context.job_id}\n")
    n = asked.get("steps", 1)
    context.progress(0.0, "Starting.")
    for step in range(asked.get("done_before", 0), n):
        if context.stopping():
            return
        context.progress(step / n, f"step {step + 1} of {n}")
        time.sleep(asked.get("pause", 0.0))
    context.write("answer.txt", f"{sum(range(n))}".encode())
    context.progress(1.0, "All steps are done.")


def slow_forecast(seconds: float) -> None:
    """Forecasting with the best weights takes so long."""
    from trnn_core.runs import execute

    forecast = execute.finish_run
    execute.finish_run = lambda *args: (time.sleep(seconds), forecast(*args))[1]


def deaf_training() -> None:
    from trnn_core.runs.recorder import Recorder

    Recorder.control = lambda self: None


if __name__ == "__main__":
    worker.GRACE_SECONDS = float(os.environ.get("TRNN_TEST_GRACE", worker.GRACE_SECONDS))
    if "TRNN_TEST_SLOW_FORECAST" in os.environ:
        slow_forecast(float(os.environ["TRNN_TEST_SLOW_FORECAST"]))
    if "TRNN_TEST_DEAF" in os.environ:
        deaf_training()
    queue.PROGRAM = "tests.jobs.kinds"
    JOBS["steps"] = Verb("tests.jobs.kinds", "steps", IDLE)
    sys.exit(main())
