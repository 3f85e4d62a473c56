"""What a user would pick instead of our cells: the same network written the plain way.

Each rival is a module with `forward(windows) -> predictions` on windows (B, T, 25, 25, 4), trained by autograd.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from math import prod

import tensorly
import torch
from tensorly.tenalg import multi_mode_dot
from torch import Tensor, nn

GATES = "fioc"


class PlainTensorLSTM(nn.Module):
    """Eq. 3-8 gate by gate and step by step; subclasses say how a Tucker map is written."""

    def __init__(self, input_shape: Sequence[int], hidden_shape: Sequence[int], every_step: bool) -> None:
        super().__init__()
        self.hidden_shape, self.every_step = tuple(hidden_shape), every_step
        make = lambda k, m: nn.Parameter(torch.randn(k, m) / m**0.5)  # noqa: E731
        pairs = list(zip(hidden_shape, input_shape, strict=True))
        self.W = nn.ModuleDict({g: nn.ParameterList([make(h, h) for h, _ in pairs]) for g in GATES})
        self.U = nn.ModuleDict({g: nn.ParameterList([make(h, x) for h, x in pairs]) for g in GATES})
        self.B = nn.ParameterDict({g: nn.Parameter(torch.zeros(*hidden_shape)) for g in GATES})
        self.V = nn.ParameterList([make(x, h) for h, x in pairs])
        self.Y = nn.Parameter(torch.zeros(*input_shape))

    def tucker(self, x: Tensor, factors: Sequence[Tensor]) -> Tensor:
        raise TypeError("use EinsumLSTM or TensorlyLSTM")

    def forward(self, x: Tensor) -> Tensor:
        H = x.new_zeros(x.shape[0], *self.hidden_shape)
        C = torch.zeros_like(H)
        outputs = []
        for t in range(x.shape[1]):
            M = {g: self.tucker(H, self.W[g]) + self.tucker(x[:, t], self.U[g]) + self.B[g] for g in GATES}
            C = torch.sigmoid(M["f"]) * C + torch.sigmoid(M["i"]) * torch.tanh(M["c"])
            H = torch.sigmoid(M["o"]) * torch.tanh(C)
            if self.every_step:
                outputs.append(self.tucker(H, self.V) + self.Y)
        return torch.stack(outputs, 1) if self.every_step else self.tucker(H, self.V) + self.Y


class EinsumLSTM(PlainTensorLSTM):
    """(a) one einsum for each Tucker map, autograd backward."""

    def tucker(self, x: Tensor, factors: Sequence[Tensor]) -> Tensor:
        into, out = string.ascii_lowercase[: len(factors)], string.ascii_uppercase[: len(factors)]
        maps = ",".join(f"{o}{i}" for o, i in zip(out, into, strict=True))
        return torch.einsum(f"z{into},{maps}->z{out}", x, *factors)


class TensorlyLSTM(PlainTensorLSTM):
    """(b) TensorLy's multi_mode_dot on its torch backend, autograd backward."""

    def tucker(self, x: Tensor, factors: Sequence[Tensor]) -> Tensor:
        with tensorly.backend_context("pytorch"):
            return multi_mode_dot(x, list(factors), modes=list(range(1, len(factors) + 1)))


class VectorLSTM(nn.Module):
    """(c) torch.nn.LSTM on flattened tensors with the same number of hidden units."""

    def __init__(self, input_shape: Sequence[int], hidden_shape: Sequence[int], every_step: bool) -> None:
        super().__init__()
        self.input_shape, self.every_step = tuple(input_shape), every_step
        self.lstm = nn.LSTM(prod(input_shape), prod(hidden_shape), batch_first=True)
        self.out = nn.Linear(prod(hidden_shape), prod(input_shape))

    def forward(self, x: Tensor) -> Tensor:
        outputs, _ = self.lstm(x.flatten(2))
        outputs = outputs if self.every_step else outputs[:, -1]
        return self.out(outputs).unflatten(-1, self.input_shape)
