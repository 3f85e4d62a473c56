"""`tune`: search for good settings; ends by writing a recipe that `train --recipe` takes."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from trnn_core.cli.train import add_store, changed
from trnn_core.data.readers import read_series
from trnn_core.errors import TRNNError
from trnn_core.jobs.executors import open_executor
from trnn_core.runs.store import RunStore
from trnn_core.runs.study import study_folder
from trnn_core.training.recipes import preset, read_recipe, write_recipe
from trnn_core.training.search import TuneConfig, default_space, parse_space
from trnn_core.words import percent

HELP = "search for good settings with real trainings, judged by their validation loss; writes a recipe"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", metavar="X.npz", required=True, help="the series to learn from")
    parser.add_argument("--study", default="search", help="name of the search; the same name goes on with it (search)")
    parser.add_argument("--preset", default=None, help="settings to begin with (default: quick)")
    parser.add_argument("--recipe", metavar="FILE", help="settings to begin with, from a recipe file")
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        dest="settings",
        help="change a setting that is not searched, e.g. --set train.epochs=20",
    )
    parser.add_argument(
        "--search",
        metavar="NAME=RANGE",
        action="append",
        default=[],
        help=(
            "what to search, e.g. data.window=4:12 train.learning_rate=0.001:0.03:log model.cell='gru|lstm'; none given"
            " searches what is usual"
        ),
    )
    parser.add_argument("--trials", type=int, default=24, help="trainings to try (24)")
    parser.add_argument("--batch", type=int, default=6, help="trials chosen at once, side by side at most (6)")
    parser.add_argument(
        "--pruner",
        choices=("median", "hyperband", "none"),
        default="median",
        help="how hopeless trials are ended early (median)",
    )
    parser.add_argument("--seed", type=int, default=0, help="start of the search's random numbers (0)")
    parser.add_argument("--workers", type=int, help="processes (as many as processors)")
    parser.add_argument("--cluster", help="address of a Dask scheduler to work on (default: TRNN_CLUSTER, else here)")
    parser.add_argument(
        "--storage", help="PostgreSQL address that several machines share (default: TRNN_STUDIES, else a file)"
    )
    parser.add_argument("--out", metavar="FILE", help="where the recipe goes too (.toml or .json)")
    add_store(parser)
    parser.add_argument("--json", action="store_true", help="for machines")


def run(args: argparse.Namespace) -> int:
    if args.preset and args.recipe:
        raise TRNNError("Give either --preset or --recipe, not both; single settings can be changed with --set.")
    if args.out and Path(args.out).suffix not in (".toml", ".json"):
        raise TRNNError(f"--out must name a .toml or .json file. Got {args.out!r} instead.")
    recipe = read_recipe(Path(args.recipe)) if args.recipe else preset(args.preset or "quick")
    recipe = changed(recipe, args.settings)
    series = read_series(args.data)
    space = parse_space(args.search) or default_space(recipe, series)
    config = TuneConfig(
        recipe=recipe, space=space, trials=args.trials, batch=args.batch, pruner=args.pruner, seed=args.seed
    )
    folder = study_folder(RunStore(args.runs), args.study)
    config.ranges()
    from trnn_core.runs.tuning import tune

    with open_executor(args.cluster, workers=args.workers) as executor:
        found = tune(series, config, folder, executor, storage=args.storage, progress=_say)
    if found["best"] is not None and args.out:
        write_recipe(read_recipe(folder / "recipe.toml"), Path(args.out))
    print(json.dumps(found, indent=1) if args.json else _words(found, folder, args.out))
    return 0 if found["best"] is not None else 1


def _say(done: float, message: str) -> None:
    print(f"{percent(done):>5} {message}", file=sys.stderr, flush=True)


def _words(found: dict, folder: Path, out: str | None) -> str:
    trials = found["trials"]
    ended = sum(t["state"] == "pruned" for t in trials)
    lines = [
        f"{len(trials)} trials, {ended} of them ended early; judged on the validation periods, the test was not"
        " touched."
    ]
    if found["best"] is None:
        return "\n".join([*lines, "No trial came to its end; try a smaller learning rate, or more trials."])
    first = next((t for t in trials if t["number"] == 0 and t["value"] is not None), None)
    beside = f" (the settings it began with: {first['value']:.5g})" if first else ""
    lines.append(f"Best validation loss {found['best']['value']:.5g}{beside}, trial {found['best']['number']}:")
    lines += [f"  {name} = {value}" for name, value in found["best"]["params"].items()]
    if found["importance"]:
        lines.append("What mattered: " + ", ".join(f"{n} {percent(s)}" for n, s in found["importance"].items()))
    return "\n".join([*lines, f"written: {out or folder / 'recipe.toml'}"])
