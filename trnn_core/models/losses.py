"""The losses of eq. 14-18 under one interface: which steps count, and what each entry costs.

Raw predictions are on the scale of the likelihood's link: the value, a log rate, log-odds.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from trnn_core.cells.checks import check_lengths
from trnn_core.errors import TRNNError
from trnn_core.models.likelihoods import likelihood_of

Steps = Literal["last", "every"]
Reduction = Literal["mean", "sum"]


def entry_loss(likelihood: str, raw: Tensor, target: Tensor, **parameters: Tensor | None) -> Tensor:
    """The cost l of every entry, of the target's shape; see `likelihoods/`."""
    found = likelihood_of(likelihood)
    return found.cost(raw, target, **found.check_parameters(parameters))


def loss(
    likelihood: str,
    raw: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    reduction: Reduction = "mean",
    **parameters: Tensor | None,
) -> Tensor:
    """The loss over all entries, or over those where the mask is true (missing is not zero)."""
    found = likelihood_of(likelihood)
    if found.predicted_shape(raw, target) != target.shape:
        raise TRNNError(
            f"Predictions and targets must have the same shape. Got {tuple(raw.shape)} and {tuple(target.shape)}."
        )
    if reduction not in ("mean", "sum"):
        raise TRNNError(f"The reduction must be 'mean' or 'sum'. Got {reduction!r} instead.")
    if mask is not None:
        check_mask(mask)
        mask = mask.expand(target.shape)
    total = found.total(raw, target, mask, **found.check_parameters(parameters))
    if reduction == "sum":
        return total
    return total / (target.numel() if mask is None else mask.sum().clamp(min=1))


def check_mask(mask: Tensor) -> None:
    if mask.dtype != torch.bool:
        raise TRNNError(f"The mask must be boolean, true where a target counts. Got {mask.dtype}; use mask.bool().")


def sequence_loss(
    likelihood: str,
    raw: Tensor,
    target: Tensor,
    steps: Steps = "every",
    lengths: Tensor | None = None,
    reduction: Reduction = "sum",
    **parameters: Tensor | None,
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
        return loss(likelihood, raw[torch.arange(n_sequences), ends - 1], target, None, reduction, **parameters)
    if steps != "every":
        raise TRNNError(f"The steps that count must be 'last' or 'every'. Got {steps!r} instead.")
    mask = None
    if lengths is not None:
        within = (torch.arange(n_steps) < lengths.unsqueeze(1)).to(raw.device)
        mask = within.view(n_sequences, n_steps, *[1] * (target.ndim - 2)).expand(target.shape)
    return loss(likelihood, raw, target, mask, reduction, **parameters)
