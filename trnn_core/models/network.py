"""TensorNetwork: a tensorial recurrent cell, the layer from its hidden state to the response, and a likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from trnn_core.cells.base import TensorCell
from trnn_core.cells.bptt import Walk
from trnn_core.cells.checks import check_windows
from trnn_core.cells.gru import TensorGRU
from trnn_core.cells.lstm import TensorLSTM
from trnn_core.cells.rnn import TensorRNN
from trnn_core.models.config import ModelConfig
from trnn_core.models.readout import TensorReadout


def make_cell(config: ModelConfig, input_shape: Sequence[int], target_shape: Sequence[int]) -> TensorCell:
    """The cell that a configuration asks for. A new cell is one file in `cells` and one line here."""
    common: dict[str, Any] = {"num_layers": config.num_layers, "init": config.init}
    gate, candidate, hidden = config.gate_activation, config.candidate_activation, config.hidden_activation
    makers = {
        "lstm": lambda: TensorLSTM(input_shape, config.hidden_shape, activations=(gate, candidate, hidden), **common),
        "gru": lambda: TensorGRU(input_shape, config.hidden_shape, activations=(gate, candidate), **common),
        "elman": lambda: TensorRNN(input_shape, config.hidden_shape, activations=(candidate,), **common),
        "jordan": lambda: TensorRNN(
            input_shape, config.hidden_shape, target_shape, activations=(candidate, "identity"), **common
        ),
    }
    return makers[config.cell]()


class TensorNetwork(nn.Module):
    """Cells and read-out: sequences of input tensors in, raw predictions out.

    Raw predictions are on the scale of the likelihood's link: the value itself for the squared loss, the logarithm of
    the rate for counts, the log-odds for cross-entropy (see `losses.py`).

    >>> network = TensorNetwork(ModelConfig(hidden_shape=(3, 3, 2)), input_shape=(5, 5, 4), target_shape=(5, 5, 4))
    >>> weeks = torch.zeros(20, 5, 5, 4)
    >>> network.windows(weeks, length=7).shape
    torch.Size([14, 5, 5, 4])
    """

    def __init__(self, config: ModelConfig, input_shape: Sequence[int], target_shape: Sequence[int]) -> None:
        super().__init__()
        self.config = config
        self.input_shape, self.target_shape = tuple(input_shape), tuple(target_shape)
        self.cell = make_cell(config, self.input_shape, self.target_shape)
        self.readout = (
            None if config.cell == "jordan" else TensorReadout(config.hidden_shape, self.target_shape, config.init)
        )
        self.dropout = nn.Dropout(config.dropout)
        if config.likelihood == "negative_binomial":  # one over-dispersion for each entry of the last mode (action)
            self.log_dispersion = nn.Parameter(torch.zeros(self.target_shape[-1:]))

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw all weights anew from one generator."""
        self.cell.reset_parameters(generator)
        if self.readout is not None:
            self.readout.reset_parameters(generator)

    def penalty(self) -> Tensor:
        """Sum of squares of all W and U (the paper's regulariser without its lambda)."""
        return self.cell.penalty()

    def forward(self, x: Tensor, lengths: Tensor | None = None, state: Any = None, every_step: bool = False):
        """(B, T, *input_shape) -> raw predictions (B, *target_shape), or (B, T, *target_shape), and the end state."""
        outputs, state = self.cell(x, state, lengths)
        if not every_step:
            top = state[0] if self.cell.n_states > 1 else state
            return self._read(self.cell.layout.inward(top[-1])), state
        flat = self.cell.layout.inward(outputs.flatten(0, 1))
        return self._read(flat).unflatten(0, x.shape[:2]), state

    def windows(self, weeks: Tensor, length: int, every_step: bool = False) -> Tensor:
        """Raw predictions of every window of `length` consecutive weeks, sharing the input products between windows.

        weeks (W, *input_shape) -> (W - length + 1, *target_shape), or (W - length + 1, length, *target_shape).
        """
        n_windows = check_windows(weeks, length, self.input_shape)
        walk = Walk(n_steps=length, n_sequences=n_windows, hop=1)
        outputs, finals = self.cell.run(self.cell.layout.inward(weeks), walk)
        if not every_step:
            return self._read(finals[-1][0])
        flat = outputs.movedim(0, -3).flatten(-3, -2)  # (h_1, ..., T B, h_D)
        return self._read(flat).unflatten(0, (length, n_windows)).transpose(0, 1)

    def _read(self, H: Tensor) -> Tensor:
        """H (h_1, ..., n, h_D) in the engine's layout -> (n, *target_shape)"""
        if self.readout is None:
            return self.cell.layout.outward(H)
        return self.readout(self.dropout(H))
