"""The read-out and the squared loss in one pass: what a training step of the paper's own loss spends its time on.

The loss ends the computation, so each step's errors go forward and straight back while they are in the processor's
cache: predictions are never stored, the bias and the target are one tensor, and the factor 2 / n of the derivative is
applied to the small matrices instead of to the errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trnn_core.cells.stacked import StackedTucker


class Wanted(NamedTuple):
    """What the windows that start at `start` should predict; everything lies as (y_1, ..., weeks, y_D)."""

    targets: Tensor
    mask: Tensor | None  # one where a target counts, zero elsewhere
    steps: Sequence[int]  # the steps of a window that count
    start: int
    scale: float  # one over the number of entries that count in the whole batch


class SquaredReadout(torch.autograd.Function):
    """scale * sum (H_t x_1 V_1 ... x_D V_D + B - Y_t)^2 over steps (T, h_1, ..., n, h_D), eq. 15 and 16."""

    @staticmethod
    def forward(ctx, hiddens: Tensor, bias: Tensor, wanted: Wanted, *V: Tensor) -> Tensor:  # type: ignore[override]
        n = hiddens.shape[-2]
        first, last = wanted.start + wanted.steps[0], wanted.steps[-1] - wanted.steps[0] + n
        away = wanted.targets.narrow(-2, first, last) - bias.squeeze(0)  # Y - B, once for each week
        if wanted.mask is not None:
            away = torch.where(wanted.mask.narrow(-2, first, last) > 0, away, 0)
        tucker = StackedTucker(V)
        tucker.zero_grads()
        d_hiddens, d_bias = torch.empty_like(hiddens, dtype=V[0].dtype), torch.zeros_like(bias)
        total = hiddens.new_zeros(())
        for H, dH, step in zip(hiddens.unbind(0), d_hiddens.unbind(0), wanted.steps, strict=True):
            week = step - wanted.steps[0]
            error = tucker.apply(H, keep_as=0).squeeze(0).sub_(away.narrow(-2, week, n))
            if wanted.mask is not None:
                error.mul_(wanted.mask.narrow(-2, first + week, n))
            flat = error.view(-1)
            total += torch.dot(flat, flat)
            d_bias += error.sum(-2, keepdim=True)
            dH.copy_(
                tucker.pull_back_first(tucker.pull_back_to_first(error.unsqueeze(0), H, step=0), H, 2 * wanted.scale)
            )
        ctx.save_for_backward(
            d_hiddens, d_bias.mul_(2 * wanted.scale), *(g.mul_(2 * wanted.scale) for g in tucker.grads)
        )
        return total.mul_(wanted.scale)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor):  # type: ignore[override]
        d_hiddens, d_bias, *dV = ctx.saved_tensors
        if grad != 1:
            d_hiddens, d_bias, dV = d_hiddens * grad, d_bias * grad, [g * grad for g in dV]
        return d_hiddens, d_bias, None, *dV


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
