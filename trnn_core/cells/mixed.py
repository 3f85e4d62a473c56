"""Tucker maps in bfloat16 with float32 around them: what mixed precision does to a network, all in one place.

Only the matrix products are rounded (a graphics card has fast units for them); what goes in and comes out, and the
factors' gradients, which add up over the steps, stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from trnn_core.cells.stacked import StackedTucker

ROUNDED = torch.bfloat16  # as wide a range as float32, so that no loss has to be scaled


class MixedTucker(StackedTucker):
    """A `StackedTucker` for factors in bfloat16 and all else in float32."""

    def __init__(self, factors: Sequence[Tensor]) -> None:
        super().__init__(factors)
        self._sums: list[Tensor] = []

    def apply(self, x: Tensor, keep_as: int | None = None) -> Tensor:
        return super().apply(x.to(ROUNDED), keep_as).to(x.dtype)

    def zero_grads(self) -> None:
        self._sums = [torch.zeros_like(f, dtype=torch.float32) for f in self._factors]

    def pull_back_to_first(self, grad: Tensor, x: Tensor, step: int | None = None) -> Tensor:
        super().zero_grads()
        z = super().pull_back_to_first(grad.to(ROUNDED), x.to(ROUNDED), step)
        for total, found in zip(self._sums, super().grads, strict=True):
            total.add_(found)
        return z

    def pull_back(self, grad: Tensor, x: Tensor, step: int | None = None) -> Tensor:
        return super().pull_back(grad, x, step).to(x.dtype)

    @property
    def grads(self) -> list[Tensor]:
        return self._sums
