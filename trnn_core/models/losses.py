"""The losses of eq. 14-18 under one interface: which steps count, and what each entry costs.

Raw predictions are on the link scale: the value (squared), the log rate (Poisson, negative binomial), log-odds
(cross-entropy).
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from trnn_core.errors import TRNNError

Steps = Literal["last", "every"]


def entry_loss(likelihood: str, raw: Tensor, target: Tensor, log_dispersion: Tensor | None = None) -> Tensor:
    """The cost l of every entry, of the target's shape.

    squared            (y - raw)^2
    poisson            negative log likelihood with rate exp(raw)
    negative_binomial  the same with variance m + a m^2, m = exp(raw), a = exp(log_dispersion)
    cross_entropy      whole-number targets with one more axis of classes in raw: categorical; else 0..1: entry-wise
    """
    if likelihood == "squared":
        return (target - raw).square()
    if likelihood == "poisson":
        return raw.exp() - target * raw + torch.lgamma(target + 1)
    if likelihood == "negative_binomial":
        if log_dispersion is None:
            raise TRNNError(
                "The negative binomial loss needs the network's log_dispersion; pass log_dispersion=network.log_dispersion."
            )
        return _negative_binomial(raw, target, log_dispersion)
    if likelihood == "cross_entropy":
        if not target.is_floating_point() and raw.ndim == target.ndim + 1:
            return functional.cross_entropy(raw.movedim(-1, 1), target, reduction="none")
        return functional.binary_cross_entropy_with_logits(raw, target, reduction="none")
    raise TRNNError(
        f"The likelihood must be one of squared, poisson, negative_binomial, cross_entropy. Got {likelihood!r} instead."
    )


def _negative_binomial(raw: Tensor, target: Tensor, log_dispersion: Tensor) -> Tensor:
    size = torch.exp(-log_dispersion)  # r = 1 / a
    log_total = functional.softplus(raw + log_dispersion) - log_dispersion  # log(r + m), without overflow
    ways = torch.lgamma(target + size) - torch.lgamma(size) - torch.lgamma(target + 1)
    return -(ways + size * (-log_dispersion - log_total) + target * (raw - log_total))


def loss(
    likelihood: str,
    raw: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    reduction: Literal["mean", "sum"] = "mean",
    log_dispersion: Tensor | None = None,
) -> Tensor:
    """The loss over all entries, or over those where the mask is true (missing is not zero)."""
    if raw.shape[: target.ndim] != target.shape:
        raise TRNNError(
            f"Predictions and targets must have the same shape. Got {tuple(raw.shape)} and {tuple(target.shape)}."
        )
    if likelihood == "squared" and mask is None:
        return functional.mse_loss(raw, target, reduction=reduction)  # one pass less than the general way
    costs = entry_loss(likelihood, raw, target, log_dispersion)
    if mask is None:
        return costs.mean() if reduction == "mean" else costs.sum()
    total = torch.where(mask, costs, 0).sum()
    return total / mask.expand_as(costs).sum().clamp(min=1) if reduction == "mean" else total


def sequence_loss(
    likelihood: str,
    raw: Tensor,
    target: Tensor,
    steps: Steps = "every",
    lengths: Tensor | None = None,
    reduction: Literal["mean", "sum"] = "sum",
    log_dispersion: Tensor | None = None,
) -> Tensor:
    """The paper's overall losses for predictions (B, T, ...).

    steps    lengths   target            equation
    every    None      (1, T, ...)       14, single series
    last     None      (B, ...)          15, many-to-one
    every    None      (B, T, ...)       16, many-to-many
    last     (B,)      (B, ...)          17, panel, last step of each
    every    (B,)      (B, T, ...)       18, panel, every step of each

    >>> raw, target = torch.zeros(2, 3, 1), torch.ones(2, 3, 1)
    >>> sequence_loss("squared", raw, target, lengths=torch.tensor([3, 1])).item()
    4.0
    """
    n_sequences, n_steps = raw.shape[:2]
    if steps == "last":
        ends = torch.full((n_sequences,), n_steps) if lengths is None else torch.as_tensor(lengths)
        return loss(likelihood, raw[torch.arange(n_sequences), ends - 1], target, None, reduction, log_dispersion)
    if steps != "every":
        raise TRNNError(f"The steps that count must be 'last' or 'every'. Got {steps!r} instead.")
    mask = None
    if lengths is not None:
        within = torch.arange(n_steps) < torch.as_tensor(lengths).unsqueeze(1)
        mask = within.view(n_sequences, n_steps, *[1] * (target.ndim - 2)).expand(target.shape).to(raw.device)
    return loss(likelihood, raw, target, mask, reduction, log_dispersion)
