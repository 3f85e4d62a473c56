"""Squared error: (y - raw)^2, the paper's own loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trnn_core.models.likelihoods.likelihood import Likelihood

if TYPE_CHECKING:
    from torch import Tensor


class Squared(Likelihood):
    name = "squared"
    label = "squared"
    loss_words = "mean squared error on the scale of '{transform}'"

    def cost(self, raw: Tensor, target: Tensor, **parameters: Tensor) -> Tensor:
        return (target - raw).square()

    def total(self, raw: Tensor, target: Tensor, mask: Tensor | None, **parameters: Tensor) -> Tensor:
        if target.requires_grad:
            return super().total(raw, target, mask)
        from trnn_core.models.squared_readout import SquaredError

        return SquaredError.apply(raw, target, mask)

    def fused_readout(self) -> Any:
        from trnn_core.models.squared_readout import SquaredReadout

        return SquaredReadout
