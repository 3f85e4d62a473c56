"""The extra layer from H_t to the response Y_t: a Tucker map for a tensor of the same order, else a full linear map."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor, nn

from trnn_core.cells.base import init_factor
from trnn_core.cells.stacked import Layout, TuckerMap


class TensorReadout(nn.Module):
    """H (h_1, ..., n, h_D) in the engine's layout -> response (n, *output_shape).

    A response with as many modes as H is H x_1 V_1 ... x_D V_D + B. A scalar (output_shape ()), a vector, or any other
    order is a linear map of all entries of H.

    >>> layout = Layout((3, 3, 2))
    >>> TensorReadout((3, 3, 2), (5, 5, 4))(layout.inward(torch.zeros(8, 3, 3, 2))).shape
    torch.Size([8, 5, 5, 4])
    >>> TensorReadout((3, 3, 2), ())(layout.inward(torch.zeros(8, 3, 3, 2))).shape
    torch.Size([8])
    """

    def __init__(self, hidden_shape: Sequence[int], output_shape: Sequence[int], init: str = "glorot") -> None:
        super().__init__()
        self.hidden_shape, self.output_shape, self.init = tuple(hidden_shape), tuple(output_shape), init
        self.layout = Layout(self.hidden_shape)
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
            V = self.layout.factors([self.get_parameter(f"V{d + 1}") for d in range(len(self.hidden_shape))])
            Y = TuckerMap.apply(H, self.layout.bias(self.B), *V)
            return self.layout.outward(Y[0])
        natural = self.layout.outward(H).flatten(1)
        return torch.addmm(self.B.reshape(1, -1), natural, self.V.T).view(-1, *self.output_shape)

    def extra_repr(self) -> str:
        return f"{self.hidden_shape} -> {self.output_shape}, {'Tucker' if self.is_tucker else 'linear'}"
