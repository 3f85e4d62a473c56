"""A verb to test jobs with: `python -m tests.jobs.kinds worker ...` knows it besides the real ones."""

from __future__ import annotations

import os
import sys
import time
from typing import Annotated

from trnn_core.cli import main
from trnn_core.errors import TRNNError
from trnn_core.jobs import queue, worker
from trnn_core.jobs.context import Context
from trnn_core.verbs import VERBS, Verb
from trnn_core.verbs.request import BaseRequest, Option, Result, Said

HELP = "add numbers, one step at a time"
IDLE = 1.0


class Request(BaseRequest):
    run: str | None = None
    steps: Annotated[int, Option("numbers to add")] = 1
    done_before: int = 0
    pause: Annotated[float, Option("seconds for each")] = 0.0
    fail: str | None = None
    deaf: bool = False
    slow_end: float = 0.0
    i: int = 0
    name: str = ""


def run(request: Request, context: Context) -> Result:
    if request.fail == "input":
        raise TRNNError("The week must be a Thursday. Got a Friday instead.")
    if request.fail == "bug":
        raise ZeroDivisionError("nobody expected this")
    if request.deaf:
        time.sleep(600)
    if request.slow_end:  # hears at once, and has much to put away
        while not context.stopping():
            time.sleep(0.02)
        time.sleep(request.slow_end)
        return Said("")
    with (context.runs / "diary.txt").open("a") as diary:  # one line per time that the work is really done
        diary.write(f"{getattr(context, 'job_id', 'here')}\n")
    n = request.steps
    context.progress(0.0, "Starting.")
    for step in range(request.done_before, n):
        context.check()
        context.progress(step / n, f"step {step + 1} of {n}")
        time.sleep(request.pause)
    context.write("answer.txt", f"{sum(range(n))}".encode())
    context.progress(1.0, "All steps are done.")
    return Said(f"They make {sum(range(n))}.", {"sum": sum(range(n))})


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
    VERBS["steps"] = Verb("tests.jobs.kinds", "steps", IDLE)
    sys.exit(main())
