"""The same recipe from several seeds, side by side: what differs between them is luck, and their mean has less of it.

Each seed is an ordinary run of the store, trained by a task of an executor. The task is told a folder and a run's id; a
cluster's workers must therefore see the store under the same path. A task that is done again after its worker died goes
on from the run's newest checkpoint.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from typing import Any

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.jobs.executors import HERE
from trnn_core.runs.run import Run
from trnn_core.runs.store import RunStore
from trnn_core.training.config import Recipe


def make_seeds(
    store: RunStore, recipe: Recipe, series: RelationalSeries, n: int, name: str, tags: Sequence[str] = ()
) -> list[Run]:
    """n runs that differ in nothing but their seed."""
    if not 2 <= n <= 1000:
        raise TRNNError(f"The number of seeds must be from 2 to 1000. Got {n} instead.")
    first = recipe.train.seed
    return [
        store.create(
            recipe.changed(**{"train.seed": seed}),
            series,
            name=f"{name}, seed {seed}",
            tags=[*tags, f"seeds: {name}"],
            state="paused",
        )
        for seed in range(first, first + n)
    ]


def train_in_store(root: str, run_id: str) -> dict[str, Any]:
    """One run, wherever this task is done: its state, its message and its summary."""
    from trnn_core.runs.execute import train_run

    store = RunStore(root)
    run = store.get(run_id)
    status = run.status()
    if status.state not in ("finished", "stopped"):
        status = train_run(store, run)
    return {"run_id": run_id, "state": status.state, "message": status.message, "summary": run.summary()}


def train_seeds(
    store: RunStore,
    runs: Sequence[Run],
    executor: Executor,
    told: Callable[[int, dict[str, Any]], None] = lambda n, r: None,
) -> list[dict[str, Any]]:
    """Train all of them; results in the order of the runs, `told` as each one ends."""
    futures = {executor.submit(train_in_store, str(store.root.resolve()), run.run_id): i for i, run in enumerate(runs)}
    done: dict[int, dict[str, Any]] = {}
    for future in as_completed(futures):
        done[futures[future]] = {**future.result(), "made_on": getattr(executor, "made_on", HERE)}
        told(len(done), done[futures[future]])
    return [done[i] for i in range(len(runs))]


def spread(results: Sequence[Mapping[str, Any]]) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation over the seeds of what their summaries say of periods they had not learnt from.

    >>> spread([{"summary": {"val_loss": 1.0, "test": None}}, {"summary": {"val_loss": 3.0, "test": None}}])["val_loss"]
    (2.0, 1.4142135623730951)
    """
    found: dict[str, list[float]] = {}
    for result in results:
        summary = result["summary"] or {}
        test = summary.get("test") or {}
        for key, value in (
            ("val_loss", summary.get("val_loss")),
            ("mse", test.get("mse")),
            ("skill", test.get("skill")),
        ):
            if value is not None:
                found.setdefault(key, []).append(float(value))
    return {k: (statistics.mean(v), statistics.stdev(v) if len(v) > 1 else 0.0) for k, v in found.items()}
