"""Likelihood: the cost of a prediction, what it is a prediction of (its link), and the words for both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trnn_core.errors import TRNNError
from trnn_core.models.likelihoods.link_functions import Identity

if TYPE_CHECKING:
    from torch import Tensor


class Likelihood:
    """One loss l of eq. 14-18. A subclass names itself and writes `cost`; all else has a default.

    name        as in settings and files
    label       in a sentence: "the ... loss"
    loss_words  what the losses of a run are measured in; {transform} is the scale of the data
    link        what a raw prediction stands for
    parameters  what is learnt beside the network, one number for each action, starting at zero
    """

    name: str
    label: str
    loss_words: str
    link: Identity = Identity()
    parameters: tuple[str, ...] = ()

    def cost(self, raw: Tensor, target: Tensor, **parameters: Tensor) -> Tensor:
        """The cost of every entry, of the target's shape."""
        raise NotImplementedError

    def total(self, raw: Tensor, target: Tensor, mask: Tensor | None, **parameters: Tensor) -> Tensor:
        """The summed cost of all entries, or of those where the mask is true.

        What does not count may be NaN. It is taken out before the cost: zero times NaN is NaN in the gradient.
        """
        if mask is None:
            return self.cost(raw, target, **parameters).sum()
        costs = self.cost(raw, target.masked_fill(~mask, 0), **parameters)
        return costs.masked_fill(~mask, 0).sum()

    def predicted_shape(self, raw: Tensor, target: Tensor) -> tuple[int, ...]:
        """The shape that the targets must have."""
        return tuple(raw.shape)

    def fused_readout(self) -> Any:
        """An autograd function of read-out and loss in one pass, where there is one."""
        return None

    @property
    def scored(self) -> bool:
        """Whether a backtest, which scores counts or values, can score its forecasts."""
        return not self.link.chance

    def check_parameters(self, given: dict[str, Tensor | None]) -> dict[str, Tensor]:
        """Those that the cost asks for."""
        found = {name: value for name, value in given.items() if name in self.parameters and value is not None}
        for name in self.parameters:
            if name not in found:
                raise TRNNError(f"The {self.label} loss needs the network's {name}; pass {name}=network.{name}.")
        return found
