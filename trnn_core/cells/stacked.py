"""Tucker maps of all gates at once, laid out so that every mode product is one large matrix product.

Inside the engine a batch of tensors lies as (m_1, ..., m_{D-1}, n, m_D): the batch n stands *before the last mode*.
Then the first mode product is a plain GEMM with the gates stacked in its rows, a middle one a GEMM for each leading
index, and the last one a GEMM with (m_1 ... m_{D-1} n) rows for each gate; the same holds for every product of the
backward pass, so that nothing is ever transposed or copied. Modes are ordered by size, the smallest first, because
the leading index of the middle products is what multiplies the number of calls.

Matrix products are fastest where the rows of their result fill whole vector registers: (3416 x 14)(14 x 14) runs at half
the rate of (3416 x 16)(16 x 16). So the last mode of a hidden state gets a few zeros behind it where that is nearly for
nothing (`spare_entries`), and so do the sums behind a middle factor's gradient. Factors are zero there too: what stands
in the spare entries never reaches the others.

Dimension letters: G gates, n batch entries, m_d sizes going in, k_d sizes coming out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

KEPT_ENTRIES = 2_000_000  # entries of one mode product of all gates, 8 MB in float32
REGISTER = 16  # float32 numbers in a vector register of 512 bits


def spare_entries(size: int) -> int:
    """How many zeros make a mode of this size a multiple of a register, where they are at most a seventh of it.

    >>> [spare_entries(size) for size in (4, 13, 14, 16, 25, 30, 50)]
    [0, 0, 2, 0, 0, 2, 0]
    """
    spare = -size % REGISTER
    return spare if 7 * spare <= size else 0


class Layout:
    """The order of modes inside the engine, and the way in and out of it.

    A single mode gets a companion of size one, so that there is always a first and a last mode.
    """

    def __init__(self, hidden_shape: Sequence[int]) -> None:
        self.format: torch.dtype | None = None  # that factors are rounded to; None leaves them as they are
        self.order = tuple(sorted(range(len(hidden_shape)), key=lambda d: hidden_shape[d]))
        self.spare = spare_entries(hidden_shape[self.order[-1]])

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

    def inward_state(self, H: Tensor) -> Tensor:
        """A hidden state's way in: with zeros in its spare entries."""
        return self.widen(self.inward(H), -1)

    def outward_state(self, z: Tensor, n_leading: int = 1) -> Tensor:
        """The inverse of `inward_state`, as a view."""
        return self.outward(z[..., : z.shape[-1] - self.spare], n_leading)

    def widen(self, z: Tensor, *axes: int) -> Tensor:
        """Zeros behind the last or the last but one axis, or both, for the spare entries of the hidden's last mode."""
        if not self.spare or not axes:
            return z
        return functional.pad(z, [n for axis in (-1, -2) for n in (0, self.spare if axis in axes else 0)])

    def factors(self, factors: Sequence[Tensor]) -> list[Tensor]:
        """Factors of modes 1..D, each (G, k, m), in the engine's order."""
        ordered = [factors[d].to(self.format or factors[d].dtype) for d in self.order]
        return [ordered[0].new_ones(ordered[0].shape[0], 1, 1), *ordered] if len(ordered) == 1 else ordered

    def bias(self, bias: Tensor) -> Tensor:
        """(G, h_1, ..., h_D) -> (G, h_p1, ..., 1, h_pD), ready to be added to a batch."""
        bias = bias.permute(0, *(1 + d for d in self.order)).unsqueeze(-2)
        return bias.unsqueeze(1) if len(self.order) == 1 else bias


class Product(NamedTuple):
    """The memory of one mode product, seen in three ways; c counts its columns m_{d+1} ... n m_D."""

    result: Tensor  # as it is computed: (G k_1, m c) behind the first factor, (G ... k_{d-1}, k_d, m c) behind another
    operand: Tensor  # as the next factor reads it: (G ... k_d, m, c)
    whole: Tensor  # the operand with spare rows of zeros behind m


