"""Who moves whom: read off a trained network's mode matrices, off its input-output Jacobian, and off Hoff's regression.

Matrices are (N, N) for countries and (K, K) for actions: row, who is moved; column, who moves. Each is scaled so that
the mean of its diagonal, a country's (or an action's) own continuation, is 1: then the three ways compare side by
side.

Dimension letters: O periods looked at, N actors, K actions.
"""

from __future__ import annotations

import numpy as np
import torch

from trnn_core.cells.kinds import CELLS
from trnn_core.data.designs import parse_slice
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.insight.answers import Influence
from trnn_core.insight.view import NetworkView, View
from trnn_core.jobs.context import Progress, quiet
from trnn_core.models.baselines.mltr import JointMLTR
from trnn_core.models.baselines.multilinear import Multilinear
from trnn_core.models.network import TensorNetwork

RECENT = 52  # periods over which the Jacobian is averaged
SIZE = 2.0  # usual variations up and down: nearly all weeks lie within them


@torch.no_grad()
def mode_influence(network: TensorNetwork, slices: tuple[str, ...] = ("direct",)) -> Influence:
    """The way of news through one mode: into the hidden tensor by U of the candidate gate, out of it by V.

    V_d U_d is signed up to the signs of the other modes; it is turned so that continuation (the diagonal) is positive.
    """
    cell, readout = network.cell, network.readout
    if network.config.num_layers != 1 or (readout is not None and not readout.is_tucker):
        raise TRNNError(
            "Mode matrices can be read off a network of one layer with a tensor response. This one has another form;"
            " use the Jacobian."
        )
    found = []
    for mode in (1, 2, 3):
        way = cell.factor("U", CELLS[network.config.cell].news, mode).double()
        if not CELLS[network.config.cell].own_output:
            way = readout.get_parameter(f"V{mode}")[0].double() @ way
        found.append(way.numpy())
    k = network.target_shape[-1]
    direct = [s for s, text in enumerate(slices) if parse_slice(text).base == "direct"]
    found[2] = np.sum([found[2][:, s * k : (s + 1) * k] for s in direct or [0]], axis=0)
    words = "product of the input factor of the candidate gate and the read-out, mode by mode"
    return Influence.of((m * (1.0 if np.trace(m) >= 0 else -1.0) for m in found), words)


def recent_origins(view: View, n_periods: int = RECENT) -> np.ndarray:
    """The last periods from which a forecast can start."""
    first = max(len(view.series) - n_periods, min(view.reach, len(view.series)) - 1)
    return np.arange(first, len(view.series))


def jacobian_by_period(
    view: NetworkView, origins: np.ndarray, size: float = SIZE, seed: int = 0, progress: Progress = quiet
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per period, how the forecast answers when one actor's acts of the last week are moved: (O, N, N) twice and (O,
    K, K).

    sender[o, i, m] is the mean over partners j and actions k of d y_ijk / d x_mjk, each in usual variations of its
    cell. All acts of m are moved at once, up or down by `size` at random: what answers with the sign of its own
    partner and action is the direct effect, the rest averages out. For a size that is not small this is the Jacobian
    averaged over the stretch that a usual week covers.
    """
    n, k = view.series.shape[1], view.series.shape[3]
    rng = np.random.default_rng(seed)
    pasts = torch.stack([view.past(int(t)) for t in origins])
    nudge, moving = view.nudger(pasts), view.spread() > 0
    if not view.series.source.diagonal:
        moving &= ~np.eye(n, dtype=bool)[:, :, None]
    out = [np.zeros((len(origins), n, n)), np.zeros((len(origins), n, n)), np.zeros((len(origins), k, k))]
    for mode in (0, 1):
        live = moving if mode == 0 else moving.swapaxes(0, 1)  # (mover, partner, action)
        for m in range(n):
            progress(
                (mode * n + m) / (2 * n + k), f"{view.series.actors[m]}, {'sending' if mode == 0 else 'receiving'}"
            )
            signs = rng.choice([-1.0, 1.0], size=(len(origins), n, k)) * live[m]
            direction = np.zeros((len(origins), n, n, k))
            direction[:, m] = signs
            answer = nudge(direction if mode == 0 else direction.swapaxes(1, 2), size)
            if mode == 1:
                answer = answer.swapaxes(1, 2)
            counted = live & live[m]  # (moved, partner, action): both cells move at all
            total = (answer * signs[:, None] * counted).sum(axis=(2, 3))
            out[mode][:, :, m] = total / np.maximum(counted.sum(axis=(1, 2)), 1)
    for l in range(k):
        progress((2 * n + l) / (2 * n + k), view.series.actions[l])
        direction = np.zeros((len(origins), n, n, k))
        signs = rng.choice([-1.0, 1.0], size=(len(origins), n, n)) * moving[..., l]
        direction[..., l] = signs
        counted = moving & moving[..., l, None]
        total = (nudge(direction, size) * signs[..., None] * counted).sum(axis=(1, 2))
        out[2][:, :, l] = total / np.maximum(counted.sum(axis=(0, 1)), 1)
    return out[0], out[1], out[2]


def jacobian_influence(
    view: NetworkView, origins: np.ndarray | None = None, size: float = SIZE, seed: int = 0, progress: Progress = quiet
) -> Influence:
    """The mean of `jacobian_by_period` over recent periods."""
    origins = recent_origins(view) if origins is None else origins
    found = jacobian_by_period(view, origins, size, seed, progress)
    return Influence.of((m.mean(axis=0) for m in found), jacobian_words(view, len(origins)))


def jacobian_words(view: View, n_periods: int) -> str:
    return (
        f"input-output Jacobian of the forecast by last {view.series.period}'s acts, mean over the {n_periods} most"
        f" recent {view.series.period}s, in usual variations of each relation"
    )


def mltr_influence(series: RelationalSeries, fitted: JointMLTR | None = None) -> Influence:
    """Hoff's B1, B2, B3, fitted on the same periods: the multilinear regression of normal scores on the week before."""
    found = (fitted or JointMLTR().fit(series)).coefficients(1)[0]
    assert isinstance(found, Multilinear)
    turned = [m * (1.0 if np.trace(m) >= 0 else -1.0) for m in found.factors[:3]]
    return Influence.of(turned, f"Hoff's multilinear regression, B1, B2, B3, on {len(series)} {series.period}s")


def network_modes(view: View) -> Influence | None:
    """The mode matrices where the model has them; None for another form of model."""
    if not isinstance(view, NetworkView):
        return None
    try:
        return mode_influence(view.network, tuple(view.prepared.data.slices))
    except TRNNError:
        return None


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


def recovery(found: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Correlation with the truth over all entries, and off the diagonal only.

    >>> recovery(np.array([[2.0, 1.0], [0.0, 2.0]]), np.array([[1.0, 0.5], [0.0, 1.0]]))
    (1.0, 1.0)
    """
    off = ~np.eye(len(truth), dtype=bool)
    every = np.corrcoef(found.ravel(), truth.ravel())[0, 1]
    return round(float(every), 12), round(float(np.corrcoef(found[off], truth[off])[0, 1]), 12)
