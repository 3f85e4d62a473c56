"""`tune`: search for good settings; ends by writing a recipe that `train --recipe` takes.

Asked for by a page, as a job, the settings of the search come whole, as `config`, and the data are those of
`fingerprint` in the store.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from trnn_core.data.readers import read_series
from trnn_core.data.readers.npz import read_npz
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.jobs.context import Context
from trnn_core.jobs.executors import open_executor, operators_address
from trnn_core.runs.study import study_folder
from trnn_core.training.config import Recipe
from trnn_core.training.recipes import preset, read_recipe, write_recipe
from trnn_core.training.search import TuneConfig, default_space, parse_space
from trnn_core.verbs.common import Cluster, Workers, changed, store_of
from trnn_core.verbs.request import BaseRequest, Option, Result, Said
from trnn_core.words import percent

HELP = "search for good settings with real trainings, judged by their validation loss; writes a recipe"
LINE = "{percent:>5} {words}"


class Request(BaseRequest):
    data: Annotated[str | None, Option("the series to learn from", metavar="X.npz", role="here", required=True)] = None
    study: Annotated[str, Option("name of the search; the same name goes on with it (search)")] = "search"
    preset: Annotated[str | None, Option("settings to begin with (default: quick)", role="here")] = None
    recipe: Annotated[str | None, Option("settings to begin with, from a recipe file", metavar="FILE", role="here")] = (
        None
    )
    settings: Annotated[
        tuple[str, ...],
        Option(
            "change a setting that is not searched, e.g. --set train.epochs=20",
            flag="--set",
            metavar="NAME=VALUE",
            role="here",
        ),
    ] = ()
    search: Annotated[
        tuple[str, ...],
        Option(
            "what to search, e.g. data.window=4:12 train.learning_rate=0.001:0.03:log model.cell='gru|lstm'; none given"
            " searches what is usual",
            metavar="NAME=RANGE",
            role="here",
        ),
    ] = ()
    trials: Annotated[int, Option("trainings to try (24)", role="here")] = 24
    batch: Annotated[int, Option("trials chosen at once, side by side at most (6)", role="here")] = 6
    pruner: Annotated[
        Literal["median", "hyperband", "none"], Option("how hopeless trials are ended early (median)", role="here")
    ] = "median"
    seed: Annotated[int, Option("start of the search's random numbers (0)", role="here")] = 0
    workers: Workers = None
    cluster: Cluster = None
    storage: Annotated[
        str | None,
        Option("PostgreSQL address that several machines share (default: TRNN_STUDIES, else a file)", role="here"),
    ] = None
    out: Annotated[str | None, Option("where the recipe goes too (.toml or .json)", metavar="FILE", role="here")] = None
    fingerprint: str | None = None
    config: dict[str, Any] | None = None


def run(request: Request, context: Context) -> Result:
    if request.preset and request.recipe:
        raise TRNNError("Give either --preset or --recipe, not both; single settings can be changed with --set.")
    if request.out and Path(request.out).suffix not in (".toml", ".json"):
        raise TRNNError(f"--out must name a .toml or .json file. Got {request.out!r} instead.")
    store = store_of(context)
    series, config = _asked(request, context)
    folder = study_folder(store, request.study)
    config.ranges()
    from trnn_core.runs.tuning import tune

    address = request.cluster if isinstance(request.cluster, str) else None
    if request.config is not None:  # a page's: it says whether to use the cluster, never which
        address = operators_address(bool(request.cluster))
        context.progress(0.0, "Starting the workers.")
    with open_executor(address, workers=request.workers) as executor:
        found = tune(
            series,
            config,
            folder,
            executor,
            storage=request.storage,
            progress=context.progress,
            stopping=context.stopping,
        )
    if found["best"] is not None and request.out:
        write_recipe(read_recipe(folder / "recipe.toml"), Path(request.out))
    return Said(_words(found, folder, request.out), found, 0 if found["best"] is not None else 1, found)


def _asked(request: Request, context: Context) -> tuple[RelationalSeries, TuneConfig]:
    """The data and the settings of the search."""
    if request.config is not None:
        settings = dict(request.config)
        config = TuneConfig(recipe=Recipe(**settings.pop("recipe")), **settings)
        return read_npz(store_of(context).series_path(str(request.fingerprint))), config
    recipe = read_recipe(Path(request.recipe)) if request.recipe else preset(request.preset or "quick")
    recipe = changed(recipe, request.settings)
    if not request.data:
        raise TRNNError("A search needs data: give --data X.npz.")
    series = read_series(request.data)
    space = parse_space(list(request.search)) or default_space(recipe, series)
    config = TuneConfig(
        recipe=recipe,
        space=space,
        trials=request.trials,
        batch=request.batch,
        pruner=request.pruner,
        seed=request.seed,
    )
    return series, config


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
