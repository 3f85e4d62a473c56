"""Poisson counts with rate exp(raw): the negative log-likelihood."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnn_core.models.likelihoods.likelihood import Likelihood
from trnn_core.models.likelihoods.link_functions import Log

if TYPE_CHECKING:
    from torch import Tensor


class Poisson(Likelihood):
    name = "poisson"
    label = "Poisson"
    loss_words = "mean negative Poisson log-likelihood of the counts"
    link = Log()

    def cost(self, raw: Tensor, target: Tensor, **parameters: Tensor) -> Tensor:
        return raw.exp() - target * raw + (target + 1).lgamma()
