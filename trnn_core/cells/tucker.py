"""The Tucker map and its derivatives, in the paper's notation (eq. 19-22) and TensorLy's vocabulary.

Modes are counted from 1 as in the paper. `vec` stacks mode 1 fastest (Kolda's order), which is what makes
`vec(X x_1 W_1 ... x_D W_D) = (W_D (x) ... (x) W_1) vec(X)` true. These are the plain forms that tests and docs
lean on; the networks use the same maps in the stacked layout of `stacked.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import torch
from torch import Tensor

from trnn_core.errors import TRNNError


def vec(tensor: Tensor) -> Tensor:
    """Stack all entries in one vector, the first mode running fastest.

    >>> vec(torch.tensor([[1, 3], [2, 4]])).tolist()
    [1, 2, 3, 4]
    """
    return tensor.permute(*reversed(range(tensor.ndim))).reshape(-1)


def ivec(vector: Tensor, shape: Sequence[int]) -> Tensor:
    """The inverse of `vec` (the paper's iVec)."""
    return vector.reshape(*reversed(shape)).permute(*reversed(range(len(shape))))


def unfold(tensor: Tensor, mode: int) -> Tensor:
    """The mode-d matricisation: mode d along the rows, the others along the columns, the lowest running fastest.

    >>> unfold(torch.arange(8).reshape(2, 2, 2), mode=1).tolist()
    [[0, 2, 1, 3], [4, 6, 5, 7]]
    """
    _check_mode(mode, tensor.ndim)
    others = [d for d in reversed(range(tensor.ndim)) if d != mode - 1]
    return tensor.permute(mode - 1, *others).reshape(tensor.shape[mode - 1], -1)


def fold(matrix: Tensor, mode: int, shape: Sequence[int]) -> Tensor:
    """The inverse of `unfold`: put the mode-d matricisation back into a tensor of this shape."""
    _check_mode(mode, len(shape))
    others = [d for d in reversed(range(len(shape))) if d != mode - 1]
    order = [mode - 1, *others]
    tensor = matrix.reshape([shape[d] for d in order])
    return tensor.permute([order.index(d) for d in range(len(shape))])


def mode_product(tensor: Tensor, matrix: Tensor, mode: int) -> Tensor:
    """X x_d W: multiply every mode-d fibre by the matrix.

    >>> mode_product(torch.ones(2, 3), torch.ones(4, 3), mode=2).shape
    torch.Size([2, 4])
    """
    _check_mode(mode, tensor.ndim)
    if matrix.ndim != 2 or matrix.shape[1] != tensor.shape[mode - 1]:
        raise TRNNError(
            f"The mode-{mode} product needs a matrix with {tensor.shape[mode - 1]} columns, the size of mode {mode} of"
            f" a tensor of shape {tuple(tensor.shape)}. Got a matrix of shape {tuple(matrix.shape)} instead."
        )
    return torch.tensordot(tensor, matrix, dims=([mode - 1], [1])).movedim(-1, mode - 1)


def tucker_map(tensor: Tensor, factors: Sequence[Tensor]) -> Tensor:
    """X x_1 W_1 x_2 W_2 ... x_D W_D."""
    if len(factors) != tensor.ndim:
        raise TRNNError(
            f"A Tucker map needs one factor for each mode, {tensor.ndim} for shape {tuple(tensor.shape)}. Got"
            f" {len(factors)}."
        )
    return reduce(lambda z, dw: mode_product(z, dw[1], mode=dw[0]), enumerate(factors, start=1), tensor)


def kronecker(matrices: Sequence[Tensor]) -> Tensor:
    """W_D (x) ... (x) W_1 for matrices given as W_1, ..., W_D: mode 1 runs fastest, as in `vec`."""
    return reduce(lambda k, w: torch.kron(w, k), matrices)


def jacobian_input(factors: Sequence[Tensor]) -> Tensor:
    """dM/dH of the Tucker map, |M| x |H| (eq. 19)."""
    return kronecker(factors)


def jacobian_factor(tensor: Tensor, factors: Sequence[Tensor], mode: int) -> Tensor:
    """dM_(d)/dW_d of the Tucker map, |M| x |W_d|, both sides vectorised (eq. 20 and 21, corrected).

    The Kronecker product runs over the modes D ... d+1, d-1 ... 1 and the identity has the size of the *output's*
    mode d.
    """
    _check_mode(mode, tensor.ndim)
    others = [w for d, w in enumerate(factors, start=1) if d != mode]
    rest = kronecker(others) if others else torch.ones(1, 1, dtype=tensor.dtype, device=tensor.device)
    n_out = factors[mode - 1].shape[0]
    identity = torch.eye(n_out, dtype=tensor.dtype, device=tensor.device)
    return torch.kron(rest @ unfold(tensor, mode).T, identity)


def jacobian_bias(shape: Sequence[int], like: Tensor) -> Tensor:
    """dM/dB, the identity of size |M| (eq. 22): a tensor bias has an entry-wise gradient."""
    size = reduce(lambda a, b: a * b, shape, 1)
    return torch.eye(size, dtype=like.dtype, device=like.device)


def _check_mode(mode: int, order: int) -> None:
    if not 1 <= mode <= order:
        raise TRNNError(f"The mode must be one of 1 to {order}. Got {mode} instead.")
