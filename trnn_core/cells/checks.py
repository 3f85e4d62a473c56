"""Bad input to a cell, told with the mode, both sizes and the cure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from trnn_core.errors import TRNNError


def check_shapes(input_shape: Sequence[int], hidden_shape: Sequence[int], num_layers: int) -> None:
    if len(input_shape) != len(hidden_shape) or not input_shape:
        raise TRNNError(
            f"The hidden shape must have as many modes as the input shape, at least one. Got {tuple(hidden_shape)} "
            f"({len(hidden_shape)} modes) for an input of {tuple(input_shape)} ({len(input_shape)} modes)."
        )
    for what, shape in (("input", input_shape), ("hidden", hidden_shape)):
        for mode, size in enumerate(shape, start=1):
            if isinstance(size, bool) or int(size) != size or size < 1:
                raise TRNNError(
                    f"Mode {mode} of the {what} shape must be a whole number of at least 1. Got {size!r} instead."
                )
    if num_layers < 1:
        raise TRNNError(f"A network needs at least one layer. Got num_layers={num_layers} instead.")


def check_input(x: Any, input_shape: Sequence[int], like: Tensor) -> None:
    if not isinstance(x, Tensor):
        raise TRNNError(
            f"The input must be a torch tensor (batch, time, *{tuple(input_shape)}). Got {type(x).__name__}; use torch.as_tensor."
        )
    expected = f"(batch, time, {', '.join(map(str, input_shape))})"
    if x.ndim != len(input_shape) + 2:
        raise TRNNError(
            f"The input must have {len(input_shape) + 2} axes, {expected}. Got {x.ndim} axes, shape {tuple(x.shape)}; "
            f"{'add the batch and time axes' if x.ndim < len(input_shape) + 2 else 'drop or merge the extra axes'}."
        )
    for mode, (size, want) in enumerate(zip(x.shape[2:], input_shape, strict=True), start=1):
        if size != want:
            raise TRNNError(
                f"Mode {mode} of the input must have size {want}, as the cell was made for {tuple(input_shape)}. Got {size} instead; reorder the input or make the cell with input_shape={tuple(x.shape[2:])}."
            )
    if 0 in x.shape[:2]:
        raise TRNNError(
            f"The input must have at least one sequence and one step. Got {x.shape[0]} sequences of {x.shape[1]} steps; leave empty batches out."
        )
    _check_kind("input", x, like)


def check_state(state: Any, names: tuple[str, ...], shape: tuple[int, ...], like: Tensor) -> None:
    if state is None:
        return
    parts = state if len(names) > 1 else (state,)
    if (
        not isinstance(parts, (tuple, list))
        or len(parts) != len(names)
        or not all(isinstance(p, Tensor) for p in parts)
    ):
        raise TRNNError(
            f"The state must be {'the tensors (' + ', '.join(names) + ')' if len(names) > 1 else 'one tensor H'}. Got {type(state).__name__} instead."
        )
    for name, part in zip(names, parts, strict=True):
        if tuple(part.shape) != shape:
            raise TRNNError(
                f"State {name} must have shape {shape} (layers, batch, modes). Got {tuple(part.shape)} instead; hand over the state of a call with the same batch."
            )
        _check_kind(f"state {name}", part, like)


def check_lengths(lengths: Any, n_sequences: int, n_steps: int) -> Tensor | None:
    """Lengths as a tensor on the CPU, or None when every sequence fills all steps."""
    if lengths is None:
        return None
    lengths = torch.as_tensor(lengths).cpu()
    if lengths.shape != (n_sequences,) or lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise TRNNError(
            f"Lengths must be {n_sequences} whole numbers, one for each sequence. Got shape {tuple(lengths.shape)} of {lengths.dtype} instead."
        )
    for bad in ((lengths < 1) | (lengths > n_steps)).nonzero().flatten().tolist()[:1]:
        raise TRNNError(
            f"Lengths must lie between 1 and the {n_steps} steps of the input. Got {int(lengths[bad])} for sequence {bad}; leave out empty sequences."
        )
    return None if bool((lengths == n_steps).all()) else lengths


def check_finite(x: Tensor, what: str) -> None:
    """Training calls this once on its data; a NaN inside a batch would spread to every weight."""
    if not torch.isfinite(x).all():
        where = tuple((~torch.isfinite(x)).nonzero()[0].tolist())
        raise TRNNError(
            f"The {what} must be finite. Got {x[where].item()} at position {where}; fill missing cells and keep their mask instead."
        )


def _check_kind(what: str, x: Tensor, like: Tensor) -> None:
    if x.dtype != like.dtype:
        raise TRNNError(f"The {what} must have the cell's dtype {like.dtype}. Got {x.dtype}; use .to({like.dtype}).")
    if x.device != like.device:
        raise TRNNError(
            f"The {what} must be on the cell's device {like.device}. Got {x.device}; use .to('{like.device}')."
        )


def check_windows(weeks: Tensor, length: int, input_shape: Sequence[int]) -> int:
    """The number of windows of this length in a stretch of weeks."""
    if weeks.ndim != len(input_shape) + 1 or tuple(weeks.shape[1:]) != tuple(input_shape):
        raise TRNNError(
            f"Weeks must have shape (weeks, {', '.join(map(str, input_shape))}). Got {tuple(weeks.shape)} instead."
        )
    if not 1 <= length <= weeks.shape[0]:
        raise TRNNError(
            f"A window must be between 1 and the {weeks.shape[0]} weeks given. Got {length} instead; shorten the window or give more weeks."
        )
    return weeks.shape[0] - length + 1
