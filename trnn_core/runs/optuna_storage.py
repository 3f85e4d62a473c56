"""Where Optuna keeps a search, and the small file that pages read of it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.files import write_sealed
from trnn_core.runs import layout
from trnn_core.runs.store import describe_series
from trnn_core.training.recipes import plain
from trnn_core.training.search import TuneConfig

VARIABLE = (  # a PostgreSQL address for all searches of a server; it may hold a password, so no page shows it
    "TRNN_STUDIES"
)
STATES = {"COMPLETE": "complete", "PRUNED": "pruned", "FAIL": "failed", "RUNNING": "running", "WAITING": "running"}


def storage_address(given: str | None, folder: Path) -> str:
    """Where the study is kept: the address given, else that of the environment, else a file in the search's folder."""
    address = (given or os.environ.get(VARIABLE, "")).strip()
    if not address:
        return f"sqlite:///{folder / 'study.db'}"
    scheme, found, rest = address.partition("://")
    if not found or scheme not in ("postgresql", "postgres", "postgresql+pg8000"):
        raise TRNNError(
            "The store of a search must be a PostgreSQL address like postgresql://user@host:5432/name. Got one that"
            f" begins with {scheme[:20]!r} instead."
        )
    return f"postgresql+pg8000://{rest}"


def open_study(folder: Path, config: TuneConfig, storage: str | None) -> optuna.Study:
    """The study of that name, as it was left or new."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    address = storage_address(storage, folder)
    try:
        return optuna.create_study(
            storage=address, study_name=folder.name, direction="minimize", load_if_exists=True, pruner=_pruner(config)
        )
    except (SQLAlchemyError, OSError) as e:
        place = "its file" if address.startswith("sqlite") else "the PostgreSQL server"
        raise TRNNError(
            f"The search {folder.name!r} cannot be kept: {place} does not answer ({type(e).__name__}); check its"
            " address and that it runs."
        ) from e


def _pruner(config: TuneConfig) -> optuna.pruners.BasePruner:
    epochs = config.recipe.train.epochs
    if config.pruner == "hyperband":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return optuna.pruners.HyperbandPruner(min_resource=max(1, epochs // 5), max_resource=epochs)
    if config.pruner == "median":
        return optuna.pruners.MedianPruner(n_startup_trials=min(4, max(1, config.trials // 4)))
    return optuna.pruners.NopPruner()


def write_study(
    folder: Path,
    config: TuneConfig,
    study: optuna.Study,
    series: RelationalSeries,
    state: str,
    seconds: Mapping[int, float],
) -> dict[str, Any]:
    """study.json: all that a page shows, without Optuna."""
    trials = [_row(t, seconds) for t in study.get_trials(deepcopy=False)]
    whole = [t for t in trials if t["state"] == "complete"]
    best = min(whole, key=lambda t: (t["value"], t["number"]), default=None)
    importance, words = _importance(study, len(whole))
    found = {
        "name": folder.name,
        "made_on": study.user_attrs.get("made_on", []),
        "state": state,
        "updated": datetime.now().astimezone().isoformat(timespec="seconds"),
        "data": describe_series(series),
        "recipe": plain(config.recipe),
        "space": config.space,
        "wanted": config.trials,
        "pruner": config.pruner,
        "seed": config.seed,
        "epochs": config.recipe.train.epochs,
        "trials": trials,
        "best": None if best is None else {k: best[k] for k in ("number", "value", "params")},
        "importance": importance,
        "importance_words": words,
    }
    write_sealed(folder / layout.STUDY, found)
    return found


def _row(trial: FrozenTrial, seconds: Mapping[int, float]) -> dict[str, Any]:
    return {
        "number": trial.number,
        "state": STATES[trial.state.name],
        "value": (
            trial.value if trial.state == TrialState.COMPLETE else min(trial.intermediate_values.values(), default=None)
        ),
        "params": dict(trial.params),
        "losses": [[epoch, loss] for epoch, loss in sorted(trial.intermediate_values.items())],
        "seconds": round(seconds.get(trial.number, 0.0), 3),
    }


def _importance(study: optuna.Study, n_complete: int) -> tuple[dict[str, float] | None, str]:
    if n_complete < 6:
        return None, f"Which settings mattered can be told after 6 whole trials; there are {n_complete}."
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            evaluator = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=0.25)
            found = optuna.importance.get_param_importances(study, evaluator=evaluator)
        except (ValueError, RuntimeError, ArithmeticError) as e:
            return None, f"Which settings mattered cannot be told yet ({e})."
    words = f"Share of each setting in what sets the best quarter of {n_complete} whole trials apart (PED-ANOVA)."
    return {name: float(share) for name, share in found.items()}, words
