"""`train`: start or resume a run here, or hand it to the worker."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import Annotated, Any

from trnn_core.data.readers import read_series
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.files import with_no_error
from trnn_core.jobs.context import Context
from trnn_core.jobs.queue import ensure_worker
from trnn_core.runs import layout
from trnn_core.runs.run import Run, Status
from trnn_core.runs.store import RunStore
from trnn_core.training.config import Recipe
from trnn_core.training.events import EpochDone, Event, Started, StepDone
from trnn_core.training.recipes import PRESET_WORDS, preset, read_recipe
from trnn_core.verbs.common import changed, store_of
from trnn_core.verbs.request import BaseRequest, Option, Result, Said
from trnn_core.words import clock, percent

HELP = "train a network, with a progress bar; Ctrl-C stops cleanly and keeps the best weights"
_PRESETS = "; ".join(f"{name}: {words}" for name, words in PRESET_WORDS.items())


class Request(BaseRequest):
    data: Annotated[str | None, Option("the series to learn from", metavar="X.npz")] = None
    preset: Annotated[str | None, Option(f"settings to begin with (default: recommended). {_PRESETS}")] = None
    recipe: Annotated[str | None, Option("settings from a recipe file (.toml or .json)", metavar="FILE")] = None
    settings: Annotated[
        tuple[str, ...],
        Option(
            "change a setting, e.g. --set train.epochs=50 --set model.hidden_shape=14,14,4",
            flag="--set",
            metavar="NAME=VALUE",
        ),
    ] = ()
    resume: Annotated[str | None, Option("go on with a run exactly where it was left", metavar="RUN")] = None
    queue: Annotated[bool, Option("hand the run to the worker and return at once", role="here")] = False
    seeds: Annotated[
        int | None,
        Option("train the recipe N times, from its seed and the ones after, side by side", metavar="N"),
    ] = None
    workers: Annotated[int | None, Option("processes for --seeds (as many as processors)", role="resources")] = None
    cluster: Annotated[
        str | None,
        Option("address of a Dask scheduler for --seeds; its workers must see the folder of runs", role="resources"),
    ] = None
    run_id: Annotated[str | None, Option("the new run's id (default: date, time and a few random letters)")] = None
    name: Annotated[str | None, Option("the new run's name, as people will see it")] = None
    tag: Annotated[tuple[str, ...], Option("a tag for the new run; may be repeated")] = ()


def run(request: Request, context: Context) -> Result:
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and "RANK" in os.environ:
        return _run_together(request, context)
    return _run(request, context)


def _run_together(request: Request, context: Context) -> Result:
    """One of several processes that torchrun has started: the first does as always, the others follow it."""
    if request.queue:
        raise TRNNError("Processes started by torchrun train here and now; leave out --queue.")
    from trnn_core.training.distributed import joined
    from trnn_core.training.trainer import fit_together

    with joined() as group:
        if group.rank == 0:
            return _run(request, context)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process hears it and tells all
        fit_together(group, None)
        return Said("")


def _run(request: Request, context: Context) -> Result:
    store = store_of(context)
    if request.seeds is not None:
        return _run_seeds(store, request, context)
    found = _resumed(store, request) if request.resume else _created(store, request, context)
    if request.queue:
        ensure_worker(store)
        return _told(found, found.status(), f"Run {found.run_id} is queued in {store.root}.")
    context.asked()  # from here on Ctrl-C ends it cleanly
    context.progress(0.0, f"Run {found.run_id} in {store.root}")
    from trnn_core.runs.execute import train_run

    status = train_run(store, found, listeners=[follow(context)], control=context.asked)
    code = 0 if status.state in ("finished", "stopped", "paused", "cancelled") else 1
    return _told(found, status, _last_words(found, status), code)


def _created(store: RunStore, request: Request, context: Context) -> Run:
    if not request.data:
        raise TRNNError("A training needs data: give --data X.npz, or --resume RUN to go on with a run.")
    if request.preset and request.recipe:
        raise TRNNError("Give either --preset or --recipe, not both; single settings can be changed with --set.")
    recipe, series = _asked(request, context)
    labels: dict[str, Any] = {"run_id": request.run_id, "name": request.name, "tags": request.tag}
    if request.queue:
        return store.submit(recipe, series, **labels)
    return store.create(recipe, series, **labels, state="paused")  # else a worker would take it


def _asked(request: Request, context: Context) -> tuple[Recipe, RelationalSeries]:
    """The settings and the data of a new run."""
    recipe = read_recipe(Path(request.recipe)) if request.recipe else preset(request.preset or "recommended")
    series = read_series(str(request.data))
    expected = recipe.data.fingerprint
    if expected and expected != series.fingerprint:
        context.progress(
            0.0,
            f"Note: the recipe was made on other data ({expected[:12]}...) than {request.data}"
            f" ({series.fingerprint[:12]}...).",
        )
    return changed(recipe, request.settings).changed(**{"data.path": str(request.data)}), series


def _run_seeds(store: RunStore, request: Request, context: Context) -> Result:
    if request.queue or request.resume or request.run_id or not request.data or (request.preset and request.recipe):
        raise TRNNError(
            "--seeds makes new runs here and now: give --data and either --preset or --recipe, and leave out --queue,"
            " --resume and --run-id."
        )
    from trnn_core.jobs.executors import open_executor
    from trnn_core.runs.ensembles import make_seeds, spread, train_seeds

    recipe, series = _asked(request, context)
    name = request.name or f"{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    runs = make_seeds(store, recipe, series, request.seeds or 0, name, request.tag)

    def finished(n: int, result: dict) -> None:
        context.progress(n / len(runs), f"{n}/{len(runs)} {result['run_id']}: {result['state']}")

    with open_executor(request.cluster, workers=request.workers) as executor:
        results = train_seeds(store, runs, executor, finished)
    found = spread(results)
    words = f"{len(runs)} seeds, mean and standard deviation: " + ", ".join(
        f"{k} {m:.5g} ± {s:.2g}" for k, (m, s) in found.items()
    )
    code = 0 if all(r["state"] in ("finished", "stopped") for r in results) else 1
    return Said(words, {"runs": results, "spread": found}, code)


def _resumed(store: RunStore, request: Request) -> Run:
    if request.settings or request.preset or request.recipe or request.data:
        raise TRNNError(
            "A resumed run keeps its own data and settings; leave out --data, --preset, --recipe and --set."
        )
    found = store.get(str(request.resume))
    if request.queue:
        return found.resume()
    if found.status().state != "queued":  # here and now, without waiting for the worker
        found.check_resumable()
        with_no_error((found.folder / layout.REQUEST).unlink)
    return found


def follow(context: Context) -> Callable[[Event], None]:
    """The trainer's events told as progress: after every epoch, and where words give way to the next also between."""
    begun, told_at, n_windows, epochs, words = monotonic(), 0.0, 0, 1, ""

    def tell(share: float, epoch: int) -> None:
        nonlocal told_at
        told_at = monotonic()
        speed = f"  {n_windows / max(told_at - begun, 1e-9):,.0f} windows/s" if context.live else ""
        context.progress(share, f"epoch {epoch}/{epochs}  {words}{speed}")

    def listen(event: Event) -> None:
        nonlocal n_windows, epochs, words
        if isinstance(event, Started):
            epochs = event.epochs
            size = f"{event.n_parameters:,} parameters, {event.n_windows:,} windows"
            context.progress(0.0, f"{size}; loss: {event.loss_scale}")
        elif isinstance(event, StepDone):
            n_windows += event.n_windows
            if context.live and monotonic() - told_at > 0.1:
                tell((event.epoch - 1 + event.step / event.n_steps) / epochs, event.epoch)
        elif isinstance(event, EpochDone):
            val = event.row["val_loss"]
            loss = f"loss {event.row['train_loss']:.5f}" + ("" if val is None else f"  validation {val:.5f}")
            words = f"{loss}  ETA {clock(event.eta_seconds)}"
            tell(event.epoch / epochs, event.epoch)

    return listen


def _last_words(found: Run, status: Status) -> str:
    words = [f"{status.state.capitalize()}: {status.message}"]
    summary = found.summary() or {}
    if test := summary.get("test"):
        words.append(
            f"On {test['n_origins']} unseen periods: mean squared error {test['mse']:.5f} on the {test['scale']} scale,"
            f" persistence {test['mse_persistence']:.5f}, skill {percent(test['skill'], 1, signed=True)}."
        )
    return "\n".join(words)


def _told(found: Run, status: Status, words: str, code: int = 0) -> Result:
    facts = {
        "run_id": found.run_id,
        "folder": str(found.folder),
        "status": status.__dict__,
        "summary": found.summary(),
        "history": found.history(),
    }
    return Said(words, facts, code, found)
