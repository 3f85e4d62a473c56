"""Settings: frozen, validated in words, and saved as recipes that come back the same."""

from __future__ import annotations

import pytest

from trnn_core.errors import TRNNError
from trnn_core.models.model_config import ModelConfig
from trnn_core.training.config import DataConfig, Recipe, TrainConfig
from trnn_core.training.recipes import PRESETS, plain, preset, read_recipe, recipe_text, write_recipe


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("suffix", (".toml", ".json"))
def test_a_recipe_file_gives_the_recipe_back(name, suffix, tmp_path):
    path = tmp_path / f"recipe{suffix}"
    write_recipe(preset(name), path)
    assert read_recipe(path) == preset(name)


@pytest.mark.parametrize(
    ("name", "hidden", "design"),
    [("paper-case-1", (50, 50, 4), "many-to-one"), ("paper-case-2", (14, 14, 4), "many-to-many")],
)
def test_the_paper_presets_are_as_printed(name, hidden, design):
    recipe = preset(name)
    assert (recipe.data.window, recipe.data.design, recipe.model.hidden_shape) == (7, design, hidden)
    assert (recipe.train.regularisation, recipe.train.epochs, recipe.model.likelihood) == (0.01, 1000, "squared")
    assert recipe.model.cell == "lstm"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"train": {"epoch": 5}}, "Unknown setting 'train.epoch'; did you mean 'train.epochs'"),
        ({"data": {"transfrom": "log1p"}}, "Unknown setting 'data.transfrom'; did you mean 'data.transform'"),
        ({"model": {"hidden": 3}}, "Unknown setting 'model.hidden'"),
        ({"trian": {}}, "Unknown setting 'trian'; did you mean 'train'"),
        ({"train": {"epochs": 0}}, r"'train.epochs' must be at least 1. Got 0 instead"),
        ({"train": {"learning_rate": -1}}, "'train.learning_rate' must be more than 0"),
        ({"train": {"learning_rate": float("nan")}}, "'train.learning_rate' must be a finite number"),
        ({"train": {"epochs": "many"}}, "'train.epochs' must be a whole number. Got 'many' instead"),
        ({"train": {"optimiser": "adamm"}}, "'train.optimiser' must be one of 'adam', 'adamw'"),
        ({"data": {"slices": ["sideways"]}}, "'data.slices' An input slice must be one of"),
        ({"data": {"transform": "sqrt"}}, "'data.transform' must be one of none, log1p"),
        ({"model": {"hidden_shape": [3, 3]}}, "'model.hidden_shape' must be three sizes"),
        ({"model": {"cell": "transformer"}}, "'model.cell' must be one of"),
        ({"train": {"epochs": 0, "seed": -1}}, r"1 more setting is wrong too"),
        ({"train": 3}, "'train' must be a group of settings"),
    ],
)
def test_mistakes_are_told_in_one_sentence(settings, words):
    with pytest.raises(TRNNError, match=words) as error:
        Recipe(**settings)
    assert "\n" not in str(error.value) and "pydantic" not in str(error.value)


def test_a_single_group_tells_mistakes_with_its_section():
    with pytest.raises(TRNNError, match=r"Unknown setting 'train.epoch'"):
        TrainConfig(epoch=3)
    with pytest.raises(TRNNError, match=r"'data.window' must be at least 1"):
        DataConfig(window=0)


def test_settings_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        preset("quick").train.epochs = 3


def test_changed_reads_what_a_person_types():
    recipe = preset("quick").changed(
        **{
            "model.hidden_shape": "14,14,4",
            "train.epochs": "50",
            "train.clip_norm": "none",
            "data.diagonal": "true",
            "data.slices": "direct, reciprocal",
        }
    )
    assert recipe.model.hidden_shape == (14, 14, 4)
    assert recipe.train.epochs == 50 and recipe.train.clip_norm is None
    assert recipe.data.diagonal is True and recipe.data.slices == ("direct", "reciprocal")
    assert recipe.changed(**{"data.actors": "Korea, South; Japan"}).data.actors == ("Korea, South", "Japan")
    for name, words in (
        ("epochs", "named data.NAME"),
        ("train.epoch", "did you mean 'train.epochs'"),
        ("runs.x", "named data.NAME"),
    ):
        with pytest.raises(TRNNError, match=words):
            recipe.changed(**{name: "3"})


def test_a_wrong_recipe_file_is_named(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("[train]\nepoch = 3\n")
    with pytest.raises(TRNNError, match=r"mine.toml: Unknown setting 'train.epoch'"):
        read_recipe(path)
    path.write_text("[train\n")
    with pytest.raises(TRNNError, match=r"mine.toml must be a recipe in TOML or JSON"):
        read_recipe(path)
    with pytest.raises(TRNNError, match="not there"):
        read_recipe(tmp_path / "none.toml")
    with pytest.raises(TRNNError, match=r"must end in .toml or .json"):
        recipe_text(preset("quick"), ".yaml")


def test_plain_leaves_out_what_is_not_given():
    assert "patience" not in plain(preset("quick"))["train"]


def test_a_model_config_built_directly_tells_mistakes_the_same_way():
    with pytest.raises(TRNNError, match=r"'model.dropout' must be less than 1(\.0)?. Got 3 instead"):
        ModelConfig(dropout=3)
    with pytest.raises(TRNNError, match=r"Unknown setting 'model.cel'; did you mean 'model.cell'"):
        ModelConfig(cel="gru")
