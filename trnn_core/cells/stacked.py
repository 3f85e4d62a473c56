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
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trnn_core.cells.products import Array, matmul, native, quiet, tensor

KEPT_ENTRIES = 2_000_000  # entries of one mode product of all gates, 8 MB in float32


class Layout:
    """The order of modes inside the engine, and the way in and out of it.

    A single mode gets a companion of size one, so that there is always a first and a last mode.
    """

    def __init__(self, hidden_shape: Sequence[int]) -> None:
        self.format: torch.dtype | None = None  # that factors are rounded to; None leaves them as they are
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
        ordered = [factors[d].to(self.format or factors[d].dtype) for d in self.order]
        return [ordered[0].new_ones(ordered[0].shape[0], 1, 1), *ordered] if len(ordered) == 1 else ordered

    def bias(self, bias: Tensor) -> Tensor:
        """(G, h_1, ..., h_D) -> (G, h_p1, ..., 1, h_pD), ready to be added to a batch."""
        bias = bias.permute(0, *(1 + d for d in self.order)).unsqueeze(-2)
        return bias.unsqueeze(1) if len(self.order) == 1 else bias


class Product(NamedTuple):
    """The memory of one mode product, seen in two ways."""

    result: Array  # as it is computed: (G k_1, m_2 ... n m_D) behind the first factor, else (G, L, k_d, m ...)
    operand: Array  # as the next factor reads it: (G, L k_d, m, ...), or (G, L, k_d n, m_D) for the last


