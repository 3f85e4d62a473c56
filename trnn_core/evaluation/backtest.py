"""Rolling-origin backtest: any models on identical origins, in parallel, resumable, the same table every time.

    result = backtest(series, ["persistence", "relational_ar"], Protocol(horizon=4))
    result.leaderboard()

Work is handed to any `concurrent.futures.Executor`, one task per model and fit; each task's scores are kept in the
`store` folder as soon as they are known, under a name made of all that determines them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from functools import partial
from pathlib import Path
from typing import Any

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.evaluation.forecasters import RUN_NETWORK, names
from trnn_core.evaluation.metrics import FIRST_SCORES, score_names
from trnn_core.evaluation.protocol import Protocol
from trnn_core.evaluation.results import BacktestResult, join
from trnn_core.evaluation.scoring import Block, BlockScores, run_block
from trnn_core.jobs.executors import open_executor

Progress = Callable[[int, int, str], None]
Each = Callable[[Block, int], None]
POLL_SECONDS = 0.5
_VERSION = 2  # raise when scores change their meaning: stored parts of an older version are not reused


def backtest(
    series: RelationalSeries,
    models: Sequence[str] | Mapping[str, dict[str, Any]],
    protocol: Protocol | None = None,
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    store: Path | None = None,
    progress: Progress | None = None,
    each: Each | None = None,
    idle: Callable[[], None] | None = None,
) -> BacktestResult:
    """Score the models on the same origins.

    models    names, or names with the options of each
    executor  where to run; by default local processes, `workers` of them (as many as processors), one thread each
    cluster   the address of a Dask scheduler to use instead (by default that in TRNN_CLUSTER)
    store     a folder for finished parts: a backtest that was interrupted goes on where it stopped
    progress  called with (parts done, parts in all, what was finished)
    each      called with a part and the number of its origins scored so far: after every origin where the work is
              done here, part after part (without executor, workers or cluster), else when the part is done
    idle      called twice a second while others work; it may raise to end the backtest
    """
    protocol = protocol or Protocol()
    options = dict(models) if isinstance(models, Mapping) else {name: {} for name in models}
    _check_names(options)
    tasks = parts_of(series, options, protocol)
    done: dict[int, BlockScores] = {}
    keys = [part_name(series, task) for task in tasks]
    paths = [store / f"{key}.npz" if store else None for key in keys]
    if store:
        store.mkdir(parents=True, exist_ok=True)
    total = len(tasks)
    for i, path in enumerate(paths):
        if path is not None and path.exists():
            done[i] = BlockScores.load(path)
            _report(progress, len(done), total, f"{tasks[i].model} was scored before")
    todo = [i for i in range(total) if i not in done]
    here = each if executor is None and workers is None and cluster is None else None
    for i, scores in (
        _here(series, tasks, todo, here) if here else _run(series, tasks, todo, executor, workers, cluster, idle)
    ):
        done[i] = scores
        if (path := paths[i]) is not None:
            scores.save(path)
        if each and not here:
            each(tasks[i], len(tasks[i].origins))
        _report(progress, len(done), total, _name(series, tasks[i]))
    parts = {name: [done[i] for i, task in enumerate(tasks) if task.model == name] for name in options}
    return BacktestResult.of(series, protocol, {name: join(blocks) for name, blocks in parts.items()})


def parts_of(series: RelationalSeries, options: Mapping[str, dict[str, Any]], protocol: Protocol) -> list[Block]:
    """The parts of a backtest, one per model and fit, in the order they are worked on."""
    blocks = protocol.blocks(len(series))
    first = blocks[0][0]
    return [
        Block(name, dict(chosen), tuple(origins), protocol.horizon, protocol.diagonal, first)
        for name, chosen in options.items()
        for origins in blocks
    ]


def _here(
    series: RelationalSeries, tasks: list[Block], todo: list[int], each: Each
) -> Iterator[tuple[int, BlockScores]]:
    for i in todo:
        yield i, run_block(series, tasks[i], partial(each, tasks[i]))


def _run(
    series: RelationalSeries,
    tasks: list[Block],
    todo: list[int],
    executor: Executor | None,
    workers: int | None,
    cluster: str | None,
    idle: Callable[[], None] | None,
) -> Iterator[tuple[int, BlockScores]]:
    """Finished tasks as they come. Late fits see the most periods and go first: no long one is left over at the end."""
    todo = sorted(todo, key=lambda i: tasks[i].origins[0], reverse=True)
    if executor is not None:
        yield from _collect({executor.submit(run_block, series, tasks[i]): i for i in todo}, idle)
    elif todo:
        n_workers = max(1, min(workers or os.cpu_count() or 1, len(todo)))
        with open_executor(cluster, workers=n_workers) as own:
            yield from _collect({own.submit(run_block, series, tasks[i]): i for i in todo}, idle)


def _collect(
    futures: dict[Future[BlockScores], int], idle: Callable[[], None] | None
) -> Iterator[tuple[int, BlockScores]]:
    todo = set(futures)
    try:
        while todo:
            finished, todo = wait(todo, POLL_SECONDS if idle else None, FIRST_COMPLETED)
            for future in finished:
                yield futures[future], future.result()
            if idle:
                idle()
    finally:
        for future in futures:
            future.cancel()


def part_name(series: RelationalSeries, task: Block) -> str:
    """All that determines a task's scores, as a file name."""
    content: list[Any] = [
        _VERSION,
        series.fingerprint,
        series.source.kind,
        series.source.diagonal,
        task.model,
        task.options,
        task.origins,
        task.horizon,
        task.diagonal,
        task.first_origin,
    ]
    if score_names() != FIRST_SCORES:  # parts that lack a score are not reused
        content.append(score_names())
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
    return f"{task.model.replace(':', '.')}-{digest[:24]}"


def _check_names(options: Mapping[str, dict[str, Any]]) -> None:
    if not options:
        raise TRNNError(f"A backtest needs at least one model. Choose from {', '.join(names())}.")
    for name in options:
        if name not in (RUN_NETWORK, *names()) and ":" not in name:
            raise TRNNError(
                f"The model must be one of {', '.join(names())}, or a class of your own as module:Class. Got {name!r}"
                " instead."
            )


def _name(series: RelationalSeries, task: Block) -> str:
    return f"{task.model}, origins {series.dates[task.origins[0]]} to {series.dates[task.origins[-1]]}"


def _report(progress: Progress | None, done: int, total: int, what: str) -> None:
    if progress is not None:
        progress(done, total, what)
