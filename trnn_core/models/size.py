"""How large a network is and how much work an epoch takes, without building it: for a form, before anything starts.

No torch here. Shapes are (N, M, K_in) in, (A, B, C) hidden, (N, M, K) out.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from trnn_core.cells.kinds import CELLS
from trnn_core.data.series import RelationalSeries
from trnn_core.models.channels import Channels
from trnn_core.models.config import ModelConfig
from trnn_core.models.panel import Panel


def count_parameters(config: ModelConfig, input_shape: Sequence[int], target_shape: Sequence[int]) -> int:
    """Weights and biases of the tensor network.

    >>> count_parameters(ModelConfig(hidden_shape=(14, 14, 4)), (25, 25, 4), (25, 25, 4))
    10848
    """
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
    return total + (target_shape[-1] if config.likelihood == "negative_binomial" else 0)


def count_dyad_parameters(config: ModelConfig, series: RelationalSeries) -> int:
    """Weights and biases of a dyad network's members, which read the channels that the series' period offers."""
    few = Channels(Panel.of(series.select(periods=slice(-3, None))), series.period)
    f, r, k, c = len(few.names), len(few.recurrent), len(series.actions), config.channels
    cell = 3 * (c * (r + c) + 2 * k * k + c * k)
    layers = sum(b * a + k * k + b * k for a, b in ((f, 2 * c), (3 * c, 2 * c), (2 * c, 3)))
    return config.members * (cell + layers)


def count_vector_parameters(config: ModelConfig, input_shape: Sequence[int], target_shape: Sequence[int]) -> int:
    """What an ordinary network of the same cell and as many hidden units would need, on vectors.

    >>> count_vector_parameters(ModelConfig(hidden_shape=(14, 14, 4)), (25, 25, 4), (25, 25, 4))
    12264260
    """
    units, gates = prod(config.hidden_shape), len(CELLS[config.cell].gates)
    total = 0
    for layer in range(config.num_layers):
        entering = prod(input_shape) if layer == 0 else units
        total += gates * units * (entering + units + 1)
    return total + (units + 1) * prod(target_shape)


def operations(config: ModelConfig, input_shape: Sequence[int], target_shape: Sequence[int]) -> int:
    """Multiplications and additions of one step forward, mode after mode; a backward step takes about twice that."""
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
