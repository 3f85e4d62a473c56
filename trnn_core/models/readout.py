"""The extra layer from H_t to the response Y_t: a Tucker map for a tensor of the same order, else a full linear map."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor, nn

from trnn_core.cells.stacked import Layout, TuckerMap
from trnn_core.cells.tensor_cell import init_factor


class TensorReadout(nn.Module):
    """H in the engine's layout (h_1, ..., n, h_D) -> response, with the batch n again before the last axis.

    A response with as many modes as H is H x_1 V_1 ... x_D V_D + B, (y_1, ..., n, y_D). A scalar (output_shape ()), a
    vector, or a tensor of any other order is a linear map of all entries of H, (n, entries). `inward` and `outward`
    lead from (n, *output_shape) to that form and back.

    >>> layout = Layout((3, 3, 2))
    >>> H = layout.inward(torch.zeros(8, 3, 3, 2))
    >>> for shape in ((5, 5, 4), (6,), ()):
    ...     readout = TensorReadout(layout, (3, 3, 2), shape)
    ...     print(tuple(readout.outward(readout(H)).shape))
    (8, 5, 5, 4)
    (8, 6)
    (8,)
    """

    def __init__(
        self, layout: Layout, hidden_shape: Sequence[int], output_shape: Sequence[int], init: str = "glorot"
    ) -> None:
        super().__init__()
        self.layout, self.init = layout, init
        self.hidden_shape, self.output_shape = tuple(hidden_shape), tuple(output_shape)
        self.is_tucker = len(self.output_shape) == len(self.hidden_shape)
        if self.is_tucker:
            for d, (y, h) in enumerate(zip(self.output_shape, self.hidden_shape, strict=True), start=1):
                self.register_parameter(f"V{d}", nn.Parameter(torch.empty(1, y, h)))
        else:
            self.V = nn.Parameter(torch.empty(prod(self.output_shape), prod(self.hidden_shape)))
        self.B = nn.Parameter(torch.empty(1, *self.output_shape))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        for name, parameter in self.named_parameters():
            if name == "B":
                parameter.zero_()
            else:
                init_factor(parameter[0] if parameter.ndim == 3 else parameter, self.init, generator)

    def forward(self, H: Tensor) -> Tensor:
        if self.is_tucker:
            V, bias = self.parts()
            return TuckerMap.apply(H, bias, *V).squeeze(0)  # one gate
        return torch.addmm(self.B.reshape(1, -1), self.layout.outward(H).flatten(1), self.V.T)

    def parts(self) -> tuple[list[Tensor], Tensor]:
        """The factors V and the bias of a Tucker map in the engine's order, as of one gate."""
        V = self.layout.factors([getattr(self, f"V{d + 1}") for d in range(len(self.hidden_shape))])
        return V, self.layout.bias(self.B)

    def inward(self, y: Tensor) -> Tensor:
        """(n, *output_shape) -> the form of the predictions."""
        return self.layout.inward(y) if self.is_tucker else y.reshape(len(y), -1)

    def outward(self, raw: Tensor) -> Tensor:
        """The form of the predictions -> (n, *output_shape)."""
        return self.layout.outward(raw) if self.is_tucker else raw.view(len(raw), *self.output_shape)

    def extra_repr(self) -> str:
        return f"{self.hidden_shape} -> {self.output_shape}, {'Tucker' if self.is_tucker else 'linear'}"


class OwnOutput(TensorReadout):
    """The read-out of a cell whose outputs are the response already (Jordan's network)."""

    def __init__(self, layout: Layout) -> None:
        nn.Module.__init__(self)
        self.layout, self.is_tucker = layout, True

    def forward(self, H: Tensor) -> Tensor:
        return H

    def extra_repr(self) -> str:
        return "the cell's own output"
