"""TensorCell: what tLSTM, tGRU and tRNN share: stacked parameters, layers, state, padding, and the checks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from trnn_core.cells.activations import get_activation
from trnn_core.cells.bptt import Walk, padding_mask
from trnn_core.cells.checks import check_finite, check_input, check_lengths, check_shapes, check_state
from trnn_core.cells.stacked import Layout, TuckerMap
from trnn_core.errors import TRNNError

State = Any  # H, or (H, C) for tLSTM


class TensorCell(nn.Module):
    """A recurrent layer over (batch, time, *modes); subclasses give the gates and one sweep through time."""

    gates: str
    n_states = 1
    default_activations: tuple[str, ...]

    def __init__(
        self,
        input_shape: Sequence[int],
        hidden_shape: Sequence[int],
        num_layers: int = 1,
        bias: bool = True,
        activations: Sequence[str] | None = None,
        init: str = "glorot",
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_shapes(input_shape, hidden_shape, num_layers)
        self.input_shape, self.hidden_shape = tuple(input_shape), tuple(hidden_shape)
        self.num_layers, self.init, self.has_bias = num_layers, init, bias
        self.activations = tuple(activations or self.default_activations)
        if len(self.activations) != len(self.default_activations):
            raise TRNNError(
                f"{type(self).__name__} takes {len(self.default_activations)} activations "
                f"(by default {', '.join(self.default_activations)}). Got {len(self.activations)} instead."
            )
        for name in self.activations:
            get_activation(name)
        self.layout = Layout(self.hidden_shape)
        self._make_parameters({"device": device, "dtype": dtype})
        self.reset_parameters()

    @property
    def state_shape(self) -> tuple[int, ...]:
        """The modes of what is carried from step to step; Jordan's network carries its output instead of H."""
        return self.hidden_shape

    def _make_parameters(self, kind: dict[str, Any]) -> None:
        n_gates = len(self.gates)
        for layer in range(self.num_layers):
            sizes = self.input_shape if layer == 0 else self.state_shape
            for d, (h, s, x) in enumerate(zip(self.hidden_shape, self.state_shape, sizes, strict=True), start=1):
                self.register_parameter(f"W{d}_{layer}", nn.Parameter(torch.empty(n_gates, h, s, **kind)))
                self.register_parameter(f"U{d}_{layer}", nn.Parameter(torch.empty(n_gates, h, x, **kind)))
            B = nn.Parameter(torch.empty(n_gates, *self.hidden_shape, **kind)) if self.has_bias else None
            self.register_parameter(f"B_{layer}", B)

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw all factors anew by the scheme `init`; biases start at zero, the forget gate's at one."""
        for name, parameter in self.named_parameters():
            if name.startswith("B"):
                parameter.zero_()
                if "f" in self.gates:
                    parameter[self.gates.index("f")] = 1.0  # a cell that starts by remembering
            else:
                for factor in parameter if parameter.ndim == 3 else [parameter]:
                    init_factor(factor, self.init, generator)

    def factor(self, kind: str, gate: str, mode: int, layer: int = 0) -> Tensor:
        """The paper's W or U of one gate and mode (counted from 1), as a view that can be set in place under
        no_grad."""
        self._check_layer(layer)
        if len(kind) != 1 or kind not in self._kinds() or not 1 <= mode <= len(self.hidden_shape):
            raise TRNNError(
                f"A factor is {' or '.join(self._kinds())} of a mode from 1 to {len(self.hidden_shape)}. "
                f"Got {kind!r} of mode {mode} instead."
            )
        return getattr(self, f"{kind}{mode}_{layer}")[self._gate(gate)]

    def bias(self, gate: str, layer: int = 0) -> Tensor:
        """The paper's B of one gate, of shape hidden_shape, as a view that can be set in place under no_grad."""
        if not self.has_bias:
            raise TRNNError(f"This {type(self).__name__} was made without biases; make it with bias=True to have them.")
        self._check_layer(layer)
        return getattr(self, f"B_{layer}")[self._gate(gate)]

    def _kinds(self) -> str:
        return "WU"

    def _gate(self, gate: str) -> int:
        if len(gate) != 1 or gate not in self.gates:
            raise TRNNError(f"{type(self).__name__} has the gates {', '.join(self.gates)}. Got {gate!r} instead.")
        return self.gates.index(gate)

    def _check_layer(self, layer: int) -> None:
        if not 0 <= layer < self.num_layers:
            raise TRNNError(f"The layer must be one of 0 to {self.num_layers - 1}. Got {layer} instead.")

    def penalty(self) -> Tensor:
        """The paper's regulariser: the sum of squares of all W and U, never of a bias."""
        return torch.stack([p.square().sum() for n, p in self.named_parameters() if n[0] in "WU"]).sum()

    def forward(self, x: Tensor, state: State = None, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        check_input(x, self.input_shape, self._like())
        n_sequences, n_steps = x.shape[:2]
        check_state(state, self._state_names(), (self.num_layers, n_sequences, *self.state_shape), self._like())
        lengths = check_lengths(lengths, n_sequences, n_steps)
        active = None if lengths is None else padding_mask(lengths, n_steps, x)
        if active is not None:  # whatever stands behind a sequence's end, NaN included, must not reach the products
            seen = active.squeeze(-1).T.bool().view(n_sequences, n_steps, *[1] * (x.ndim - 2))
            x = torch.where(seen, x, 0)
        check_finite(x, "input", ("sequence", "step"))
        flat = self.layout.inward(x.transpose(0, 1).flatten(0, 1))  # (m_1, ..., T B, m_D)
        walk = Walk(n_steps, n_sequences, hop=n_sequences, active=active)
        outputs, finals = self.run(self.input_products(flat), walk, self._inward_state(state))
        natural = self.layout.outward(outputs.movedim(0, -3), n_leading=2).transpose(0, 1)
        ends = [torch.stack([self.layout.outward(s) for s in layers]) for layers in zip(*finals, strict=True)]
        return natural, tuple(ends) if self.n_states > 1 else ends[0]

    def input_products(self, x: Tensor, layer: int = 0) -> Tensor:
        """X x_1 U_1 ... x_D U_D + B of every gate: (m_1, ..., n, m_D) -> (G, h_1, ..., n, h_D)."""
        B = self.layout.bias(getattr(self, f"B_{layer}")) if self.has_bias else None
        return TuckerMap.apply(x, B, *self._factors("U", layer))

    def run(self, inputs: Tensor, walk: Walk, states: Sequence[tuple[Tensor | None, ...]] | None = None):
        """The sweep through all layers in the engine's own layout: what networks call to share work between windows.

        `inputs` are the input products of the first layer. Returns the last layer's outputs (T, h_1, ..., B, h_D) and
        each layer's end states.
        """
        finals = []
        for layer in range(self.num_layers):
            start = states[layer] if states is not None else (None,) * self.n_states
            outputs, final = self._sweep(inputs, start, walk, layer)
            finals.append(final)
            if layer + 1 < self.num_layers:
                inputs = self.input_products(outputs.movedim(0, -3).flatten(-3, -2), layer + 1)
                walk = Walk(walk.n_steps, walk.n_sequences, hop=walk.n_sequences, active=walk.active)
        return outputs, finals

    def _sweep(self, inputs: Tensor, state: tuple[Tensor | None, ...], walk: Walk, layer: int):
        raise TypeError(f"{type(self).__name__} is abstract: use TensorLSTM, TensorGRU or TensorRNN.")

    def _factors(self, kind: str, layer: int) -> list[Tensor]:
        """All factors of one kind in the engine's order, each (G, k, m): from the input or a hidden state to a
        hidden."""
        return self.layout.factors([getattr(self, f"{kind}{d + 1}_{layer}") for d in range(len(self.hidden_shape))])

    def _inward_state(self, state: State):
        if state is None:
            return None
        parts = state if self.n_states > 1 else (state,)
        return [tuple(self.layout.inward(s[layer]) for s in parts) for layer in range(self.num_layers)]

    def _state_names(self) -> tuple[str, ...]:
        return ("H", "C")[: self.n_states]

    def _like(self) -> Tensor:
        return next(self.parameters())

    def extra_repr(self) -> str:
        return (
            f"{self.input_shape} -> {self.hidden_shape}, num_layers={self.num_layers}, bias={self.has_bias},"
            f" activations={self.activations}"
        )


def init_factor(factor: Tensor, scheme: str, generator: torch.Generator | None = None) -> None:
    """Fill one factor (k, m) in place; every scheme keeps the size of what passes through about the same."""
    k, m = factor.shape
    if scheme == "glorot":
        nn.init.uniform_(factor, -math.sqrt(6 / (k + m)), math.sqrt(6 / (k + m)), generator=generator)
    elif scheme == "orthogonal":
        nn.init.orthogonal_(factor, generator=generator)
    elif scheme == "uniform":
        nn.init.uniform_(factor, -math.sqrt(3 / m), math.sqrt(3 / m), generator=generator)
    elif scheme == "identity":  # each hidden index starts as one of the input's, plus a little noise to break ties
        nn.init.normal_(factor, std=0.01, generator=generator)
        rows = torch.arange(k, device=factor.device)
        factor[rows, rows % m] += 1.0
    else:
        raise TRNNError(
            f"The initialisation must be one of glorot, orthogonal, identity, uniform. Got {scheme!r} instead."
        )
