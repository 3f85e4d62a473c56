"""Windows copied out as one padded block: the plain reading of them, to hold the shared ones of training to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trnn_core.data.windows import Windows
from trnn_core.errors import TRNNError


@dataclass(frozen=True)
class Padded:
    """Windows laid out as one block, shorter ones padded with zeros behind their end.

    inputs (W, L, ...), lengths (W,), targets (W, ...) or (W, L, ...), scored bool (W,) or (W, L).
    """

    inputs: np.ndarray
    lengths: np.ndarray
    targets: np.ndarray
    scored: np.ndarray


def padded(inputs: Sequence[np.ndarray], targets: Sequence[np.ndarray], windows: Windows) -> Padded:
    """Copy the windows out of the series they index; `inputs` and `targets` hold one (T_j, ...) array per series."""
    for name, arrays in (("inputs", inputs), ("targets", targets)):
        if len(arrays) != len(windows.parts):
            raise TRNNError(f"The {name} must be one array for each of {len(windows.parts)} series. Got {len(arrays)}.")
    n, longest = len(windows), int(windows.length.max())
    x = np.zeros((n, longest, *inputs[0].shape[1:]), dtype=inputs[0].dtype)
    y = np.zeros((n, longest, *targets[0].shape[1:]), dtype=targets[0].dtype)
    scored = np.zeros((n, longest), dtype=bool)
    for w in range(n):
        s, a, count = int(windows.series[w]), int(windows.first[w]), int(windows.length[w])
        x[w, :count] = inputs[s][a : a + count]
        ahead = np.arange(a, a + count) + windows.horizon
        y[w, :count] = targets[s][ahead]
        scored[w, :count] = (ahead >= windows.parts[s].start) & (ahead < windows.parts[s].stop)
    if windows.every_step:
        return Padded(x, windows.length, y, scored)
    rows = np.arange(n)
    return Padded(x, windows.length, y[rows, windows.length - 1], scored[rows, windows.length - 1])
