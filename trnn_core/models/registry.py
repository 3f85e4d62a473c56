"""The forecasters by name. A new one is one file and one line here; nothing heavy is imported before it is asked
for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from trnn_core.errors import TRNNError
from trnn_core.models.forecast import Forecaster

# name -> where it lives, its label, and what it is in words; the {period} is that of the data
BASELINES: dict[str, tuple[str, str, str]] = {
    "persistence": ("persistence:Persistence", "last {period} repeated", "the last {period} repeated"),
    "mean": ("mean:HistoricalMean", "long-run mean", "each dyad's historical mean"),
    "seasonal": ("seasonal:Seasonal", "last season repeated", "the same {period} of the last season"),
    "ewma": ("ewma:FittedEWMA", "smoothed past", "exponential smoothing, fitted per action"),
    "nb_ewma": (
        "nb_ewma:NegativeBinomialEWMA",
        "smoothed past by pair",
        "negative-binomial exponential smoothing, fitted per dyad",
    ),
    "ar": ("ar:PooledAR", "autoregression", "pooled autoregression: own past, reciprocal act, other actions"),
    "relational_ar": (
        "ar:RelationalAR",
        "relational autoregression",
        "pooled autoregression with sender, receiver, world and transitive terms",
    ),
    "mltr_additive": (
        "mltr:AdditiveMLTR",
        "Hoff's regression (additive)",
        "Hoff's additive regression, each action by itself",
    ),
    "mltr_bilinear": (
        "mltr:BilinearMLTR",
        "Hoff's regression (bilinear)",
        "Hoff's bilinear regression, each action by itself",
    ),
    "mltr_joint": (
        "mltr:JointMLTR",
        "Hoff's regression (joint)",
        "Hoff's multilinear tensor regression, all actions jointly",
    ),
    "mltr": (
        "mltr:RelationalMLTR",
        "Hoff's regression (relational)",
        "Hoff's multilinear tensor regression with reciprocal and transitive slices",
    ),
    "vector_lstm": ("vector:VectorLSTM", "ordinary LSTM", "an ordinary LSTM on the unfolded relations, size tuned"),
    "vector_gru": ("vector:VectorGRU", "ordinary GRU", "an ordinary GRU on the unfolded relations, size tuned"),
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
