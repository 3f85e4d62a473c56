"""`simulate --seed 0 --out X.npz`: the simulated demo set, or another one like it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from trnn_core.data.readers.npz import write_npz
from trnn_core.data.simulation import LINEAR, SATURATING, THRESHOLD, simulate
from trnn_core.jobs.context import Context
from trnn_core.verbs.request import BaseRequest, Option, Result, Said

HELP = "make a simulated series whose influence ties are known"


class Request(BaseRequest):
    in_store: ClassVar[bool] = False

    seed: Annotated[int, Option("another number, another world (default: 0, the demo set)")] = 0
    out: Annotated[Path, Option("the series file to write (.npz)", role="here")]
    actors: Annotated[int, Option("number of actors (default: 25)")] = 25
    weeks: Annotated[int, Option("number of weeks from 2004-01-01 (default: 548)")] = 548
    response: Annotated[
        Literal["linear", "saturating", "threshold"],
        Option("how last week's actions are felt: in proportion (default), levelling off, or only when unusual"),
    ] = "linear"


def run(request: Request, context: Context) -> Result:
    dynamics = {d.response: d for d in (LINEAR, SATURATING, THRESHOLD)}[request.response]
    series = simulate(request.seed, n_actors=request.actors, n_periods=request.weeks, dynamics=dynamics)
    write_npz(series, request.out)
    title, fingerprint = series.source.title, series.fingerprint
    return Said(
        f"{title} -> {request.out} (fingerprint {fingerprint[:12]})",
        {"out": str(request.out), "title": title, "simulated": True, "fingerprint": fingerprint},
        value=series,
    )
