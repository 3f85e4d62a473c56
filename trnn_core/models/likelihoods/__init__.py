"""The likelihoods there are, for forms, networks and forecasts alike: what a network's loss l (eq. 14-18) can be.

A new one is one file in this folder and one line here. No torch before a loss is computed.
"""

from __future__ import annotations

from trnn_core.errors import TRNNError
from trnn_core.models.likelihoods.cross_entropy import CrossEntropy
from trnn_core.models.likelihoods.likelihood import Likelihood
from trnn_core.models.likelihoods.negative_binomial import NegativeBinomialLoss
from trnn_core.models.likelihoods.poisson import Poisson
from trnn_core.models.likelihoods.squared import Squared

LIKELIHOODS: dict[str, Likelihood] = {
    "squared": Squared(),
    "poisson": Poisson(),
    "negative_binomial": NegativeBinomialLoss(),
    "cross_entropy": CrossEntropy(),
}


def likelihood_of(name: str) -> Likelihood:
    if name not in LIKELIHOODS:
        raise TRNNError(f"The likelihood must be one of {', '.join(LIKELIHOODS)}. Got {name!r} instead.")
    return LIKELIHOODS[name]
