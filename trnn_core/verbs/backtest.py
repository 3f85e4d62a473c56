"""`backtest --data X.npz --models a,b,c --out B.csv`: score models on rolling origins, with a leaderboard.

With `--run RUN` the data are that run's, `network` among the models is its own network, and the result is added to it.
Asked for by a page, as a job, the data are those of `fingerprint` in the store. No part is then scored twice: finished
parts are kept under names made of all that determines them, so that a stopped backtest goes on where it was, and one
that adds a model scores only that model.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from pydantic import model_validator

from trnn_core.data.readers.npz import read_npz
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.evaluation.costs import USUAL, Ledger
from trnn_core.evaluation.forecasters import RUN_NETWORK, names
from trnn_core.evaluation.protocol import MIN_ORIGINS, Protocol
from trnn_core.evaluation.results import BacktestResult
from trnn_core.evaluation.rolling_origins import backtest, part_name, parts_of
from trnn_core.evaluation.score_tables import leaderboard_text, summary, write_tables
from trnn_core.jobs.context import Context
from trnn_core.jobs.executors import open_executor, operators_address
from trnn_core.runs.backtests import attach, drop_damaged, parts_folder, result_files, trim_parts
from trnn_core.runs.run import Run
from trnn_core.runs.store import RunStore
from trnn_core.training.recipes import plain
from trnn_core.verbs.common import Cluster, Workers, counted, store_of
from trnn_core.verbs.request import BaseRequest, Option, Result, Said, commas

HELP = "score models on rolling origins, all on the same periods"
KIND = "backtest"
PROTOCOL = {
    "test": Option("share of the periods that is forecast (0.1)", kind=float),
    "min_origins": Option(f"but at least this many ({MIN_ORIGINS})", kind=int),
    "horizon": Option("steps ahead, 1..horizon (1)", kind=int),
    "refit_every": Option("refit after this many origins; 0 fits once (0)", flag="--refit", kind=int),
    "diagonal": Option("score a country's acts towards itself too", present=True),
}


class Request(BaseRequest):
    """Models and protocol for a series file, a run, or a series of the store.

    fingerprint      of the series in the store, with the `actors` and `actions` that are looked at
    recipe           of the run whose network is among the models
    """

    data: Annotated[str | None, Option("a series (.npz)", role="here")] = None
    run: Annotated[
        str | None, Option("a trained run instead: on its data, and added to it for its report", metavar="RUN")
    ] = None
    models: Annotated[
        tuple[str, ...],
        Option(f"comma-separated; known: {', '.join(names())}; with --run also {RUN_NETWORK}, its own", parse=commas),
    ] = USUAL
    out: Annotated[str | None, Option("where the tidy table goes (.csv); its companions go beside it", role="here")] = (
        None
    )
    protocol: Annotated[Protocol, Option(parts=PROTOCOL)] = Protocol()
    workers: Workers = None
    cluster: Cluster = None
    parts: Annotated[
        str | None, Option("folder for finished parts (beside --out, removed when all is done)", role="here")
    ] = None
    fingerprint: str | None = None
    actors: tuple[str, ...] | None = None
    actions: tuple[str, ...] | None = None
    recipe: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _check_models(self) -> Request:
        if not self.fingerprint:  # typed: a class of one's own is welcome
            return self
        if not self.models:
            raise TRNNError("A backtest needs at least one model; choose one or more.")
        for name in self.models:
            if name not in (RUN_NETWORK, *names()):
                raise TRNNError(f"The model must be one of {RUN_NETWORK}, {', '.join(names())}. Got {name!r} instead.")
        if RUN_NETWORK in self.models and self.recipe is None:
            raise TRNNError("The model 'network' is a run's own: choose a run, or leave it out.")
        return self

    @classmethod
    def of_run(cls, run: Run, models: Sequence[str], protocol: Protocol | None = None, **more: Any) -> Request:
        """The data as the run saw it: its countries and actions."""
        data = run.recipe.data
        return cls(
            run=run.run_id,
            fingerprint=run.config["data"]["fingerprint"],
            models=tuple(models),
            protocol=protocol or Protocol(),
            actors=data.actors,
            actions=data.actions,
            recipe=plain(run.recipe) if RUN_NETWORK in models else None,
            **more,
        )

    def model_options(self) -> dict[str, dict[str, Any]]:
        """Models with the options each is made with."""
        own = {"recipe": self.recipe} if self.recipe else {}
        return {name: own if name == RUN_NETWORK else {} for name in self.models}


def run(request: Request, context: Context) -> Result:
    if request.fingerprint:
        return _run_kept(request, context)
    if bool(request.data) == bool(request.run):
        raise TRNNError("A backtest needs either --data FILE or --run RUN.")
    if request.data:
        series, owner = read_npz(request.data), None
    else:
        owner = store_of(context).get(str(request.run))
        request = Request.of_run(
            owner, request.models, request.protocol, **request.stored("here"), **request.stored("resources")
        )
        series = read_request_series(store_of(context), request)
    out = _checked(request.out)
    parts = Path(request.parts) if request.parts else out.with_suffix(".parts") if out else None
    total = len(parts_of(series, request.model_options(), request.protocol))
    result = backtest(
        series,
        request.model_options(),
        request.protocol,
        workers=request.workers,
        cluster=request.cluster if isinstance(request.cluster, str) else None,
        store=parts,
        progress=counted(context.progress, total, "{}/{} {}"),
        idle=context.check,
    )
    written = write_tables(result, out) if out else []
    if parts and not request.parts:
        shutil.rmtree(parts, ignore_errors=True)
    words = attach(owner, result, result_files(result)) if owner else ""
    said = [*_lines(result), *(f"written: {path}" for path in written), *([words] if words else [])]
    return Said("\n".join(said), summary(result, [p.name for p in written]), value=result)


def _run_kept(request: Request, context: Context) -> Result:
    """One backtest of a series of the store: left in the context, and added to the run it belongs to."""
    store = store_of(context)
    context.progress(0.0, "Reading the data.")
    series = read_request_series(store, request)
    folder, options = parts_folder(store), request.model_options()
    parts = parts_of(series, options, request.protocol)
    drop_damaged(folder, [part_name(series, part) for part in parts])
    seconds = store.get(request.run).status().seconds if request.run else None
    ledger = Ledger(context, series, parts, folder, seconds)
    with _executor(request, context) as executor:
        result = backtest(
            series, options, request.protocol, executor=executor, store=folder, each=ledger, idle=context.check
        )
    files = result_files(result)
    for name, content in files.items():
        context.write(name, content)
    words = f"{len(result.dates)} past {series.period}s, {len(request.models)} models."
    if request.run is not None:
        words = f"{words} {attach(store.get(request.run), result, files)}"
    trim_parts(folder)
    context.progress(1.0, words)
    return Said("\n".join(_lines(result)), summary(result, []), value=result)


@contextmanager
def _executor(request: Request, context: Context) -> Iterator[Executor | None]:
    """The cluster or the processes that were asked for; None for this process, which can tell of every origin."""
    workers, cluster = request.workers or 1, operators_address(bool(request.cluster))
    if not cluster and workers < 2:
        yield None
        return
    context.progress(0.0, "Starting the workers.")
    with open_executor(cluster, workers=workers) as executor:
        yield executor


def read_request_series(store: RunStore, request: Request) -> RelationalSeries:
    path = store.series_path(str(request.fingerprint))
    if not path.exists():
        raise TRNNError("The data of this backtest are no longer in the store; open the data set again and start anew.")
    return read_npz(path).select(actors=request.actors, actions=request.actions)


def _checked(out: str | None) -> Path | None:
    if out is None:
        return None
    path = Path(out)
    if path.suffix != ".csv":
        raise TRNNError(f"--out must name a .csv file. Got {out!r} instead.")
    if not path.parent.is_dir():
        raise TRNNError(f"The folder of --out must exist. {str(path.parent)!r} does not; create it first.")
    return path


def _lines(result: BacktestResult) -> list[str]:
    lines = [f"{result.title} (simulated)" if result.simulated else result.title, result.words]
    with pd.option_context("display.width", 200):
        for step in range(1, result.protocol.horizon + 1):
            n = int(result.leaderboard(step)["n_origins"].iloc[0])
            lines += [f"\nStep {step} ahead, {n} origins scored:", leaderboard_text(result, step)]
    return lines
