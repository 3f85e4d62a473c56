"""DyadNetwork: a tGRU whose country modes are held at the identity, so that all dyads share its weights.

With W and U of both country modes fixed at I, the tensor H_t (sources, targets, channels, actions) splits into one
matrix (channels, actions) per dyad; the cell then runs on each dyad's matrices as a second-order tGRU (eq. 9-13).

Letters: B dyad-periods of a batch, L steps of a window, F channels, R channels read over time, K actions, C hidden.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from trnn_core.cells.gru import TensorGRU

N_OUTPUTS = 3  # corrections of log mean, log size and level
_REACH = 2.0  # a correction of a logarithm stays within this


class TuckerLayer(nn.Module):
    """X (B, F, K) -> X x_1 A x_2 D + bias, with the action map D near the identity at the start."""

    def __init__(self, n_in: int, n_out: int, n_actions: int, zero: bool = False) -> None:
        super().__init__()
        self.A = nn.Parameter(torch.zeros(n_out, n_in) if zero else torch.randn(n_out, n_in) / n_in**0.5)
        self.D = nn.Parameter(torch.eye(n_actions) + 0.01 * torch.randn(n_actions, n_actions))
        self.bias = nn.Parameter(torch.zeros(n_out, n_actions))

    def forward(self, x: Tensor) -> Tensor:
        return self.A @ x @ self.D.T + self.bias


class DyadNetwork(nn.Module):
    """Corrections to a linear forecast from the recent course of a dyad's channels and their present state.

    course (B, L, R, K) goes through the tGRU, now (B, F, K) through a Tucker layer beside it; both are joined by
    another and read out as three corrections per action, (B, 3, K). The read-out starts at zero: the untrained
    network leaves the linear forecast as it is. `unit` (K,) is what a level is measured in: 1 for log1p counts, for
    values whatever their scale makes of it.
    """

    unit: Tensor

    def __init__(
        self, n_channels: int, n_recurrent: int, n_actions: int, hidden: int = 16, dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.cell = TensorGRU((n_recurrent, n_actions), (hidden, n_actions), init="orthogonal")
        self.present = TuckerLayer(n_channels, 2 * hidden, n_actions)
        self.joined = TuckerLayer(3 * hidden, 2 * hidden, n_actions)
        self.readout = TuckerLayer(2 * hidden, N_OUTPUTS, n_actions, zero=True)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("unit", torch.ones(n_actions), persistent=False)

    def forward(self, course: Tensor, now: Tensor) -> Tensor:
        past = self.cell(course)[0][:, -1]  # (B, C, K)
        present = functional.gelu(self.present(now))
        joined = functional.gelu(self.joined(self.dropout(torch.cat([past, present], dim=1))))
        logs, level = self.readout(self.dropout(joined)).split([2, 1], dim=1)
        return torch.cat([logs, level * self.unit], dim=1)


def corrections(outputs: Tensor) -> Tensor:
    """What outputs (..., 3, K) add to the linear forecast: bounded for the two logarithms, as it is for the level."""
    logs, level = outputs[..., :2, :], outputs[..., 2:, :]
    return torch.cat([_REACH * torch.tanh(logs / _REACH), level], dim=-2)


def negative_log_likelihood(log_mean: Tensor, log_size: Tensor, counts: Tensor) -> Tensor:
    """Of negative binomial counts, entry by entry, without the term of the counts alone."""
    size, total = log_size.exp(), torch.logaddexp(log_mean, log_size)
    log_coefficients = torch.lgamma(counts + size) - torch.lgamma(size)
    return -(log_coefficients + size * (log_size - total) + counts * (log_mean - total))
