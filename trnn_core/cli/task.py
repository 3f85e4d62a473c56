"""`task KIND`: do the tasks of one kind that pages and commands have asked for; started by them, in the background."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module

from trnn_core.cli.train import add_store
from trnn_core.errors import TRNNError
from trnn_core.runs import layout
from trnn_core.runs.store import RunStore
from trnn_core.runs.task_process import TaskContext, TaskProcess, shorten_log

HELP = "do waiting tasks of one kind (backtests, explanations, reports), then stay for a while in case more come"
NICE = 10  # pages and other people come first

# kind -> the module whose `run(context)` does it, and how long its process stays for the next one, in seconds.
TASKS: dict[str, tuple[str, float]] = {
    "backtest": ("trnn_core.verbs.backtest_task", 60.0),
    "tune": ("trnn_core.verbs.tuning_task", 30.0),
    "explain": ("trnn_core.verbs.insight_task", 600.0),  # warm, so that a second question is answered at once
    "influence": ("trnn_core.verbs.insight_task", 30.0),
    "import": ("trnn_core.verbs.import_task", 120.0),
    "export": ("trnn_core.verbs.export_task", 120.0),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", help=f"one of {', '.join(TASKS)}")
    parser.add_argument("--idle-exit", type=float, metavar="SECONDS", help="end after so long without work")
    add_store(parser)


def run(args: argparse.Namespace) -> int:
    if args.kind not in TASKS:
        raise TRNNError(f"The kind of task must be one of {', '.join(TASKS)}. Got {args.kind!r} instead.")
    module, idle = TASKS[args.kind]
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    process = TaskProcess(
        RunStore(args.runs), args.kind, lambda: load(module), idle if args.idle_exit is None else args.idle_exit
    )
    shorten_log(process.folder / layout.LOG)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: process.end())
    os.nice(NICE)
    process.run()
    return 0


def load(module: str) -> Callable[[TaskContext], None]:
    """The function that does one task of a kind; torch and the like are loaded only now."""
    return import_module(module).run
