"""Negative binomial counts: the Poisson's likelihood with variance m + a m^2, m = exp(raw), a = exp(log_dispersion)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnn_core.models.likelihoods.likelihood import Likelihood
from trnn_core.models.likelihoods.link_functions import Log

if TYPE_CHECKING:
    from torch import Tensor


class NegativeBinomialLoss(Likelihood):
    name = "negative_binomial"
    label = "negative binomial"
    loss_words = "mean negative binomial log-likelihood of the counts"
    link = Log()
    parameters = ("log_dispersion",)

    def cost(self, raw: Tensor, target: Tensor, **parameters: Tensor) -> Tensor:
        """r = 1 / a; the log-odds of one more event are log(m / r) = raw + log_dispersion.

        The log of the coefficients is a small difference of large numbers where a is small, hence in double precision.
        """
        from torch.nn.functional import softplus

        log_dispersion = parameters["log_dispersion"]
        size, log_odds = (-log_dispersion).exp(), raw + log_dispersion
        n, r = target.double(), size.double()
        log_coefficients = ((n + r).lgamma() - r.lgamma() - (n + 1).lgamma()).to(raw.dtype)
        return size * softplus(log_odds) + target * softplus(-log_odds) - log_coefficients
