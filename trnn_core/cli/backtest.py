"""`backtest --data X.npz --models a,b,c --out B.csv`: score models on rolling origins and print the leaderboard.

With `--run RUN` the data are that run's, `network` among the models is its own network, and the result is added to it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

import pandas as pd

from trnn_core.cli.train import add_store
from trnn_core.data.readers.npz import read_npz
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.evaluation.forecasters import RUN_NETWORK, names
from trnn_core.evaluation.protocol import MIN_ORIGINS, Protocol
from trnn_core.evaluation.results import BacktestResult
from trnn_core.evaluation.rolling_origins import backtest
from trnn_core.evaluation.score_tables import leaderboard_text, summary, write_tables
from trnn_core.runs.backtests import result_files
from trnn_core.runs.run import Run
from trnn_core.runs.store import RunStore
from trnn_core.verbs.backtest_request import BacktestRequest
from trnn_core.verbs.backtest_task import attach

HELP = "score models on rolling origins, all on the same periods"
DEFAULT = "persistence,mean,seasonal,ewma,nb_ewma,ar,relational_ar,mltr"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", help="a series (.npz)")
    parser.add_argument(
        "--run", dest="owner", metavar="RUN", help="a trained run instead: on its data, and added to it for its report"
    )
    parser.add_argument(
        "--models",
        default=DEFAULT,
        help=f"comma-separated; known: {', '.join(names())}; with --run also {RUN_NETWORK}, its own",
    )
    parser.add_argument("--out", help="where the tidy table goes (.csv); its companions go beside it")
    parser.add_argument("--test", type=float, default=0.1, help="share of the periods that is forecast (0.1)")
    parser.add_argument("--min-origins", type=int, default=MIN_ORIGINS, help=f"but at least this many ({MIN_ORIGINS})")
    parser.add_argument("--horizon", type=int, default=1, help="steps ahead, 1..horizon (1)")
    parser.add_argument("--refit", type=int, default=0, help="refit after this many origins; 0 fits once (0)")
    parser.add_argument("--diagonal", action="store_true", help="score a country's acts towards itself too")
    parser.add_argument("--workers", type=int, help="processes (as many as processors)")
    parser.add_argument("--cluster", help="address of a Dask scheduler to work on (default: TRNN_CLUSTER, else here)")
    parser.add_argument("--parts", help="folder for finished parts (beside --out, removed when all is done)")
    add_store(parser)
    parser.add_argument("--json", action="store_true", help="for machines")


def run(args: argparse.Namespace) -> int:
    series, owner = _subject(args)
    protocol = Protocol(args.test, args.min_origins, args.horizon, args.refit, args.diagonal)
    out = _checked(args.out)
    parts = Path(args.parts) if args.parts else out.with_suffix(".parts") if out else None
    chosen = [name.strip() for name in args.models.split(",") if name.strip()]
    request = BacktestRequest.of_run(owner, chosen, protocol) if owner else None
    result = backtest(
        series,
        request.options() if request else chosen,
        protocol,
        workers=args.workers,
        cluster=args.cluster,
        store=parts,
        progress=_bar,
    )
    written = write_tables(result, out) if out else []
    if parts and not args.parts:
        shutil.rmtree(parts, ignore_errors=True)
    words = attach(owner, result, result_files(result)) if owner else ""
    if args.json:
        print(json.dumps(summary(result, [p.name for p in written]), indent=1))
    else:
        _show(result, written)
        if words:
            print(words)
    return 0


def _subject(args: argparse.Namespace) -> tuple[RelationalSeries, Run | None]:
    """The series to score on, and the run it belongs to, if any."""
    if bool(args.data) == bool(args.owner):
        raise TRNNError("A backtest needs either --data FILE or --run RUN.")
    if args.data:
        return read_npz(args.data), None
    store = RunStore(args.runs)
    owner = store.get(args.owner)
    return store.series(owner).select(actors=owner.recipe.data.actors, actions=owner.recipe.data.actions), owner


def _checked(out: str | None) -> Path | None:
    if out is None:
        return None
    path = Path(out)
    if path.suffix != ".csv":
        raise TRNNError(f"--out must name a .csv file. Got {out!r} instead.")
    if not path.parent.is_dir():
        raise TRNNError(f"The folder of --out must exist. {str(path.parent)!r} does not; create it first.")
    return path


def _bar(done: int, total: int, what: str) -> None:
    if sys.stderr.isatty():
        filled = 30 * done // total
        print(f"\r[{'#' * filled}{'.' * (30 - filled)}] {done}/{total} {what[:60]:60}", end="", file=sys.stderr)
        if done == total:
            print(file=sys.stderr)
    else:
        print(f"{done}/{total} {what}", file=sys.stderr)


def _show(result: BacktestResult, written: list[Path]) -> None:
    title = f"{result.title} (simulated)" if result.simulated else result.title
    print(title)
    print(result.words)
    with pd.option_context("display.width", 200):
        for step in range(1, result.protocol.horizon + 1):
            print(f"\nStep {step} ahead, {int(result.leaderboard(step)['n_origins'].iloc[0])} origins scored:")
            print(leaderboard_text(result, step))
    for path in written:
        print(f"written: {path}")
