"""`stop`, `pause`, `cancel`, `resume`: what can be asked of a queued or running job."""

from __future__ import annotations

import argparse
import json

from trnn_core.cli.train import add_store
from trnn_core.jobs import queue
from trnn_core.runs.store import RunStore

WORDS = {
    "stop": "end runs now; the best weights so far are kept and forecast with",
    "pause": "end runs for now; resume goes on exactly where they were",
    "cancel": "end runs without a forecast, or take them out of the queue",
    "resume": "queue runs again; they go on exactly where they were",
}


def make(action: str) -> tuple[str, object, object]:
    """HELP, add_arguments and run of one of the four verbs."""

    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("names", nargs="+", metavar="RUN")
        if action != "resume":
            parser.add_argument(
                "--wait",
                type=float,
                default=60.0,
                metavar="SECONDS",
                help="how long to wait for it to be done (default: 60; 0 returns at once)",
            )
        add_store(parser)
        parser.add_argument("--json", action="store_true", help="for machines")

    def run(args: argparse.Namespace) -> int:
        store = RunStore(args.runs)
        runs = {name: store.get(name) for name in args.names}
        for found in runs.values():
            if action == "resume":
                found.resume()
            else:
                found.ask(action)  # type: ignore[arg-type]
        if action == "resume":
            queue.ensure_worker(store)
        seconds = 0.0 if action == "resume" else args.wait
        result = {name: found.wait(seconds) for name, found in runs.items()}
        if args.json:
            print(json.dumps({name: status.__dict__ for name, status in result.items()}, indent=1))
        else:
            print("\n".join(f"{name}: {status.state}. {status.message}" for name, status in result.items()))
        return 0

    return WORDS[action], add_arguments, run
