"""How large a network is and how much work an epoch takes, without building it: for a form, before anything starts.

No torch here. Shapes are (N, M, K_in) in, (A, B, C) hidden, (N, M, K) out.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from trnn_core.cells.kinds import CELLS
from trnn_core.models.config import ModelConfig
from trnn_core.models.likelihoods import likelihood_of

DYAD_CHANNELS, DYAD_SEASONAL, DYAD_RECURRENT = 34, 2, 11  # what a dyad network reads: always, with a season, over time
_DYAD_OUTPUTS = 3


def count_parameters(
    config: ModelConfig, input_shape: Sequence[int], target_shape: Sequence[int], period: str = "week"
) -> int:
    """Weights and biases of the network; a dyad network reads the season too where the period has one.

    >>> count_parameters(ModelConfig(hidden_shape=(14, 14, 4)), (25, 25, 4), (25, 25, 4))
    10848
    >>> count_parameters(ModelConfig(network="dyad", members=3), (25, 25, 4), (25, 25, 4))
    14052
    """
    if config.network == "dyad":
        return config.members * _count_dyad(config.channels, target_shape[-1], period)
    hidden, gates = config.hidden_shape, len(CELLS[config.cell].gates)
    own_output = CELLS[config.cell].own_output
    state = tuple(target_shape) if own_output else hidden
    total = 0
    for layer in range(config.num_layers):
        entering = input_shape if layer == 0 else state
        total += gates * (sum(h * (s + x) for h, s, x in zip(hidden, state, entering, strict=True)) + prod(hidden))
        if own_output:
            total += _read_out(hidden, target_shape)
    if not own_output:
        total += _read_out(hidden, target_shape)
    return total + target_shape[-1] * len(likelihood_of(config.likelihood).parameters)


def count_vector_parameters(config: ModelConfig, input_shape: Sequence[int], target_shape: Sequence[int]) -> int:
    """What an ordinary network of the same cell and as many hidden units would need, on vectors.

    >>> count_vector_parameters(ModelConfig(hidden_shape=(14, 14, 4)), (25, 25, 4), (25, 25, 4))
    12264260
    """
    hidden = config.hidden_shape if config.network == "tensor" else (*target_shape, config.channels)
    units, gates = prod(hidden), len(CELLS[config.cell].gates)
    total = 0
    for layer in range(config.num_layers):
        entering = prod(input_shape) if layer == 0 else units
        total += gates * units * (entering + units + 1)
    return total + (units + 1) * prod(target_shape)


def operations(config: ModelConfig, input_shape: Sequence[int], target_shape: Sequence[int]) -> int:
    """Multiplications and additions of one step forward, mode after mode; a backward step takes about twice that."""
    if config.network == "dyad":
        n, m, k = target_shape
        step = 3 * (
            _mode_products((DYAD_RECURRENT, k), (config.channels, k))
            + _mode_products((config.channels, k), (config.channels, k))
        )
        return config.members * n * m * step
    hidden, gates = config.hidden_shape, len(CELLS[config.cell].gates)
    first = gates * (_mode_products(input_shape, hidden) + _mode_products(hidden, hidden))
    more = (config.num_layers - 1) * gates * 2 * _mode_products(hidden, hidden)
    return first + more + _mode_products(hidden, target_shape)


def _mode_products(before: Sequence[int], after: Sequence[int]) -> int:
    sizes, total = list(before), 0
    for d, (x, h) in enumerate(zip(before, after, strict=True)):
        total += 2 * h * x * prod(s for i, s in enumerate(sizes) if i != d)
        sizes[d] = h
    return total


def _read_out(hidden: Sequence[int], target: Sequence[int]) -> int:
    return sum(h * y for h, y in zip(hidden, target, strict=True)) + prod(target)


def _count_dyad(hidden: int, n_actions: int, period: str) -> int:
    """One member: the tGRU over time, and the three layers around it (`models.dyad_network`)."""
    channels = DYAD_CHANNELS + (DYAD_SEASONAL if period in ("day", "week", "month") else 0)
    cell = 3 * (hidden * (DYAD_RECURRENT + hidden) + 2 * n_actions**2 + hidden * n_actions)
    layers = [(channels, 2 * hidden), (3 * hidden, 2 * hidden), (2 * hidden, _DYAD_OUTPUTS)]
    return cell + sum(out * before + n_actions**2 + out * n_actions for before, out in layers)
