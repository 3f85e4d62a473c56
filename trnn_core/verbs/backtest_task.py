"""A backtest as a task: progress by model and origin, stoppable, and never scoring the same part twice.

Finished parts are kept beside the tasks under names made of all that determines them, so that a stopped backtest goes
on where it was, and one that adds a model scores only that model.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path

from trnn_core.data.readers.npz import read_npz
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.evaluation.forecasters import RUN_NETWORK, label
from trnn_core.evaluation.results import BacktestResult
from trnn_core.evaluation.rolling_origins import backtest, part_name, parts_of
from trnn_core.evaluation.scoring import Block, BlockScores
from trnn_core.files import with_no_error
from trnn_core.jobs.executors import open_executor, operators_address
from trnn_core.jobs.process import JobContext
from trnn_core.runs import layout
from trnn_core.runs.backtests import result_files
from trnn_core.runs.recorder import add_results
from trnn_core.runs.run import Run
from trnn_core.runs.store import RunStore
from trnn_core.verbs.backtest_request import BacktestRequest, part_costs

log = logging.getLogger(__name__)
PARTS_BYTES = 500_000_000  # finished parts kept for later backtests, the newest of them


class Stopped(Exception):
    """The person has asked to stop; what is finished is kept."""


class Ledger:
    """How much of a backtest is done, in parts weighed by what they cost, and whether to go on."""

    def __init__(self, context: JobContext, series: RelationalSeries, parts: list[Block], folder: Path):
        self.context, self.period, self.series = context, series.period, series
        self.network_seconds = context.store.get(context.run_id).status().seconds if context.run_id else None
        self.models = list(dict.fromkeys(part.model for part in parts))
        self.costs = [self._cost(part, len(part.origins)) for part in parts]
        self.places = {(part.model, part.origins[0]): n for n, part in enumerate(parts)}
        stored = [(folder / f"{part_name(series, part)}.npz").exists() for part in parts]
        self.done = {n for n, there in enumerate(stored) if there}
        self.scored = {
            m: sum(len(p.origins) for n, p in enumerate(parts) if p.model == m and n in self.done) for m in self.models
        }
        self.origins = sum(len(part.origins) for part in parts) // len(self.models)

    def _cost(self, part: Block, scored: int) -> float:
        fit, origin = part_costs(part.model, self.series.shape, part.horizon, self.network_seconds)
        return fit + origin * scored if scored else 0.0

    def look(self) -> None:
        """Leave when asked to."""
        if self.context.stopping():
            raise Stopped

    def __call__(self, part: Block, scored: int) -> None:
        """After the fit and after every origin, or after a part that was done elsewhere: tell, and leave when asked
        to."""
        self.look()
        place = self.places[part.model, part.origins[0]]
        known = sum(self.costs[n] for n in self.done) + self._cost(part, scored)
        number = f"model {self.models.index(part.model) + 1} of {len(self.models)}"
        what = (
            "is being fitted"
            if not scored
            else f"{self.scored[part.model] + scored} of {self.origins} {self.period}s scored"
        )
        total = sum(self.costs)
        self.context.progress(
            min(known / total, 0.999),
            f"{label(part.model, self.period)}: {what} ({number})",
            guess=round(total - known, 1),
        )
        if scored == len(part.origins):
            self.done.add(place)
            self.scored[part.model] += scored


def run(context: JobContext) -> None:
    """Do one backtest, keep its result in the task, and add it to the run it belongs to."""
    request = BacktestRequest.from_arguments(context.request)
    context.progress(0.0, "Reading the data.")
    series = read_request_series(context.store, request)
    folder = parts_folder(context.store)
    parts = parts_of(series, request.options(), request.protocol)
    drop_damaged(folder, [part_name(series, part) for part in parts])
    ledger = Ledger(context, series, parts, folder)
    try:
        with place_of(context) as executor:
            result = backtest(
                series,
                request.options(),
                request.protocol,
                executor=executor,
                store=folder,
                each=ledger,
                idle=ledger.look,
            )
    except Stopped:
        return
    files = result_files(result)
    for name, content in files.items():
        context.write(name, content)
    words = f"{len(result.dates)} past {series.period}s, {len(request.models)} models."
    if context.run_id is not None:
        words = f"{words} {attach(context.store.get(context.run_id), result, files)}"
    trim_parts(folder)
    context.progress(1.0, words)


@contextmanager
def place_of(context: JobContext) -> Iterator[Executor | None]:
    """The cluster or the processes that were asked for; None for this process, which can tell of every origin."""
    workers, cluster = (
        int(context.resources.get("workers", 1)),
        operators_address(bool(context.resources.get("cluster"))),
    )
    if not cluster and workers < 2:
        yield None
        return
    context.progress(0.0, "Starting the workers.")
    with open_executor(cluster, workers=workers) as executor:
        yield executor


def read_request_series(store: RunStore, request: BacktestRequest) -> RelationalSeries:
    path = store.series_path(request.fingerprint)
    if not path.exists():
        raise TRNNError("The data of this backtest are no longer in the store; open the data set again and start anew.")
    return read_npz(path).select(actors=request.actors, actions=request.actions)


def parts_folder(store: RunStore) -> Path:
    return store.root / layout.TASKS / ".parts"


def drop_damaged(folder: Path, names: list[str]) -> None:
    """A part that cannot be read is scored again."""
    for path in (folder / f"{name}.npz" for name in names):
        if path.exists():
            try:
                BlockScores.load(path)
            except TRNNError as e:
                log.warning("part dropped: %s", e)
                with_no_error(path.unlink)


def trim_parts(folder: Path, limit: int = PARTS_BYTES) -> None:
    """Keep the newest parts within the limit."""
    total = 0
    for path in sorted(folder.glob("*.npz"), key=lambda p: p.stat().st_mtime_ns, reverse=True):
        total += path.stat().st_size
        if total > limit:
            with_no_error(path.unlink)


def attach(run: Run, result: BacktestResult, files: Mapping[str, bytes]) -> str:
    """Add a backtest to its run, for reports; one with the run's own network does not give way to one without."""
    if RUN_NETWORK not in result.scores and _has_network(run):
        return "The run keeps its earlier backtest, which has its own network in it."
    try:
        add_results(run, files)
        return "Added to the run."
    except TRNNError as e:
        return f"It could not be added to the run: {e}"


def _has_network(run: Run) -> bool:
    content = run.read_checked(layout.BACKTEST_ABOUT)
    try:
        return content is not None and RUN_NETWORK in json.loads(content)["models"]
    except (ValueError, KeyError, TypeError):
        return False