class StackedTucker:
    """x x_1 F_1 ... x_D F_D for all gates at once, and its derivatives, for factors (G, k_d, m_d) in layout order.

    The factors' gradients add up in `grads` over any number of calls, so that a sweep through time has one sum. The
    products on the way are kept for the backward pass where the batch is small; those of a large batch would fill the
    memory and are computed again there. Factors in bfloat16 make a `MixedTucker`.
    """

    def __new__(cls, factors: Sequence[Tensor]) -> StackedTucker:
        if factors[0].dtype == torch.bfloat16:
            from trnn_core.cells.mixed import MixedTucker

            cls = MixedTucker
        return super().__new__(cls)

    def __init__(self, factors: Sequence[Tensor]) -> None:
        first, *middle, last = factors
        self.n_gates = first.shape[0]
        self.out_modes = [f.shape[1] for f in factors[:-1]]
        self.first = first.reshape(-1, first.shape[2])  # (G k_1, m_1): the gates are the rows of one matrix
        self.middle = []  # (G k_1 ... k_{d-1}, k_d, m_d): one copy for each index of the modes before
        leading = self.first.shape[0]
        for factor in middle:
            self.middle.append(factor.repeat_interleave(leading // self.n_gates, dim=0))
            leading *= factor.shape[1]
        self.last = last
        self._factors = factors
        self._memory: list[Product] = []
        self._kept: dict[int, list[Product]] = {}

    def apply(self, x: Tensor, keep_as: int | None = None) -> Tensor:
        """(m_1, ..., n, m_D) -> (G, k_1, ..., n, k_D); the step `keep_as` will be pulled back by that number."""
        products = self._products(x)
        if keep_as is not None and products[-1].whole.numel() <= KEPT_ENTRIES:
            self._kept[keep_as], self._memory = products, []
        z = torch.bmm(products[-1].operand, self.last.transpose(1, 2))
        return z.view(self.n_gates, *self.out_modes, -1, self.last.shape[1])

    def subtract_from(self, out: Tensor, x: Tensor) -> None:
        """out (G, k_1, ..., n, k_D) becomes the map of x minus out, to be pulled back next, as step 0."""
        products = self._kept[0] = self._products(x)
        flat = out.view(self.n_gates, -1, self.last.shape[1])
        flat.baddbmm_(products[-1].operand, self.last.transpose(1, 2), beta=-1)

    def _products(self, x: Tensor) -> list[Product]:
        """x x_1 F_1, x x_1 F_1 x_2 F_2, ..., all but the last; valid until the next call."""
        flat = x.reshape(x.shape[0], -1)
        if not self._memory or self._memory[0].result.shape[1] != flat.shape[1]:
            self._memory = self._make_memory(flat)
        torch.mm(self.first, flat, out=self._memory[0].result)
        for factor, before, after in zip(self.middle, self._memory, self._memory[1:], strict=False):
            torch.bmm(factor, before.operand, out=after.result)
        return self._memory

    def _make_memory(self, flat: Tensor) -> list[Product]:
        made, rows, columns = [], self.first.shape[:1], flat.shape[1]
        for factor in self.middle:
            leading, _, m = factor.shape
            columns, wide = columns // m, m + spare_entries(m)
            whole = flat.new_empty(leading, wide, columns)
            whole[:, m:] = 0
            made.append(Product(whole.view(*rows, -1)[..., : m * columns], whole[:, :m], whole))
            rows = factor.shape[:2]
        z = flat.new_empty(*rows, columns)
        return [*made, Product(z, z.view(self.n_gates, -1, self.last.shape[2]), z)]

    def zero_grads(self) -> None:
        self._last_grad = torch.zeros_like(self.last)
        self._middle_grads = [f.new_zeros(*f.shape[:2], f.shape[2] + spare_entries(f.shape[2])) for f in self.middle]
        self._first_grad = torch.zeros_like(self.first)

    def pull_back_to_first(self, grad: Tensor, x: Tensor, step: int | None = None) -> Tensor:
        """Add the factors' gradients (eq. 30, 31); return dl/d(first mode product), (G k_1, m_2 ... n m_D).

        Each product's gradient takes the place of the product as soon as that has been used. The products are
        computed again unless those of this step were kept.
        """
        products = self._kept.pop(step) if step in self._kept else self._products(x)
        flat, z = grad.reshape(self.n_gates, -1, self.last.shape[1]), products[-1].operand
        self._last_grad.baddbmm_(flat.transpose(1, 2), z)
        torch.bmm(flat, self.last, out=z)
        for d in reversed(range(len(self.middle))):
            before, after = products[d], products[d + 1].result
            self._middle_grads[d].baddbmm_(after, before.whole.transpose(1, 2))
            torch.bmm(self.middle[d].transpose(1, 2), after, out=before.operand)
        self._first_grad.addmm_(products[0].result, x.reshape(x.shape[0], -1).T)
        return products[0].result

    def pull_back(self, grad: Tensor, x: Tensor, step: int | None = None) -> Tensor:
        """Add the factors' gradients and return the input's, summed over gates (eq. 29)."""
        return torch.mm(self.first.T, self.pull_back_to_first(grad, x, step)).view(x.shape)

    @property
    def grads(self) -> list[Tensor]:
        """The sums so far, each of its factor's shape (G, k_d, m_d)."""
        middle = [
            g[..., : f.shape[2]].reshape(self.n_gates, -1, *f.shape[1:]).sum(1)
            for g, f in zip(self._middle_grads, self.middle, strict=True)
        ]
        return [self._first_grad.view_as(self._factors[0]), *middle, self._last_grad]


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
        grad_x = torch.mm(tucker.first.T, z).view(x.shape) if ctx.needs_input_grad[0] else None
        grad_bias = grad.sum(-2, keepdim=True) if ctx.needs_input_grad[1] else None  # eq. 32, entry by entry
        return grad_x, grad_bias, *tucker.grads
