"""A verb to test jobs with: `python -m tests.training.task_kinds task steps ...` knows it besides the real ones."""

from __future__ import annotations

import os
import sys
import time
from typing import Annotated

from trnn_core.cli import main
from trnn_core.errors import TRNNError
from trnn_core.jobs.context import Context
from trnn_core.runs import task_process
from trnn_core.verbs import VERBS, Verb
from trnn_core.verbs.base import BaseRequest, Option, Result, Said

HELP = "add numbers, one step at a time"
IDLE = 1.0


class Request(BaseRequest):
    run: str | None = None
    steps: Annotated[int, Option("numbers to add")] = 1
    done_before: int = 0
    pause: Annotated[float, Option("seconds for each")] = 0.0
    fail: str | None = None
    deaf: bool = False
    i: int = 0


def run(request: Request, context: Context) -> Result:
    if request.fail == "input":
        raise TRNNError("The week must be a Thursday. Got a Friday instead.")
    if request.fail == "bug":
        raise ZeroDivisionError("nobody expected this")
    if request.deaf:
        time.sleep(600)
    with (context.runs / "diary.txt").open("a") as diary:  # one line per time that the work is really done
        diary.write(f"{getattr(context, 'task_id', 'here')}\n")
    n = request.steps
    context.progress(0.0, "Starting.")
    for step in range(request.done_before, n):
        context.check()
        context.progress(step / n, f"step {step + 1} of {n}")
        time.sleep(request.pause)
    context.write("answer.txt", f"{sum(range(n))}".encode())
    context.progress(1.0, "All steps are done.")
    return Said(f"They make {sum(range(n))}.", {"sum": sum(range(n))})


if __name__ == "__main__":
    task_process.GRACE_SECONDS = float(os.environ.get("TRNN_TEST_GRACE", task_process.GRACE_SECONDS))
    VERBS["steps"] = Verb("tests.training.task_kinds", "steps", IDLE)
    sys.exit(main())
