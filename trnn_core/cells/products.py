"""The matrix products of a step, by whichever library is quickest for them.

A cell's products are many and small: (14 x 14)(14 x 854) and the like. On a processor NumPy's BLAS has kernels for such
sizes and takes about half the time of the one in torch (`benchmarks/cells/blas.py`); a graphics card and numbers in
bfloat16 are torch's. NumPy's arrays and torch's tensors agree in what the engine does with them (`reshape`, `swapaxes`,
`sum`, `+=`), so that only these few functions know which of the two they have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

Array = Any  # a NumPy array on a processor, else a tensor
_NUMPYS = (torch.float32, torch.float64)


def native(x: Tensor) -> Array:
    """The same memory as the library sees it that multiplies it; outside of autograd."""
    x = x.detach()
    return x.numpy() if x.device.type == "cpu" and x.dtype in _NUMPYS else x


def tensor(x: Array) -> Tensor:
    """The inverse of `native`."""
    return torch.from_numpy(x) if isinstance(x, np.ndarray) else x


quiet = np.errstate(all="ignore")  # infinities and NaN travel on without a warning, as in torch


def matmul(a: Array, b: Array, out: Array = None) -> Array:
    """a b, for matrices or stacks of them."""
    return np.matmul(a, b, out=out) if isinstance(a, np.ndarray) else torch.matmul(a, b, out=out)
