"""The plain tensorial recurrent networks of Elman (eq. 1) and Jordan (eq. 2), with their backward passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from trnn_core.cells.activations import get_activation
from trnn_core.cells.bptt import Walk, plus
from trnn_core.cells.checks import check_sizes
from trnn_core.cells.stacked import StackedTucker
from trnn_core.cells.tensor_cell import TensorCell
from trnn_core.errors import TRNNError


class ElmanSweep(torch.autograd.Function):
    """H_t = sigma_h(X_t x U + H_{t-1} x W + B), all steps."""

    @staticmethod
    def forward(ctx, inputs: Tensor, H0: Tensor | None, walk: Walk, names: tuple[str, ...], *W: Tensor):  # type: ignore[override]
        sigma_h, recurrent = get_activation(names[0]), StackedTucker(W)
        hiddens = inputs.new_empty(walk.n_steps, *inputs.shape[1:-2], walk.n_sequences, inputs.shape[-1])
        H_prev = H0
        for t in range(walk.n_steps):
            hiddens[t] = walk.at(inputs, t)[0]
            if H_prev is not None:
                hiddens[t].add_(recurrent.apply(H_prev)[0])
            sigma_h.apply_(hiddens[t])  # eq. 1
            walk.freeze(hiddens[t], H_prev, t)
            H_prev = hiddens[t]
        ctx.walk, ctx.names = walk, names
        ctx.save_for_backward(inputs, H0, hiddens, *W)
        ctx.set_materialize_grads(False)
        return walk.hide(hiddens), hiddens[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx, d_outputs: Tensor | None, dH: Tensor | None):  # type: ignore[override]
        walk, sigma_h = ctx.walk, get_activation(ctx.names[0])
        inputs, H0, hiddens, *W = ctx.saved_tensors
        recurrent = StackedTucker(W)
        recurrent.zero_grads()
        d_inputs = walk.input_grad(inputs)
        for t in reversed(range(walk.n_steps)):
            dH, dH_past = walk.split(walk.receive(dH, d_outputs, hiddens, t), t)
            H_prev = hiddens[t - 1] if t else H0
            dM = sigma_h.chain_(dH.clone(), hiddens[t]).unsqueeze(0)
            walk.at(d_inputs, t).add_(dM)
            dH = None
            if H_prev is not None:
                dH = recurrent.pull_back(dM, H_prev)
            dH = plus(dH, dH_past)
        return None if walk.sink is not None else d_inputs, dH if H0 is not None else None, None, None, *recurrent.grads


class JordanSweep(torch.autograd.Function):
    """H_t = sigma_h(X_t x U + Y_{t-1} x W + B), Y_t = sigma_y(H_t x V + B_y), all steps."""

    @staticmethod
    def forward(
        ctx, inputs: Tensor, Y0: Tensor | None, B_y: Tensor | None, walk: Walk, names: tuple[str, ...], *factors: Tensor
    ):  # type: ignore[override]
        sigma_h, sigma_y = map(get_activation, names)
        n_modes = len(factors) // 2
        recurrent, readout = StackedTucker(factors[:n_modes]), StackedTucker(factors[n_modes:])
        hiddens, outputs = [], []
        Y_prev = Y0
        for t in range(walk.n_steps):
            H = walk.at(inputs, t)[0].clone(memory_format=torch.contiguous_format)
            if Y_prev is not None:
                H.add_(recurrent.apply(Y_prev)[0])
            sigma_h.apply_(H)
            Y = readout.apply(H)[0]
            sigma_y.apply_(Y if B_y is None else Y.add_(B_y[0]))
            walk.freeze(Y, Y_prev, t)
            hiddens.append(H)
            outputs.append(Y)
            Y_prev = Y
        ctx.walk, ctx.names, ctx.n_modes = walk, names, n_modes
        ctx.save_for_backward(inputs, Y0, B_y, *factors, *hiddens, *outputs)
        ctx.set_materialize_grads(False)
        stacked = torch.stack(outputs)
        return walk.hide(stacked), stacked[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx, d_outputs: Tensor | None, dY: Tensor | None):  # type: ignore[override]
        walk, n_modes, n_steps = ctx.walk, ctx.n_modes, ctx.walk.n_steps
        sigma_h, sigma_y = map(get_activation, ctx.names)
        inputs, Y0, B_y, *rest = ctx.saved_tensors
        recurrent, readout = StackedTucker(rest[:n_modes]), StackedTucker(rest[n_modes : 2 * n_modes])
        recurrent.zero_grads()
        readout.zero_grads()
        rest = rest[2 * n_modes :]
        hiddens, outputs = rest[:n_steps], rest[n_steps:]
        d_inputs = walk.input_grad(inputs)
        dB_y = None if B_y is None else torch.zeros_like(B_y)
        for t in reversed(range(n_steps)):
            dY, dY_past = walk.split(walk.receive(dY, d_outputs, outputs, t), t)
            Y_prev = outputs[t - 1] if t else Y0
            dY = sigma_y.chain_(dY.clone(), outputs[t]).unsqueeze(0)
            if dB_y is not None:
                dB_y.add_(dY.sum(-2, keepdim=True))
            dH = readout.pull_back(dY, hiddens[t])
            dM = sigma_h.chain_(dH, hiddens[t]).unsqueeze(0)
            walk.at(d_inputs, t).add_(dM)
            dY = None
            if Y_prev is not None:
                dY = recurrent.pull_back(dM, Y_prev)
            dY = plus(dY, dY_past)
        d_inputs = None if walk.sink is not None else d_inputs
        return d_inputs, dY if Y0 is not None else None, dB_y, None, None, *recurrent.grads, *readout.grads


class TensorRNN(TensorCell):
    r"""Plain tensorial recurrent network over sequences of tensors of any order D, after Elman or after Jordan.

    .. math::
        H_t &= \sigma_h(X_t \times_1 U_{h1} \cdots \times_D U_{hD}
            + H_{t-1} \times_1 W_{h1} \cdots \times_D W_{hD} + B_h) \quad (1) \\
        H_t &= \sigma_h(X_t \times_1 U_{h1} \cdots + Y_{t-1} \times_1 W_{h1} \cdots + B_h), \quad
        Y_t = \sigma_y(H_t \times_1 V_1 \cdots \times_D V_D + B_y) \quad (2)

    Args:
        input_shape: sizes of the modes of X_t.
        hidden_shape: sizes of the modes of H_t.
        output_shape: None for Elman (eq. 1); for Jordan (eq. 2) the sizes of the modes of Y_t, which is fed back.
        num_layers: cells stacked on top of each other.
        bias: whether the tensors B are there.
        activations: names of sigma_h (Elman), or of sigma_h and sigma_y (Jordan).
        init: how the factors start: ``glorot``, ``orthogonal``, ``identity`` or ``uniform``.

    Inputs: x ``(B, T, *input_shape)``; optional state, H or (Jordan) Y, with a leading axis for the layers; optional
    lengths ``(B,)``.

    Outputs: H_t ``(B, T, *hidden_shape)`` for Elman, Y_t ``(B, T, *output_shape)`` for Jordan; the state at the end.

    Parameters: for layer l and mode d ``W{d}_l``, ``U{d}_l`` ``(1, h_d, .)``, ``B_l`` ``(1, *hidden_shape)``; for
    Jordan also ``V{d}_l`` ``(1, y_d, h_d)`` and ``By_l`` ``(1, *output_shape)``.

    >>> layer = TensorRNN(input_shape=(5, 5), hidden_shape=(3, 3), output_shape=(5, 5))
    >>> outputs, Y = layer(torch.zeros(8, 7, 5, 5))
    >>> outputs.shape, Y.shape
    (torch.Size([8, 7, 5, 5]), torch.Size([1, 8, 5, 5]))
    """

    gates = "h"

    def __init__(
        self,
        input_shape: Sequence[int],
        hidden_shape: Sequence[int],
        output_shape: Sequence[int] | None = None,
        **options: Any,
    ) -> None:
        self.output_shape = None if output_shape is None else tuple(output_shape)
        check_sizes("hidden", hidden_shape)
        check_sizes("output", self.output_shape or ())
        if self.output_shape is not None and len(self.output_shape) != len(hidden_shape):
            raise TRNNError(
                f"Jordan's output must have as many modes as the hidden shape {tuple(hidden_shape)}. Got"
                f" {self.output_shape} instead."
            )
        super().__init__(input_shape, hidden_shape, **options)

    @property
    def default_activations(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("tanh",) if self.output_shape is None else ("tanh", "identity")

    @property
    def state_shape(self) -> tuple[int, ...]:
        return self.hidden_shape if self.output_shape is None else self.output_shape

    def bias(self, gate: str, layer: int = 0) -> Tensor:
        """B_h, or (Jordan) ``y`` for the output's B_y, as a view that can be set in place under no_grad."""
        if gate == "y" and self.output_shape is not None:
            super().bias("h", layer)  # the same checks
            return getattr(self, f"By_{layer}")[0]
        return super().bias(gate, layer)

    def _state_names(self) -> tuple[str, ...]:
        return ("H",) if self.output_shape is None else ("Y",)

    def _kinds(self) -> str:
        return "WU" if self.output_shape is None else "WUV"

    def _make_parameters(self, kind: dict[str, Any]) -> None:
        super()._make_parameters(kind)
        for layer in range(self.num_layers if self.output_shape is not None else 0):
            for d, (y, h) in enumerate(zip(self.state_shape, self.hidden_shape, strict=True), start=1):
                self.register_parameter(f"V{d}_{layer}", nn.Parameter(torch.empty(1, y, h, **kind)))
            B_y = nn.Parameter(torch.empty(1, *self.state_shape, **kind)) if self.has_bias else None
            self.register_parameter(f"By_{layer}", B_y)

    def _sweep(self, inputs: Tensor, state: tuple[Tensor | None, ...], walk: Walk, layer: int):
        W = self._factors("W", layer)
        if self.output_shape is None:
            outputs, end = ElmanSweep.apply(inputs, *state, walk, self.activations, *W)
        else:
            B_y = self.layout.bias(getattr(self, f"By_{layer}")) if self.has_bias else None
            V = self._factors("V", layer)
            outputs, end = JordanSweep.apply(inputs, *state, B_y, walk, self.activations, *W, *V)
        return outputs, (end,)
