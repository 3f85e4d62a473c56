"""Kinds of tasks to test with: `python -m tests.training.task_kinds task KIND ...` knows them besides the real ones."""

from __future__ import annotations

import os
import sys
import time

from trnn_core.cli import main
from trnn_core.cli.task import TASKS
from trnn_core.errors import TRNNError
from trnn_core.runs import task_process
from trnn_core.runs.task_process import TaskContext

IDLE = 1.0


def run(context: TaskContext) -> None:
    asked = context.arguments
    if asked.get("fail") == "input":
        raise TRNNError("The week must be a Thursday. Got a Friday instead.")
    if asked.get("fail") == "bug":
        raise ZeroDivisionError("nobody expected this")
    if asked.get("deaf"):
        time.sleep(600)
    with (context.store.root / "diary.txt").open("a") as diary:  # one line per time that the work is really done
        diary.write(f"{context.task_id}\n")
    n = asked.get("steps", 1)
    context.progress(0.0, "Starting.")
    for step in range(asked.get("done_before", 0), n):
        if context.stopping():
            return
        context.progress(step / n, f"step {step + 1} of {n}")
        time.sleep(asked.get("pause", 0.0))
    context.write("answer.txt", f"{sum(range(n))}".encode())
    context.progress(1.0, "All steps are done.")


if __name__ == "__main__":
    task_process.GRACE_SECONDS = float(os.environ.get("TRNN_TEST_GRACE", task_process.GRACE_SECONDS))
    TASKS["steps"] = ("tests.training.task_kinds", IDLE)
    sys.exit(main())
