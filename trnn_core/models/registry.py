"""The forecasters by name. A new one is one file and one line here; nothing heavy is imported before it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from trnn_core.errors import TRNNError
from trnn_core.models.forecast import Forecaster

# name -> where it lives, and what it is in words
BASELINES: dict[str, tuple[str, str]] = {
    "persistence": ("persistence:Persistence", "the last period repeated"),
    "mean": ("mean:HistoricalMean", "each dyad's historical mean"),
    "seasonal": ("seasonal:Seasonal", "the same period of the last season"),
    "ewma": ("ewma:FittedEWMA", "exponential smoothing, fitted per action"),
    "nb_ewma": ("nb_ewma:NegativeBinomialEWMA", "negative-binomial exponential smoothing, fitted per dyad"),
    "ar": ("ar:PooledAR", "pooled autoregression: own past, reciprocal act, other actions"),
    "relational_ar": ("ar:RelationalAR", "pooled autoregression with sender, receiver, world and transitive terms"),
    "mltr_additive": ("mltr:AdditiveMLTR", "Hoff's additive regression, each action by itself"),
    "mltr_bilinear": ("mltr:BilinearMLTR", "Hoff's bilinear regression, each action by itself"),
    "mltr_joint": ("mltr:JointMLTR", "Hoff's multilinear tensor regression, all actions jointly"),
    "mltr": ("mltr:RelationalMLTR", "Hoff's multilinear tensor regression with reciprocal and transitive slices"),
    "vector_lstm": ("vector:VectorLSTM", "an ordinary LSTM on the unfolded relations, size tuned"),
    "vector_gru": ("vector:VectorGRU", "an ordinary GRU on the unfolded relations, size tuned"),
}


def create(name: str, **options: Any) -> Forecaster:
    """A fresh, unfitted forecaster.

    >>> create("persistence").name
    'persistence'
    """
    if name not in BASELINES:
        raise TRNNError(f"The model must be one of {', '.join(BASELINES)}. Got {name!r} instead.")
    module, _, attribute = BASELINES[name][0].partition(":")
    return getattr(import_module(f"trnn_core.models.baselines.{module}"), attribute)(**options)


def describe(name: str) -> str:
    """The model in words."""
    return BASELINES[name][1] if name in BASELINES else name
