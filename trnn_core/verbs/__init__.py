"""One file for each thing a person can ask for, each with HELP, `class Request` and `run(request, context) -> Result`.

Command line, page, Python and job queue are four ways of saying the same request.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from trnn_core.errors import TRNNError


@dataclass(frozen=True)
class Verb:
    """Where a verb is, and how it runs as a job.

    lane     jobs of one lane are done one after the other, by one process; empty: never a job
    warm     seconds that this process stays for the next one
    keep     jobs of the lane whose results are kept whatever their age; 0: as many as usual
    typed    whether it is a command, too
    """

    module: str
    lane: str = ""
    warm: float = 0.0
    keep: int = 0
    typed: bool = True


# A new verb is one file in this folder and one line here.
VERBS: dict[str, Verb] = {
    "backtest": Verb("trnn_core.verbs.backtest", "backtest", 60.0),
    "import": Verb("trnn_core.verbs.import_", "import", 120.0),
    "info": Verb("trnn_core.verbs.info"),
    "simulate": Verb("trnn_core.verbs.simulate"),
    "train": Verb("trnn_core.verbs.train"),
    "tune": Verb("trnn_core.verbs.tune", "tune", 30.0),
    "runs": Verb("trnn_core.verbs.runs"),
    "stop": Verb("trnn_core.verbs.stop"),
    "pause": Verb("trnn_core.verbs.pause"),
    "cancel": Verb("trnn_core.verbs.cancel"),
    "resume": Verb("trnn_core.verbs.resume"),
    "worker": Verb("trnn_core.verbs.worker"),
    "task": Verb("trnn_core.verbs.task"),
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


def lanes() -> dict[str, float]:
    """Every lane, with the seconds that its process stays for the next job."""
    return {verb.lane: verb.warm for verb in VERBS.values() if verb.lane}
