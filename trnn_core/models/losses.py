"""The losses of eq. 14-18 under one interface: which steps count, and what each entry costs.

Raw predictions are on the link scale: the value (squared), the log rate (Poisson, negative binomial), log-odds
(cross-entropy).
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from trnn_core.cells.checks import check_lengths
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
                "The negative binomial loss needs the network's log_dispersion; pass"
                " log_dispersion=network.log_dispersion."
            )
        return _negative_binomial(raw, target, log_dispersion)
    if likelihood == "cross_entropy":
        if _is_categorical(likelihood, raw, target):
            return functional.cross_entropy(raw.movedim(-1, 1), target.long(), reduction="none")
        return functional.binary_cross_entropy_with_logits(raw, target.to(raw.dtype), reduction="none")
    raise TRNNError(
        f"The likelihood must be one of squared, poisson, negative_binomial, cross_entropy. Got {likelihood!r} instead."
    )


def _is_categorical(likelihood: str, raw: Tensor, target: Tensor) -> bool:
    return likelihood == "cross_entropy" and not target.is_floating_point() and raw.ndim == target.ndim + 1


def _negative_binomial(raw: Tensor, target: Tensor, log_dispersion: Tensor) -> Tensor:
    """r = 1 / a; the log-odds of one more event are log(m / r) = raw + log_dispersion.

    The first term is a small difference of large numbers where a is small, hence in double precision.
    """
    size = torch.exp(-log_dispersion)
    log_odds = raw + log_dispersion
    n, r = target.double(), size.double()
    ways = (torch.lgamma(n + r) - torch.lgamma(r) - torch.lgamma(n + 1)).to(raw.dtype)
    return size * functional.softplus(log_odds) + target * functional.softplus(-log_odds) - ways


def loss(
    likelihood: str,
    raw: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    reduction: Literal["mean", "sum"] = "mean",
    log_dispersion: Tensor | None = None,
) -> Tensor:
    """The loss over all entries, or over those where the mask is true (missing is not zero)."""
    scored = raw.shape[:-1] if _is_categorical(likelihood, raw, target) else raw.shape
    if scored != target.shape:
        raise TRNNError(
            f"Predictions and targets must have the same shape. Got {tuple(raw.shape)} and {tuple(target.shape)}."
        )
    if reduction not in ("mean", "sum"):
        raise TRNNError(f"The reduction must be 'mean' or 'sum'. Got {reduction!r} instead.")
    if likelihood == "squared" and not target.requires_grad:
        if mask is not None:
            check_mask(mask)
            mask = mask.expand(target.shape)
        total = SquaredError.apply(raw, target, mask)
        if reduction == "sum":
            return total
        return total / (target.numel() if mask is None else mask.sum().clamp(min=1))
    if mask is None:
        costs = entry_loss(likelihood, raw, target, log_dispersion)
        return costs.mean() if reduction == "mean" else costs.sum()
    check_mask(mask)
    # What does not count may be NaN. It is taken out before the cost: zero times NaN is NaN in the gradient.
    mask = mask.expand(target.shape)
    costs = entry_loss(likelihood, raw, torch.where(mask, target, 0), log_dispersion)
    total = torch.where(mask, costs, 0).sum()
    return total / mask.sum().clamp(min=1) if reduction == "mean" else total


class SquaredError(torch.autograd.Function):
    """The sum of squared errors where the mask is true, keeping nothing but the errors: training spends its passes
    here."""

    @staticmethod
    def forward(ctx, raw: Tensor, target: Tensor, mask: Tensor | None) -> Tensor:  # type: ignore[override]
        error = raw - target
        if mask is not None:
            error = torch.where(mask, error, 0)
        ctx.save_for_backward(error)
        flat = error.reshape(-1)
        return torch.dot(flat, flat)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor):  # type: ignore[override]
        (error,) = ctx.saved_tensors
        return error * (2 * grad), None, None


def check_mask(mask: Tensor) -> None:
    if mask.dtype != torch.bool:
        raise TRNNError(f"The mask must be boolean, true where a target counts. Got {mask.dtype}; use mask.bool().")


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
    lengths = check_lengths(lengths, n_sequences, n_steps)
    if steps == "last":
        ends = torch.full((n_sequences,), n_steps) if lengths is None else lengths
        return loss(likelihood, raw[torch.arange(n_sequences), ends - 1], target, None, reduction, log_dispersion)
    if steps != "every":
        raise TRNNError(f"The steps that count must be 'last' or 'every'. Got {steps!r} instead.")
    mask = None
    if lengths is not None:
        within = (torch.arange(n_steps) < lengths.unsqueeze(1)).to(raw.device)
        mask = within.view(n_sequences, n_steps, *[1] * (target.ndim - 2)).expand(target.shape)
    return loss(likelihood, raw, target, mask, reduction, log_dispersion)
