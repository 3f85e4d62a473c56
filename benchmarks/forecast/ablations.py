"""The recommended model with one part taken away or changed: what each part is worth. Named `module:function` in a
backtest.

Each function takes no arguments and gives an unfitted forecaster that is otherwise the recommended one.
"""

from __future__ import annotations

from trnn_core.models.dyad_training import TrainingPlan
from trnn_core.models.recommended import Parts, Recommended


def without_network() -> Recommended:
    """The relational autoregression and its noise, stated as the expected log1p: where the networks start."""
    return _named("without_network", Recommended(n_members=0))


def single_member() -> Recommended:
    """One network instead of three."""
    return _named("single_member", Recommended(n_members=1))


def without_relations() -> Recommended:
    """Only the dyad itself and its reverse: neither sender, receiver and world activity nor common partners."""
    return _named("without_relations", Recommended(parts=Parts(relational=False)))


def without_course() -> Recommended:
    """The recurrent cell sees the present period only."""
    return _named("without_course", Recommended(plan=TrainingPlan(window=1)))


def one_pass() -> Recommended:
    """Half the training: one pass over the data."""
    return _named("one_pass", Recommended(plan=TrainingPlan(epochs=10)))


ABLATIONS = {
    "without_network": "no network: the relational autoregression with its noise model, stated as the expected log1p",
    "single_member": "one network instead of three",
    "without_relations": (
        "no sender, receiver, world and common-partner inputs, neither in the networks nor in the linear model"
    ),
    "without_course": "the recurrent cell sees the present period only",
    "one_pass": "one pass over the data instead of two",
}


def _named(name: str, model: Recommended) -> Recommended:
    model.name = name
    return model
