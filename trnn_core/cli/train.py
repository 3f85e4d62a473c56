"""`train`: start or resume a run here, or hand it to the worker."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from datetime import datetime
from pathlib import Path
from types import FrameType

from trnn_core.data.readers import read_series
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.files import with_no_error
from trnn_core.jobs import queue
from trnn_core.runs import layout
from trnn_core.runs.run import Run, Status
from trnn_core.runs.store import RunStore
from trnn_core.training.config import Recipe
from trnn_core.training.events import Request
from trnn_core.training.recipes import PRESET_WORDS, preset, read_recipe
from trnn_core.words import percent

HELP = "train a network, with a progress bar; Ctrl-C stops cleanly and keeps the best weights"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    presets = "; ".join(f"{name}: {words}" for name, words in PRESET_WORDS.items())
    parser.add_argument("--data", metavar="X.npz", help="the series to learn from")
    parser.add_argument("--preset", default=None, help=f"settings to begin with (default: recommended). {presets}")
    parser.add_argument("--recipe", metavar="FILE", help="settings from a recipe file (.toml or .json)")
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        dest="settings",
        help="change a setting, e.g. --set train.epochs=50 --set model.hidden_shape=14,14,4",
    )
    parser.add_argument("--resume", metavar="RUN", help="go on with a run exactly where it was left")
    parser.add_argument("--queue", action="store_true", help="hand the run to the worker and return at once")
    parser.add_argument(
        "--seeds",
        type=int,
        metavar="N",
        help="train the recipe N times, from its seed and the ones after, side by side",
    )
    parser.add_argument("--workers", type=int, help="processes for --seeds (as many as processors)")
    parser.add_argument(
        "--cluster", help="address of a Dask scheduler for --seeds; its workers must see the folder of runs"
    )
    parser.add_argument("--run-id", help="the new run's id (default: date, time and a few random letters)")
    parser.add_argument("--name", help="the new run's name, as people will see it")
    parser.add_argument("--tag", action="append", default=[], help="a tag for the new run; may be repeated")
    add_store(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def add_store(parser: argparse.ArgumentParser) -> None:
    default = os.environ.get("TRNN_RUNS", "runs")
    parser.add_argument("--runs", metavar="DIR", default=default, help=f"the folder of runs (default: {default})")


def run(args: argparse.Namespace) -> int:
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and "RANK" in os.environ:
        return _run_together(args)
    return _run(args)


def _run_together(args: argparse.Namespace) -> int:
    """One of several processes that torchrun has started: the first does as always, the others follow it."""
    if args.queue:
        raise TRNNError("Processes started by torchrun train here and now; leave out --queue.")
    from trnn_core.training.distributed import joined
    from trnn_core.training.trainer import fit_together

    with joined() as group:
        if group.rank == 0:
            return _run(args)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process hears it and tells all
        fit_together(group, None)
        return 0


def _run(args: argparse.Namespace) -> int:
    store = RunStore(args.runs)
    if args.seeds is not None:
        return _run_seeds(store, args)
    found = _resumed(store, args) if args.resume else _created(store, args)
    if args.queue:
        queue.ensure_worker(store)
        _tell(args, found, found.status(), f"Run {found.run_id} is queued in {store.root}.")
        return 0
    status = train_here(store, found, quiet=args.json)
    _tell(args, found, status, _last_words(found, status))
    return 0 if status.state in ("finished", "stopped", "paused", "cancelled") else 1


def _created(store: RunStore, args: argparse.Namespace) -> Run:
    if not args.data:
        raise TRNNError("A training needs data: give --data X.npz, or --resume RUN to go on with a run.")
    if args.preset and args.recipe:
        raise TRNNError("Give either --preset or --recipe, not both; single settings can be changed with --set.")
    recipe, series = _asked(args)
    labels = {"run_id": args.run_id, "name": args.name, "tags": args.tag}
    if args.queue:
        return store.submit(recipe, series, **labels)
    return store.create(recipe, series, **labels, state="paused")  # else a worker would take it


def _asked(args: argparse.Namespace) -> tuple[Recipe, RelationalSeries]:
    """The settings and the data of a new run."""
    recipe = read_recipe(Path(args.recipe)) if args.recipe else preset(args.preset or "recommended")
    series = read_series(args.data)
    expected = recipe.data.fingerprint
    if expected and expected != series.fingerprint:
        print(
            f"Note: the recipe was made on other data ({expected[:12]}...) than {args.data}"
            f" ({series.fingerprint[:12]}...).",
            file=sys.stderr,
        )
    return changed(recipe, args.settings).changed(**{"data.path": str(args.data)}), series


def _run_seeds(store: RunStore, args: argparse.Namespace) -> int:
    if args.queue or args.resume or args.run_id or not args.data or (args.preset and args.recipe):
        raise TRNNError(
            "--seeds makes new runs here and now: give --data and either --preset or --recipe, and leave out --queue,"
            " --resume and --run-id."
        )
    from trnn_core.jobs.executors import open_executor
    from trnn_core.runs.ensembles import make_seeds, spread, train_seeds

    recipe, series = _asked(args)
    name = args.name or f"{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    runs = make_seeds(store, recipe, series, args.seeds, name, args.tag)
    with open_executor(args.cluster, workers=args.workers) as executor:
        results = train_seeds(
            store, runs, executor, lambda n, r: print(f"{n}/{len(runs)} {r['run_id']}: {r['state']}", file=sys.stderr)
        )
    found = spread(results)
    if args.json:
        print(json.dumps({"runs": results, "spread": found}, indent=1))
    else:
        print(
            f"{len(runs)} seeds, mean and standard deviation: "
            + ", ".join(f"{k} {m:.5g} ± {s:.2g}" for k, (m, s) in found.items())
        )
    return 0 if all(r["state"] in ("finished", "stopped") for r in results) else 1


def _resumed(store: RunStore, args: argparse.Namespace) -> Run:
    if args.settings or args.preset or args.recipe or args.data:
        raise TRNNError(
            "A resumed run keeps its own data and settings; leave out --data, --preset, --recipe and --set."
        )
    found = store.get(args.resume)
    if args.queue:
        return found.resume()
    if found.status().state != "queued":  # here and now, without waiting for the worker
        found.check_resumable()
        with_no_error((found.folder / layout.REQUEST).unlink)
    return found


def changed(recipe: Recipe, settings: list[str]) -> Recipe:
    """A recipe with NAME=VALUE settings from the command line."""
    pairs = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals:
            raise TRNNError(f"A setting must be NAME=VALUE, for example train.epochs=50. Got {text!r} instead.")
        pairs[name.strip()] = value.strip()
    return recipe.changed(**pairs)


class _CtrlC:
    """The first Ctrl-C (or SIGTERM) stops cleanly, the second at once; handlers are put back afterwards."""

    def __init__(self) -> None:
        self.request: Request | None = None

    def __enter__(self) -> _CtrlC:
        self.before = {number: signal.signal(number, self._press) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self.request is not None:
            raise KeyboardInterrupt
        self.request = "stop" if number == signal.SIGINT else "pause"
        print("\nStopping; the best weights are kept. Press Ctrl-C again to leave at once.", file=sys.stderr)

    def __call__(self) -> Request | None:
        return self.request


def train_here(store: RunStore, found: Run, quiet: bool) -> Status:
    """Train in this process, with a bar on a terminal and plain lines when piped."""
    from trnn_core.cli.progress import ProgressBar

    with _CtrlC() as control:
        if not quiet:
            print(f"Run {found.run_id} in {store.root}", file=sys.stderr, flush=True)
        from trnn_core.runs.execute import train_run

        return train_run(store, found, listeners=[] if quiet else [ProgressBar()], control=control)


def _last_words(found: Run, status: Status) -> str:
    words = [f"{status.state.capitalize()}: {status.message}"]
    summary = found.summary() or {}
    if test := summary.get("test"):
        words.append(
            f"On {test['n_origins']} unseen periods: mean squared error {test['mse']:.5f} on the {test['scale']} scale,"
            f" persistence {test['mse_persistence']:.5f}, skill {percent(test['skill'], 1, signed=True)}."
        )
    return "\n".join(words)


def _tell(args: argparse.Namespace, found: Run, status: Status, words: str) -> None:
    if args.json:
        result = {
            "run_id": found.run_id,
            "folder": str(found.folder),
            "status": status.__dict__,
            "summary": found.summary(),
            "history": found.history(),
        }
        print(json.dumps(result, indent=1))
    else:
        print(words)
