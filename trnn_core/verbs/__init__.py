"""One file for each thing a person can ask for, each with HELP, `class Request` and `run(request, context) -> Result`.

Command line, page, Python and job queue are four ways of saying the same request.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from trnn_core.errors import TRNNError
from trnn_core.jobs.job import Job
from trnn_core.jobs.lanes import Verb
from trnn_core.jobs.process import Take


class Training(Verb):
    """A run is a job in a folder of its own kind, with a process of its own."""

    alone = True

    def take(self) -> Take:
        return import_module("trnn_core.runs.execute").take

    def find(self, store: Any, job_id: str) -> Job:
        return store.get(job_id)

    def queued(self, store: Any, verb: str) -> Iterable[Job]:
        return reversed(store.runs(state="queued"))


# A new verb is one file in this folder and one line here.
VERBS: dict[str, Verb] = {
    "backtest": Verb("trnn_core.verbs.backtest", "backtest", 60.0),
    "import": Verb("trnn_core.verbs.import_", "import", 120.0),
    "info": Verb("trnn_core.verbs.info"),
    "simulate": Verb("trnn_core.verbs.simulate"),
    "train": Training("trnn_core.verbs.train", "training"),
    "tune": Verb("trnn_core.verbs.tune", "tune", 30.0),
    "runs": Verb("trnn_core.verbs.runs"),
    "stop": Verb("trnn_core.verbs.stop"),
    "pause": Verb("trnn_core.verbs.pause"),
    "cancel": Verb("trnn_core.verbs.cancel"),
    "resume": Verb("trnn_core.verbs.resume"),
    "worker": Verb("trnn_core.verbs.worker"),
    "job": Verb("trnn_core.verbs.job"),
    "task": Verb("trnn_core.verbs.job"),  # its earlier name
    "forecast": Verb("trnn_core.verbs.forecast"),
    "report": Verb("trnn_core.verbs.report"),
    "export": Verb("trnn_core.verbs.export", "export", 120.0, keep=20),  # a ZIP takes some megabytes
    "explain": Verb("trnn_core.verbs.explain", "explain", 600.0),  # warm, so that a second question is answered at once
    "influence": Verb("trnn_core.verbs.influence", "influence", 30.0),
    "scenario": Verb("trnn_core.verbs.scenario", "explain", 600.0),
    "impulse": Verb("trnn_core.verbs.impulse", "explain", 600.0),
    "unusual": Verb("trnn_core.verbs.unusual", "explain", 600.0),
    "warm": Verb("trnn_core.verbs.warm", "explain", 600.0, typed=False),
}


def load(name: str) -> Any:
    """The module of a verb; `runs` need not wait for torch."""
    if name not in VERBS:
        raise TRNNError(f"The verb must be one of {', '.join(VERBS)}. Got {name!r} instead.")
    return import_module(VERBS[name].module)


def job_verbs() -> dict[str, Verb]:
    """Those that can be queued."""
    return {name: verb for name, verb in VERBS.items() if verb.lane}
