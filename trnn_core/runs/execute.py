"""One run from its folder to its forecast: what the command line and a job's process both do."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from trnn_core.files import sealed_bytes
from trnn_core.jobs.job import Request
from trnn_core.jobs.queue import drop_tickets
from trnn_core.runs import layout
from trnn_core.runs.forecasting import HORIZON, finish_run
from trnn_core.runs.recorder import record
from trnn_core.runs.run import Run, Status
from trnn_core.runs.store import RunStore
from trnn_core.training.checkpoints import arrays_to_bytes
from trnn_core.training.events import Listener
from trnn_core.training.trainer import fit, surroundings

log = logging.getLogger(__name__)


def take(store: RunStore, run_id: str, ending: threading.Event) -> None:
    """The job of a queued run; one that is told to end with its worker goes back to the queue."""
    status = train_run(
        store, store.get(run_id), control=lambda: "pause" if ending.is_set() else None, only_if=("queued",)
    )
    log.info("%s: %s", status.state, status.message)
    if status.state == "paused" and ending.is_set():
        store.get(run_id).resume()


def train_run(
    store: RunStore,
    run: Run,
    *,
    listeners: Sequence[Listener] = (),
    control: Callable[[], Request | None] | None = None,
    only_if: Sequence[str] | None = None,
) -> Status:
    """Train a run to its end, from its newest checkpoint if it has one; the lock makes this process its one writer.

    only_if    leave the run alone unless its state is one of these (a job that was cancelled meanwhile)
    """
    with record(run) as recorder:
        if only_if is not None and (now := run.status()).state not in only_if:
            return now
        resume = recorder.resume_state()
        recorder.write_status(state="running", message="")
        drop_tickets(store.root, run.run_id)
        series = store.series(run)
        fitted = fit(
            series,
            run.recipe,
            listeners=[recorder, *listeners],
            control=lambda: (control() if control else None) or recorder.control(),
            resume=resume,
        )
        files = {}
        if fitted.best_epoch is not None and fitted.outcome not in ("paused", "cancelled"):
            recorder.finishing(fitted.outcome)
            with surroundings(run.recipe.train):
                results, summary = finish_run(fitted, run)
                files = {
                    layout.WEIGHTS: arrays_to_bytes(fitted.learner.result(HORIZON)),
                    **results,
                    layout.SUMMARY: sealed_bytes(summary),
                }
        recorder.finish(fitted.outcome, fitted.message, files)
    return run.status()
