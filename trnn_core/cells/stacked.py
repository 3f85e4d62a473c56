"""Tucker maps of all gates at once, laid out so that every mode product is one large matrix product.

Inside the engine a batch of tensors lies as (m_1, ..., m_{D-1}, n, m_D): the batch n stands *before the last mode*.
Then the first mode product is a plain GEMM with the gates stacked in its rows, a middle one a GEMM for each leading
index, and the last one a GEMM with (m_1 ... m_{D-1} n) rows for each gate; the same holds for every product of the
backward pass, so that nothing is ever transposed or copied. Modes are ordered by size, the smallest first, because
the leading index of the middle products is what multiplies the number of calls.

Dimension letters: G gates, n batch entries, m_d sizes going in, k_d sizes coming out.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Factors = Sequence[Tensor]  # one (G, k_d, m_d) for each mode, in the layout's order


class Layout:
    """The order of modes inside the engine, and the way in and out of it.

    A single mode gets a companion of size one, so that there is always a first and a last mode.
    """

    def __init__(self, hidden_shape: Sequence[int]) -> None:
        self.order = tuple(sorted(range(len(hidden_shape)), key=lambda d: hidden_shape[d]))

    def inward(self, x: Tensor, n_leading: int = 1) -> Tensor:
        """(n..., m_1, ..., m_D) in natural order -> (m_p1, ..., n..., m_pD), contiguous."""
        modes = [n_leading + d for d in self.order]
        x = x.permute(*modes[:-1], *range(n_leading), modes[-1])
        return (x.unsqueeze(0) if len(modes) == 1 else x).contiguous()

    def outward(self, z: Tensor, n_leading: int = 1) -> Tensor:
        """The inverse of `inward`, as a view."""
        z = z.squeeze(0) if len(self.order) == 1 else z
        last = z.ndim - 1
        batch = [last - n_leading + i for i in range(n_leading)]
        where = {d: (p if p < len(self.order) - 1 else last) for p, d in enumerate(self.order)}
        return z.permute(*batch, *(where[d] for d in range(len(self.order))))

    def factors(self, factors: Sequence[Tensor]) -> list[Tensor]:
        """Factors of modes 1..D, each (G, k, m), in the engine's order."""
        ordered = [factors[d] for d in self.order]
        return [factors[0].new_ones(factors[0].shape[0], 1, 1), *ordered] if len(ordered) == 1 else ordered

    def bias(self, bias: Tensor) -> Tensor:
        """(G, h_1, ..., h_D) -> (G, h_p1, ..., 1, h_pD), ready to be added to a batch."""
        bias = bias.permute(0, *(1 + d for d in self.order)).unsqueeze(-2)
        return bias.unsqueeze(1) if len(self.order) == 1 else bias


def apply_factors(x: Tensor, factors: Factors) -> tuple[Tensor, list[Tensor]]:
    """x x_1 F_1 ... x_D F_D for all gates: (m_1, ..., n, m_D) -> (G, k_1, ..., n, k_D), and the products on the way."""
    first, *middle, last = factors
    n_gates, k, m = first.shape
    stages = []
    z = torch.mm(first.reshape(n_gates * k, m), x.reshape(m, -1))  # (G k_1, m_2 ... n m_D)
    leading = n_gates * k
    for factor in middle:
        stages.append(z)
        k, m = factor.shape[1:]
        z = torch.bmm(_repeat(factor, leading), z.view(leading, m, -1))
        leading *= k
        z = z.view(leading, -1)
    stages.append(z)
    k, m = last.shape[1:]
    z = torch.bmm(z.view(n_gates, -1, m), last.transpose(1, 2))
    return z.view(n_gates, *(f.shape[1] for f in factors[:-1]), -1, k), stages


def pull_back(grad: Tensor, x: Tensor, factors: Factors, stages: Sequence[Tensor], grads: list[Tensor]) -> Tensor:
    """Add the factors' gradients to `grads` (eq. 30, 31) and return the input's, summed over gates (eq. 29)."""
    z = pull_back_factors(grad, x, factors, stages, grads)
    return torch.mm(factors[0].reshape(z.shape[0], -1).T, z).view(x.shape)


def pull_back_factors(
    grad: Tensor, x: Tensor, factors: Factors, stages: Sequence[Tensor], grads: list[Tensor]
) -> Tensor:
    """Add the factors' gradients to `grads`; return dl/d(first mode product), (G k_1, m_2 ... n m_D)."""
    first, *middle, last = factors
    n_gates = first.shape[0]
    k, m = last.shape[1:]
    flat = grad.reshape(n_gates, -1, k)
    grads[-1].baddbmm_(flat.transpose(1, 2), stages[-1].view(n_gates, -1, m))
    z = torch.bmm(flat, last)
    leading = n_gates * first.shape[1]
    for factor in middle[:-1]:
        leading *= factor.shape[1]
    for d in range(len(middle), 0, -1):
        factor = middle[d - 1]
        k, m = factor.shape[1:]
        z = z.view(leading, k, -1)
        own = torch.bmm(z, stages[d - 1].view(leading, m, -1).transpose(1, 2))
        grads[d].add_(own.view(n_gates, -1, k, m).sum(1))
        z = torch.bmm(_repeat(factor, leading).transpose(1, 2), z)
        if d > 1:
            leading //= middle[d - 2].shape[1]
    n_rows = n_gates * first.shape[1]
    z = z.view(n_rows, -1)
    grads[0].view(n_rows, -1).addmm_(z, x.reshape(x.shape[0], -1).T)
    return z


def _repeat(factor: Tensor, leading: int) -> Tensor:
    """(G, k, m) -> (leading, k, m): one copy of the gate's factor for each index of the modes before it."""
    n_gates, k, m = factor.shape
    return factor.unsqueeze(1).expand(n_gates, leading // n_gates, k, m).reshape(leading, k, m)


class TuckerMap(torch.autograd.Function):
    """x x_1 U_1 ... x_D U_D + B for all gates, with eq. 30-32 as its backward pass."""

    @staticmethod
    def forward(ctx, x: Tensor, bias: Tensor | None, *factors: Tensor) -> Tensor:  # type: ignore[override]
        out, stages = apply_factors(x, factors)
        if bias is not None:
            out.add_(bias)
        ctx.save_for_backward(x, *factors, *stages)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor):  # type: ignore[override]
        x, *saved = ctx.saved_tensors
        factors, stages = saved[: x.ndim - 1], saved[x.ndim - 1 :]
        grads = [torch.zeros_like(f) for f in factors]
        z = pull_back_factors(grad, x, factors, stages, grads)
        grad_x = torch.mm(factors[0].reshape(z.shape[0], -1).T, z).view(x.shape) if ctx.needs_input_grad[0] else None
        grad_bias = grad.sum(-2, keepdim=True) if ctx.needs_input_grad[1] else None  # eq. 32, entry by entry
        return grad_x, grad_bias, *grads
