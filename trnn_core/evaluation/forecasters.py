"""Every model a backtest can name: the baselines, and the trained networks that later rooms cannot offer them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from trnn_core.errors import TRNNError
from trnn_core.models import registry
from trnn_core.models.forecast import Forecaster

# name -> where the forecaster is made (`module:function` is called with the options), its label, what it is in words
NETWORKS: dict[str, tuple[str, str, str]] = {
    "recommended": (
        "trnn_core.models.recommended:Recommended",
        "recommended network",
        "tGRU shared by all dyads on top of the relational autoregression, count likelihood, three members",
    ),
    "network": (
        "trnn_core.training.recipe_forecaster:by_recipe",
        "this run's network",
        "the run's own recipe, trained anew on what was known at the time",
    ),
    "tlstm": (
        "trnn_core.training.recipe_forecaster:tlstm",
        "plain tLSTM",
        "a plain tLSTM, hidden 14 x 14 x 4, windows of 7, stopped early",
    ),
    "tgru": (
        "trnn_core.training.recipe_forecaster:tgru",
        "plain tGRU",
        "a plain tGRU, hidden 14 x 14 x 4, windows of 7, stopped early",
    ),
}


RUN_NETWORK = "network"  # needs the recipe of a run as its option


def names() -> tuple[str, ...]:
    """All models that need no run, by name, networks first."""
    return (*(name for name in NETWORKS if name != RUN_NETWORK), *registry.BASELINES)


def create(name: str, **options: Any) -> Forecaster:
    """A fresh, unfitted forecaster; `module:Class` names one of your own that has the two verbs."""
    if name in registry.BASELINES:
        return registry.create(name, **options)
    if name not in NETWORKS and ":" not in name:
        raise TRNNError(f"The model must be one of {', '.join(names())}. Got {name!r} instead.")
    module, _, attribute = (NETWORKS[name][0] if name in NETWORKS else name).partition(":")
    try:
        make = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as e:
        raise TRNNError(f"A model of your own must be importable as module:Class. {name!r} is not ({e}).") from e
    return make(**options)


def label(name: str, period: str = "period") -> str:
    """The model as people call it, in charts, tables and sentences; a model of your own keeps its name.

    >>> label("persistence", "month"), label("relational_ar")
    ('last month repeated', 'relational autoregression')
    """
    return _about(name)[1].replace("{period}", period)


def describe(name: str, period: str = "period") -> str:
    """What the model is, in words."""
    return _about(name)[2].replace("{period}", period)


def _about(name: str) -> tuple[str, str, str]:
    return NETWORKS.get(name) or registry.BASELINES.get(name) or (name, name, name)


def is_baseline(name: str) -> bool:
    return name in registry.BASELINES
