"""A search for good settings that a page asked for: arguments in, study.json and recipe.toml in the store out."""

from __future__ import annotations

from trnn_core.data.readers.npz import read_npz
from trnn_core.jobs.executors import open_executor, operators_address
from trnn_core.jobs.process import JobContext
from trnn_core.runs.study import study_folder
from trnn_core.runs.tuning import tune
from trnn_core.training.config import Recipe
from trnn_core.training.search import TuneConfig


def run(context: JobContext) -> None:
    asked = context.request
    settings = dict(asked["config"])
    config = TuneConfig(recipe=Recipe(**settings.pop("recipe")), **settings)
    series = read_npz(context.store.series_path(asked["fingerprint"]))
    context.progress(0.0, "Starting the workers.")
    address = operators_address(bool(context.resources.get("cluster")))
    with open_executor(address, workers=context.resources.get("workers")) as executor:
        tune(
            series,
            config,
            study_folder(context.store, asked["study"]),
            executor,
            progress=context.progress,
            stopping=context.stopping,
        )