class StackedTucker:
    """x x_1 F_1 ... x_D F_D for all gates at once, and its derivatives, for factors (G, k_d, m_d) in layout order.

    The factors' gradients add up in `grads` over any number of calls, so that a sweep through time has one sum. The
    products on the way are kept for the backward pass where the batch is small; those of a large batch would fill the
    memory and are computed again there. L counts the leading indices k_1 ... k_{d-1} that share a factor: each is a
    product of its own, small enough for the kernels that are best at it. Factors in bfloat16 make a `MixedTucker`.
    """

    def __new__(cls, factors: Sequence[Tensor]) -> StackedTucker:
        if factors[0].dtype == torch.bfloat16:
            from trnn_core.cells.mixed import MixedTucker

            cls = MixedTucker
        return super().__new__(cls)

    def __init__(self, factors: Sequence[Tensor]) -> None:
        self._factors = factors
        first, *middle, last = (native(f.contiguous()) for f in factors)
        self.n_gates = len(first)
        self.out_modes = [f.shape[1] for f in factors[:-1]]
        self.n_leading = prod(self.out_modes[:-1])
        self.first = first.reshape(-1, first.shape[2])  # (G k_1, m_1): the gates are the rows of one matrix
        self.middle = [f[:, None] for f in middle]  # (G, 1, k_d, m_d)
        self.last = last[:, None]
        self.last_T = native(factors[-1].transpose(1, 2).contiguous())[:, None]
        self._memory: list[Product] = []
        self._kept: dict[int, list[Product]] = {}

    @quiet
    def apply(self, x: Tensor, keep_as: int | None = None) -> Tensor:
        """(m_1, ..., n, m_D) -> (G, k_1, ..., n, k_D); the step `keep_as` will be pulled back by that number."""
        products = self._products(native(x))
        z = products[-1].operand
        if keep_as is not None and prod(z.shape) <= KEPT_ENTRIES:
            self._kept[keep_as], self._memory = products, []
        out = x.new_empty(self.n_gates, *self.out_modes, x.shape[-2], self.last.shape[2])
        matmul(z, self.last_T, native(out).reshape(*z.shape[:3], -1))
        return out

    def _products(self, x: Array) -> list[Product]:
        """x x_1 F_1, x x_1 F_1 x_2 F_2, ..., all but the last; valid until the next call."""
        flat = x.reshape(len(x), -1)
        if not self._memory or self._memory[0].result.shape[1] != flat.shape[1]:
            self._memory = self._make_memory(flat.shape[1])
        matmul(self.first, flat, self._memory[0].result)
        for factor, before, after in zip(self.middle, self._memory, self._memory[1:], strict=False):
            matmul(factor, before.operand, after.result)
        return self._memory

    def _make_memory(self, n_columns: int) -> list[Product]:
        made: list[Product] = []
        shape: tuple[int, ...] = (len(self.first), n_columns)
        for factor in self.middle:
            z, (k, m) = self._empty(shape), factor.shape[2:]
            n_columns //= m
            made.append(Product(z, z.reshape(self.n_gates, -1, m, n_columns)))
            shape = (*made[-1].operand.shape[:2], k, n_columns)
        z = self._empty(shape)
        return [*made, Product(z, z.reshape(self.n_gates, self.n_leading, -1, self.last.shape[3]))]

    def _empty(self, shape: tuple[int, ...]) -> Array:
        return native(self._factors[0].new_empty(shape))

    def zero_grads(self) -> None:
        self._grads = [0.0] * len(self._factors)  # with the leading indices L still to be summed over

    @quiet
    def pull_back_to_first(self, grad: Tensor, x: Tensor, step: int | None = None) -> Array:
        """Add the factors' gradients (eq. 30, 31); return dl/d(first mode product), (G k_1, m_2 ... n m_D).

        Each product's gradient takes the place of the product as soon as that has been used. The products are
        computed again unless those of this step were kept.
        """
        inner = native(x)
        products = self._kept.pop(step) if step in self._kept else self._products(inner)
        z = products[-1].operand
        flat = native(grad).reshape(*z.shape[:3], -1)
        self._grads[-1] += matmul(flat.swapaxes(2, 3), z)
        matmul(flat, self.last, z)
        for d in reversed(range(len(self.middle))):
            before, after = products[d].operand, products[d + 1].result
            self._grads[d + 1] += matmul(after, before.swapaxes(2, 3))
            matmul(self.middle[d].swapaxes(2, 3), after, before)
        self._grads[0] += matmul(products[0].result, inner.reshape(len(inner), -1).T)
        return products[0].result

    def pull_back(self, grad: Tensor, x: Tensor, step: int | None = None) -> Tensor:
        """Add the factors' gradients and return the input's, summed over gates (eq. 29)."""
        return self.pull_back_first(self.pull_back_to_first(grad, x, step), x)

    @quiet
    def pull_back_first(self, grad: Array, x: Tensor, scale: float = 1.0) -> Tensor:
        """dl/d(first mode product) -> dl/dx, summed over gates, times a number."""
        return tensor(matmul(self.first.T * scale, grad)).view(x.shape)

    @property
    def grads(self) -> list[Tensor]:
        """The sums so far, each of its factor's shape (G, k_d, m_d)."""
        first, *others = self._grads
        if isinstance(first, float):
            return [torch.zeros_like(f) for f in self._factors]
        return [tensor(first).view_as(self._factors[0]), *(tensor(g).sum(1) for g in others)]


class TuckerMap(torch.autograd.Function):
    """x x_1 U_1 ... x_D U_D + B for all gates, with eq. 30-32 as its backward pass."""

    @staticmethod
    def forward(ctx, x: Tensor, bias: Tensor | None, *factors: Tensor) -> Tensor:  # type: ignore[override]
        ctx.tucker = StackedTucker(factors)
        out = ctx.tucker.apply(x, keep_as=0)
        if bias is not None:
            out.add_(bias)
        ctx.save_for_backward(x, *factors)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor):  # type: ignore[override]
        x, *_ = ctx.saved_tensors
        tucker = ctx.tucker
        tucker.zero_grads()
        z = tucker.pull_back_to_first(grad, x, step=0)
        grad_x = tucker.pull_back_first(z, x) if ctx.needs_input_grad[0] else None
        grad_bias = grad.sum(-2, keepdim=True) if ctx.needs_input_grad[1] else None  # eq. 32, entry by entry
        return grad_x, grad_bias, *tucker.grads
