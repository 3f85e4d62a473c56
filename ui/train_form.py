"""The form of a training: presets first, the essential settings next, the rest behind Advanced."""

from __future__ import annotations

import tempfile
from pathlib import Path

import streamlit as st
from pydantic import BaseModel

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.models.model_config import ModelConfig
from trnn_core.models.size import count_parameters, count_vector_parameters, operations
from trnn_core.runs.run import Run
from trnn_core.training.config import DataConfig, Recipe, TrainConfig
from trnn_core.training.recipes import PRESET_WORDS, PRESETS, preset, read_recipe, recipe_text
from trnn_core.words import duration
from ui.forms import fields, shape_widget
from ui.links import segments

ESSENTIAL = ("model.cell", "data.design", "data.window", "train.epochs", "train.learning_rate", "train.regularisation")
ESSENTIAL_DYAD = (
    "model.channels",
    "model.members",
    "data.window",
    "train.epochs",
    "train.learning_rate",
    "train.weight_decay",
)
LEFT_OUT = {"network", "path", "fingerprint", "actors", "actions", "hidden_shape"}
GROUPS: dict[str, type[BaseModel]] = {"data": DataConfig, "model": ModelConfig, "train": TrainConfig}
OWN = "your file"


def pick_preset() -> tuple[Recipe, str]:
    """The recipe to begin with, and what it is called."""
    given = uploaded_recipe()
    names = [*([OWN] if given else []), *PRESETS]
    chosen = segments("Preset", names, "preset", "A whole set of settings to begin with; change any of them below.")
    words = PRESET_WORDS.get(chosen, "the settings of the recipe file you gave")
    st.caption(f"{words[0].upper()}{words[1:]}.")
    return (given if chosen == OWN and given is not None else preset(chosen)), chosen


def change(begin: Recipe, prefix: str) -> Recipe:
    """The widgets of all settings; the recipe as they stand."""
    return begin.changed(**essential(begin, prefix), **advanced(begin, prefix))


def essential(begin: Recipe, prefix: str) -> dict[str, object]:
    """Two columns of the settings that matter most; those that the kind of network fixes are not asked for."""
    asked = [
        name for name in (ESSENTIAL_DYAD if begin.model.network == "dyad" else ESSENTIAL) if name not in begin.fixed()
    ]
    settings = in_pairs(begin, asked, prefix)
    if begin.model.network == "tensor":
        settings["model.hidden_shape"] = shape_widget(begin.model.hidden_shape, prefix)
        settings |= setting(begin, "data.slices", prefix)
    return settings


def advanced(begin: Recipe, prefix: str) -> dict[str, object]:
    shown = {*ESSENTIAL_DYAD, "train.device"} if begin.model.network == "dyad" else {*ESSENTIAL, "data.slices"}
    rest = [
        f"{section}.{name}"
        for section, group in GROUPS.items()
        for name in group.model_fields
        if f"{section}.{name}" not in shown and f"{section}.{name}" not in begin.fixed() and name not in LEFT_OUT
    ]
    with st.expander("Advanced"):
        return in_pairs(begin, rest, prefix)


def in_pairs(begin: Recipe, names: list[str], prefix: str) -> dict[str, object]:
    """Two settings to a line, level with each other whatever their labels need."""
    settings: dict[str, object] = {}
    for place in range(0, len(names), 2):
        for column, full in zip(st.columns(2, vertical_alignment="bottom"), names[place : place + 2], strict=False):
            with column:
                settings |= setting(begin, full, prefix)
    return settings


def setting(begin: Recipe, full: str, prefix: str) -> dict[str, object]:
    section, _, name = full.partition(".")
    return fields(section, GROUPS[section], [name], getattr(begin, section), prefix)


def uploaded_recipe() -> Recipe | None:
    with st.popover("Recipe file", icon=":material/receipt_long:", help="Begin with the settings of an earlier run"):
        file = st.file_uploader(
            "Recipe (TOML or JSON)",
            ["toml", "json"],
            key="recipe_file",
            max_upload_size=1,
            help="As saved below, or by the command line.",
        )
    if file is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"recipe{Path(file.name).suffix.lower()}"
        path.write_bytes(file.getvalue())
        return read_recipe(path)


def save_recipe(recipe: Recipe) -> None:
    st.download_button(
        "Save recipe",
        recipe_text(recipe),
        "recipe.toml",
        "application/toml",
        icon=":material/save:",
        on_click="ignore",
        help="These settings as a file: give it to this page again, or to `python -m trnn_core train --recipe`.",
    )


def size_of(recipe: Recipe, series: RelationalSeries, earlier: list[Run]) -> None:
    """How large the network is beside an ordinary one, and how long an epoch may take."""
    _, n, m, k = series.shape
    entering, target = (n, m, k * len(recipe.data.slices)), (n, m, k)
    ours = count_parameters(recipe.model, entering, target, series.period)
    ordinary = count_vector_parameters(recipe.model, entering, target)
    kind = {"lstm": "vector LSTM", "gru": "vector GRU"}.get(recipe.model.cell, "vector RNN")
    seconds = seconds_per_epoch(recipe, series.shape, earlier)
    time = "The first run will tell how long an epoch takes."
    if seconds is not None:
        time = f"An epoch takes {'about ' if seconds >= 1 else ''}{duration(seconds)} here."
    st.markdown(
        f"**{ours:,} parameters**; a {kind} with as many hidden units would need {ordinary:,}. {time}",
        help=(
            "Numbers the network has to learn (W, U, B), beside those of an ordinary network that reads the week as one"
            " long list. The time is judged by earlier runs on this machine."
        ),
    )


def work(recipe: Recipe, shape: tuple[int, ...]) -> float:
    """Operations of an epoch, forward and backward; windows that overlap share part of it."""
    periods, n, m, k = shape
    steps = periods * (1 - recipe.data.validation - recipe.data.test) * recipe.data.window
    return (
        3.0
        * steps
        * recipe.train.epoch_share
        * operations(recipe.model, (n, m, k * len(recipe.data.slices)), (n, m, k))
    )


def seconds_per_epoch(recipe: Recipe, shape: tuple[int, ...], earlier: list[Run]) -> float | None:
    """Judged by earlier runs of the same kind of network; a run that cannot be read has no say."""
    speeds = []
    for run in earlier[:10]:
        try:
            seconds = [row["seconds"] for row in run.history()[1:]]
            if seconds and run.recipe.model.network == recipe.model.network:
                done = work(run.recipe, tuple(run.config["data"]["shape"]))
                speeds.append(done / max(sorted(seconds)[len(seconds) // 2], 1e-6))
        except TRNNError:
            continue
    return work(recipe, shape) / sorted(speeds)[len(speeds) // 2] if speeds else None
