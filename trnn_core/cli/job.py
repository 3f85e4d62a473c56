"""`job VERB`: do the jobs of a verb that pages and commands have asked for; the worker starts it in the background."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from trnn_core.cli.train import add_store
from trnn_core.errors import TRNNError
from trnn_core.jobs.job import Job
from trnn_core.jobs.lanes import Verb, lane_log, slot_path
from trnn_core.jobs.process import JobProcess, Take, shorten_log
from trnn_core.jobs.processes import on_request_to_end, yield_to_others
from trnn_core.runs.store import RunStore

HELP = "do waiting jobs of a verb (backtests, explanations, reports), then stay for a while in case more come"


class Training(Verb):
    """A run is a job in a folder of its own kind, with a process of its own."""

    alone = True

    def take(self) -> Take:
        return import_module(self.module).take

    def find(self, store: RunStore, job_id: str) -> Job:  # type: ignore[override]
        return store.get(job_id)

    def queued(self, store: RunStore, verb: str) -> Iterable[Job]:  # type: ignore[override]
        return reversed(store.runs(state="queued"))


# What can be queued: verb -> the module that does it, its lane, and how long that lane's process stays warm.
JOBS: dict[str, Verb] = {
    "train": Training("trnn_core.runs.execute", "training"),
    "backtest": Verb("trnn_core.verbs.backtest_task", "backtest", 60.0),
    "tune": Verb("trnn_core.verbs.tuning_task", "tune", 30.0),
    "explain": Verb("trnn_core.verbs.insight_task", "explain", 600.0),  # so that a second question is answered at once
    "influence": Verb("trnn_core.verbs.insight_task", "influence", 30.0),
    "import": Verb("trnn_core.verbs.import_task", "import", 120.0),
    "export": Verb("trnn_core.verbs.export_task", "export", 120.0),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", help=f"one of {', '.join(JOBS)}")
    parser.add_argument("--only", metavar="JOB", help="do this one and leave")
    parser.add_argument("--slot", type=Path, help="the file to keep locked meanwhile (default: the lane's own)")
    parser.add_argument("--idle-exit", type=float, metavar="SECONDS", help="end after so long without work")
    add_store(parser)


def run(args: argparse.Namespace) -> int:
    if args.verb not in JOBS:
        raise TRNNError(f"A job must be one of {', '.join(JOBS)}. Got {args.verb!r} instead.")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    store, lane = RunStore(args.runs), JOBS[args.verb].lane
    process = JobProcess(
        store,
        args.slot or slot_path(store.root, lane),
        [name for name, verb in JOBS.items() if verb.lane == lane],
        lambda name: JOBS[name].take(),
        max(v.warm for v in JOBS.values() if v.lane == lane) if args.idle_exit is None else args.idle_exit,
        args.only,
    )
    on_request_to_end(process.end)
    yield_to_others()
    shorten_log(lane_log(store.root, lane))
    process.run()
    return 0
