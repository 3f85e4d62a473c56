"""Gradients of a network made ready, and the step of Adam: what every training here takes.

Torch's own functions `adam` and `adamw` take the step. Its optimiser objects are left aside: making the first of them
loads 800 modules of the compiler, which takes as long as loading torch (measured) and would be paid by every job.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch.optim.adam import adam
from torch.optim.adamw import adamw

EPSILON = 1e-8  # as torch.optim


def gradients_of(parameters: Iterable[Tensor]) -> list[Tensor]:
    """Gradients laid out in memory as their parameters are: the fused kernels read both by position alone."""
    found = []
    for weight in parameters:
        assert weight.grad is not None
        if weight.grad.stride() != weight.stride():
            weight.grad = torch.empty_like(weight).copy_(weight.grad)
        found.append(weight.grad)
    return found


@torch.no_grad()
def clip(gradients: Sequence[Tensor], longest: float | None) -> float:
    """The norm of the whole gradient, which is then shortened to the longest allowed, unless it is not finite."""
    norms = torch.stack([torch.linalg.vector_norm(gradient) for gradient in gradients])
    norm = norms.square().sum().sqrt().item()
    if longest is not None and longest < norm < math.inf:
        for gradient in gradients:
            gradient.mul_(longest / norm)
    return norm


@torch.no_grad()
def adam_step(
    parameters: Sequence[Tensor],
    moments: tuple[list[Tensor], list[Tensor], list[Tensor]],
    lr: float,
    betas: tuple[float, float],
    weight_decay: float,
    *,
    decoupled: bool,
) -> None:
    """Adam, or AdamW if the decay is decoupled; `moments` are the first, the second and the steps taken, in place."""
    first, second, steps = moments
    step = adamw if decoupled else adam
    step(
        list(parameters),
        gradients_of(parameters),
        first,
        second,
        [],
        steps,
        fused=True,
        amsgrad=False,
        beta1=betas[0],
        beta2=betas[1],
        lr=lr,
        weight_decay=weight_decay,
        eps=EPSILON,
        maximize=False,
    )
