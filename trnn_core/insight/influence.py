"""Who moves whom, read off a trained network in two ways: its mode matrices, and its input-output Jacobian.

Matrices are (N, N): row, who is moved; column, who moves. Dimension letters: B windows, T steps, N actors, K actions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from trnn_core.cells.kinds import CELLS
from trnn_core.data.windows import Part, make_windows
from trnn_core.errors import TRNNError
from trnn_core.models.network import TensorNetwork
from trnn_core.training.prepare import Prepared


@dataclass(frozen=True)
class Influence:
    """Sender influence (N, N): what m did moves what i does. Receiver influence (N, N): what was done to m moves what is done to i."""

    sender: np.ndarray
    receiver: np.ndarray
    method: str


@torch.no_grad()
def mode_influence(network: TensorNetwork) -> Influence:
    """The way of news through one mode: into the hidden tensor by U of the candidate gate, out of it by V.

    V_d U_d is signed up to the signs of the other modes; it is turned so that continuation (the diagonal) is positive.
    """
    cell, readout = network.cell, network.readout
    if network.config.num_layers != 1 or (readout is not None and not readout.is_tucker):
        raise TRNNError("Mode matrices can be read off a network of one layer with a tensor response. This one has another form; use the Jacobian.")  # fmt: skip
    found = []
    for mode in (1, 2):
        way = cell.factor("U", CELLS[network.config.cell].news, mode).double()
        if readout is not None:
            way = readout.get_parameter(f"V{mode}")[0].double() @ way
        matrix = way.numpy()
        found.append(matrix * (1.0 if np.trace(matrix) >= 0 else -1.0))
    return Influence(
        found[0], found[1], "product of the input factor of the candidate gate and the read-out, mode by mode"
    )


def jacobian_influence(
    network: TensorNetwork, prepared: Prepared, part: Part = "train", n_windows: int = 128, seed: int = 0
) -> Influence:
    """Mean over windows of d prediction / d last week's input, for cells that share partner and action.

    sender[i, m] is the mean over j, k of d y_ijk / d x_mjk, by random signs: one backward pass per actor i gives all m.
    """
    windows = make_windows(prepared.split, part, prepared.data.window)
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(len(windows), size=min(n_windows, len(windows)), replace=False))
    weeks = torch.stack([prepared.inputs[f : f + prepared.data.window] for f in windows.first[chosen].tolist()])
    weeks.requires_grad_(True)
    network.eval()
    raw, _ = network(weeks)  # (B, N, N, K)
    n = raw.shape[1]
    sender, receiver = np.zeros((n, n)), np.zeros((n, n))
    cells = prepared.mask.any(dim=0).to(raw.dtype)  # (N, N, K)
    for i in range(n):
        sender[i] = _moved_by(raw, weeks, cells, rng, i, axis=1)
        receiver[i] = _moved_by(raw, weeks, cells, rng, i, axis=2)
    return Influence(sender, receiver, f"mean over {len(chosen)} {part} windows of the derivative of the prediction by the last week's own series")  # fmt: skip


def _moved_by(raw: torch.Tensor, weeks: torch.Tensor, cells: torch.Tensor, rng: np.random.Generator, i: int, axis: int) -> np.ndarray:  # fmt: skip
    """Mean effect on actor i (in the mode `axis`) of each actor in the same mode, (N,)."""
    n, k = raw.shape[1], raw.shape[3]
    shape = (len(raw), 1, n, k) if axis == 1 else (len(raw), n, 1, k)
    signs = torch.from_numpy(rng.choice([-1.0, 1.0], size=shape)).to(raw.dtype)
    own = cells.select(axis - 1, i).unsqueeze(axis - 1)  # the cells of actor i that are scored
    pull = torch.zeros_like(raw)
    pull.narrow(axis, i, 1).copy_(signs * own)
    (gradient,) = torch.autograd.grad(raw, weeks, pull, retain_graph=True)
    direct = gradient[:, -1, :, :, :k] * signs * own  # (B, N, N, K): the sign picks the cell with the same partner
    return direct.mean(dim=0).sum(dim=(2 - axis, 2)).numpy() / max(float(own.sum()), 1.0)


def ranking_quality(found: np.ndarray, truth: np.ndarray) -> float:
    """How well a matrix finds true ties off the diagonal: the chance that a tie ranks above a pair without one (AUC).

    >>> ranking_quality(np.array([[0, 3.0], [1.0, 0]]), np.array([[1, 1], [0, 1]]))
    1.0
    """
    off = ~np.eye(len(truth), dtype=bool)
    tie, score = (truth != 0)[off], found[off]
    if tie.all() or not tie.any():
        raise TRNNError("A ranking needs ties and pairs without one. Got only one kind.")
    order = score.argsort().argsort() + 1.0  # continuous scores: ties have no mass
    n_ties, n_none = tie.sum(), (~tie).sum()
    return float((order[tie].sum() - n_ties * (n_ties + 1) / 2) / (n_ties * n_none))
