"""Vector LSTM and GRU: the relations unfolded to one long vector, an ordinary recurrent network of a tuned size.

Dimension letters: T periods, O origins, N sources, M targets, K actions, C cells off the diagonal (pairs x actions).
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from trnn_core.models.baselines.level_forecaster import LevelForecaster
from trnn_core.models.panel import Panel

_WINDOW = 8
_BATCH = 64


class VectorLSTM(LevelForecaster):
    """A `torch.nn.LSTM` on what each cell deviates from its mean; its size is the one with the least validation loss.

    The last eighth of the training periods is the validation part: no gradient is taken there. Further steps ahead
    feed the forecast back in.
    """

    name = "vector_lstm"
    min_periods = 40
    holdout = 0.125
    cell: type[nn.Module] = nn.LSTM

    def __init__(self, sizes: tuple[int, ...] = (16, 64, 256), max_epochs: int = 40, patience: int = 4, seed: int = 0):
        super().__init__()
        self.sizes, self.max_epochs, self.patience, self.seed = sizes, max_epochs, patience, seed
        self.size = 0  # the one chosen
        self._network: _Recurrent | None = None
        self._centre, self._spread = np.zeros(0), 1.0

    def _learn(self, panel: Panel) -> None:
        z = _unfold(panel)
        learnt = z[: self._learnt_until]
        self._centre, self._spread = learnt.mean(0), max(float(learnt.std()), 1e-6)
        x = torch.from_numpy(((z - self._centre) / self._spread).astype(np.float32))  # (T, C)
        windows = x[:-1].unfold(0, min(_WINDOW, len(x) - 1), 1).transpose(1, 2)  # (T - window, window, C)
        targets = x[len(x) - len(windows) :]
        split = len(windows) - (len(z) - self._learnt_until)
        best = np.inf
        for size in self.sizes:
            network, loss = self._train_size(size, windows, targets, split)
            if loss < best:
                best, self.size, self._network = loss, size, network

    def _train_size(self, size: int, x: torch.Tensor, y: torch.Tensor, split: int) -> tuple[_Recurrent, float]:
        """Adam with early stopping on the periods from `split` on; returns the best network and its loss there."""
        generator = torch.Generator().manual_seed(self.seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            network = _Recurrent(self.cell, x.shape[-1], size)
        optimiser = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=1e-2)
        best, best_state, since = np.inf, network.state_dict(), 0
        for _ in range(self.max_epochs):
            network.train()
            for batch in torch.randperm(split, generator=generator).split(_BATCH):
                optimiser.zero_grad()
                nn.functional.mse_loss(network(x[batch]), y[batch]).backward()
                optimiser.step()
            network.eval()
            with torch.no_grad():
                loss = float(nn.functional.mse_loss(network(x[split:]), y[split:]))
            since += 1
            if loss < best:
                best, since = loss, 0
                best_state = {name: value.clone() for name, value in network.state_dict().items()}
            if since >= self.patience:
                break
        network.load_state_dict(best_state)
        return network.eval(), best

    def _levels(self, panel: Panel, origins: np.ndarray, step: int) -> np.ndarray:
        assert self._network is not None
        z = (_unfold(panel) - self._centre) / self._spread
        periods = np.maximum(origins[:, None] + np.arange(1 - _WINDOW, 1), 0)  # (O, window)
        out = np.zeros((len(origins), *panel.level.shape[1:]))
        for part in np.array_split(np.arange(len(origins)), max(1, len(origins) // _BATCH)):
            window = torch.from_numpy(z[periods[part]].astype(np.float32))
            with torch.no_grad():
                for _ in range(step):
                    following = self._network(window)
                    window = torch.cat([window[:, 1:], following[:, None]], dim=1)
            levels = following.numpy() * self._spread + self._centre
            inside = np.zeros((len(part), *out.shape[1:]))
            inside[:, panel.cells] = levels.reshape(len(part), -1, out.shape[-1])
            out[part] = inside
        return out


class VectorGRU(VectorLSTM):
    """The same with a `torch.nn.GRU`."""

    name = "vector_gru"
    cell = nn.GRU


class _Recurrent(nn.Module):
    """Recurrent layer and linear read-out, which starts at zero: the untrained network forecasts the mean."""

    def __init__(self, cell: type[nn.Module], n_entries: int, size: int) -> None:
        super().__init__()
        self.recurrent = cell(n_entries, size, batch_first=True)
        self.read_out = nn.Linear(size, n_entries)
        nn.init.zeros_(self.read_out.weight)
        nn.init.zeros_(self.read_out.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, C) to (B, C)."""
        return self.read_out(self.recurrent(x)[0][:, -1])


def _unfold(panel: Panel) -> np.ndarray:
    """(T, C): the cells off the diagonal, pair by pair."""
    return panel.level[:, panel.cells].reshape(len(panel.level), -1)
