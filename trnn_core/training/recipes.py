"""Presets, and recipe files (TOML or JSON) that reproduce a run with one command."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import tomli_w

from trnn_core.errors import TRNNError
from trnn_core.files import read_bytes, write_atomic
from trnn_core.training.config import DYAD_FIXED, Recipe

# Presets as plain settings; what is not named keeps its default.
PRESETS: dict[str, dict[str, Any]] = {
    "quick": {
        "data": {"transform": "log1p+standardise", "design": "many-to-one"},
        "model": {"cell": "gru", "hidden_shape": (25, 25, 4), "init": "identity"},
        "train": {"epochs": 15, "schedule": "cosine", "schedule_factor": 0.05, "clip_norm": 1.0},
    },
    "paper-case-1": {
        "data": {"transform": "min-max", "design": "many-to-one", "window": 7, "diagonal": True},
        "model": {"cell": "lstm", "hidden_shape": (50, 50, 4), "likelihood": "squared"},
        "train": {"epochs": 1000, "learning_rate": 0.001, "regularisation": 0.01},
    },
    "paper-case-2": {
        "data": {"transform": "min-max", "design": "many-to-many", "window": 7, "diagonal": True},
        "model": {"cell": "lstm", "hidden_shape": (14, 14, 4), "likelihood": "squared"},
        "train": {"epochs": 1000, "learning_rate": 0.001, "regularisation": 0.01},
    },
    "recommended": {
        "data": {"window": 8},
        "model": {"network": "dyad", "channels": 16, "members": 3, "dropout": 0.1},
        "train": {
            "epochs": 20,
            "epoch_share": 0.1,
            "batch_size": 1024,
            "learning_rate": 0.004,
            "weight_decay": 0.05,
            "clip_norm": 1.0,
        },
    },
}

PRESET_WORDS = {
    "quick": "a small tGRU in seconds, to see the whole way once",
    "paper-case-1": "tLSTM, 7 periods per window, one prediction after the last step, hidden 50 x 50 x 4, 1000 epochs",
    "paper-case-2": "tLSTM, 7 periods per window, a prediction at every step, hidden 14 x 14 x 4, 1000 epochs",
    "recommended": (
        "three tGRU shared by all dyads, correcting a relational autoregression: the most accurate of all models tried,"
        " with a calibrated distribution for every cell"
    ),
}


def preset(name: str) -> Recipe:
    """A named recipe.

    >>> preset("paper-case-2").model.hidden_shape
    (14, 14, 4)
    """
    if name not in PRESETS:
        raise TRNNError(f"A preset must be one of {', '.join(PRESETS)}. Got {name!r} instead.")
    settings = {section: dict(group) for section, group in PRESETS[name].items()}
    if settings["model"].get("network") == "dyad":
        for full, value in DYAD_FIXED.items():
            section, _, key = full.partition(".")
            settings[section].setdefault(key, value)
    return Recipe(preset=name, **settings)


def plain(recipe: Recipe) -> dict[str, Any]:
    """The recipe as JSON values, settings that are not given left out."""
    return recipe.model_dump(mode="json", exclude_none=True)


def write_recipe(recipe: Recipe, path: Path) -> None:
    """Save a recipe as TOML or JSON, by the ending of its name."""
    write_atomic(Path(path), recipe_text(recipe, Path(path).suffix).encode())


def recipe_text(recipe: Recipe, suffix: str = ".toml") -> str:
    if suffix.lower() == ".json":
        return json.dumps(plain(recipe), indent=1) + "\n"
    if suffix.lower() == ".toml":
        return tomli_w.dumps(plain(recipe))
    raise TRNNError(f"A recipe file must end in .toml or .json. Got {suffix!r} instead.")


def read_recipe(path: Path) -> Recipe:
    """Load a recipe file; a wrong or unknown setting is told with the file's name."""
    path = Path(path)
    content = read_bytes(path)
    try:
        text = content.decode()
        settings = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as e:
        raise TRNNError(f"{path} must be a recipe in TOML or JSON. It cannot be read: {e}.") from e
    if not isinstance(settings, dict):
        raise TRNNError(
            f"{path} must hold the sections data, model and train. Got a {type(settings).__name__} instead."
        )
    try:
        return Recipe(**{str(key): value for key, value in settings.items()})
    except TRNNError as e:
        raise TRNNError(f"{path}: {e}") from None
