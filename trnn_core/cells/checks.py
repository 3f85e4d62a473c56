"""Bad input to a cell, told with the mode, both sizes and the cure."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import torch
from torch import Tensor

from trnn_core.errors import TRNNError


def check_shapes(input_shape: Sequence[int], hidden_shape: Sequence[int], num_layers: int) -> None:
    for what, shape in (("input", input_shape), ("hidden", hidden_shape)):
        check_sizes(what, shape)
    if len(input_shape) != len(hidden_shape) or not input_shape:
        raise TRNNError(
            f"The hidden shape must have as many modes as the input shape, at least one. Got {tuple(hidden_shape)} "
            f"({len(hidden_shape)} modes) for an input of {tuple(input_shape)} ({len(input_shape)} modes)."
        )
    if not _is_count(num_layers):
        raise TRNNError(f"A network needs at least one layer, a whole number. Got num_layers={num_layers!r} instead.")


def check_sizes(what: str, shape: Any) -> None:
    """Every mode of a shape must be a whole number of at least one."""
    if not isinstance(shape, Sequence) or isinstance(shape, str):
        raise TRNNError(
            f"The {what} shape must be a sequence of mode sizes, such as (25, 25, 4). Got {shape!r} instead."
        )
    for mode, size in enumerate(shape, start=1):
        if not _is_count(size):
            raise TRNNError(
                f"Mode {mode} of the {what} shape must be a whole number of at least 1. Got {size!r} instead."
            )


def _is_count(size: Any) -> bool:
    return isinstance(size, Integral) and not isinstance(size, bool) and int(size) >= 1


def check_input(x: Any, input_shape: Sequence[int], like: Tensor) -> None:
    if not isinstance(x, Tensor):
        raise TRNNError(
            f"The input must be a torch tensor (batch, time, *{tuple(input_shape)}). Got {type(x).__name__}; use"
            " torch.as_tensor."
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
                f"Mode {mode} of the input must have size {want}, as the cell was made for {tuple(input_shape)}. Got"
                f" {size} instead; reorder the input or make the cell with input_shape={tuple(x.shape[2:])}."
            )
    if 0 in x.shape[:2]:
        raise TRNNError(
            f"The input must have at least one sequence and one step. Got {x.shape[0]} sequences of {x.shape[1]} steps;"
            " leave empty batches out."
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
            "The state must be"
            f" {'the tensors (' + ', '.join(names) + ')' if len(names) > 1 else 'one tensor ' + names[0]}. Got"
            f" {type(state).__name__} instead."
        )
    for name, part in zip(names, parts, strict=True):
        if tuple(part.shape) != shape:
            raise TRNNError(
                f"State {name} must have shape {shape} (layers, batch, modes). Got {tuple(part.shape)} instead; hand"
                " over the state of a call with the same batch."
            )
        _check_kind(f"state {name}", part, like)
        check_finite(part, f"state {name}", ("layer", "sequence"))


def check_lengths(lengths: Any, n_sequences: int, n_steps: int) -> Tensor | None:
    """Lengths as a tensor on the CPU, or None when every sequence fills all steps."""
    if lengths is None:
        return None
    lengths = torch.as_tensor(lengths).cpu()
    if lengths.shape != (n_sequences,) or lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise TRNNError(
            f"Lengths must be {n_sequences} whole numbers, one for each sequence. Got shape {tuple(lengths.shape)} of"
            f" {lengths.dtype} instead."
        )
    for bad in ((lengths < 1) | (lengths > n_steps)).nonzero().flatten().tolist()[:1]:
        raise TRNNError(
            f"Lengths must lie between 1 and the {n_steps} steps of the input. Got {int(lengths[bad])} for sequence"
            f" {bad}; leave out empty sequences."
        )
    return None if bool((lengths == n_steps).all()) else lengths


def check_finite(x: Tensor, what: str, axes: tuple[str, ...] = ()) -> None:
    """One NaN would spread to every prediction and every weight: name the first, with its place along the axes.

    `axes` names the leading axes; the others are the modes, counted from 1. Places are counted from 0.
    """
    if x.is_meta or torch.isfinite(x.detach().sum()):  # one pass and no copy; an overflowing sum is looked at closely
        return
    for place in (~torch.isfinite(x)).nonzero()[:1].tolist():
        names = [*axes, *(f"mode {d} index" for d in range(1, x.ndim - len(axes) + 1))]
        where = ", ".join(f"{name} {index}" for name, index in zip(names, place, strict=True))
        raise TRNNError(
            f"The {what} must be finite. Got {x[tuple(place)].item()} at {where} (counted from 0); "
            "fill missing cells and keep their mask instead."
        )


def _check_kind(what: str, x: Tensor, like: Tensor) -> None:
    if x.dtype != like.dtype:
        raise TRNNError(f"The {what} must have the cell's dtype {like.dtype}. Got {x.dtype}; use .to({like.dtype}).")
    if x.device != like.device:
        raise TRNNError(
            f"The {what} must be on the cell's device {like.device}. Got {x.device}; use .to('{like.device}')."
        )


def check_windows(weeks: Tensor, length: int, input_shape: Sequence[int], like: Tensor) -> int:
    """The number of windows of this length in a stretch of weeks."""
    check_weeks(weeks, "weeks", input_shape, like)
    check_finite(weeks, "weeks", ("week",))
    if not _is_count(length) or length > weeks.shape[0]:
        raise TRNNError(
            f"A window must be between 1 and the {weeks.shape[0]} weeks given. Got {length!r} instead; shorten the"
            " window or give more weeks."
        )
    return weeks.shape[0] - length + 1


def check_weeks(weeks: Any, what: str, shape: Sequence[int], like: Tensor | None, n_weeks: int | None = None) -> None:
    """A stretch of weeks of one series, (weeks, *shape); `like` gives dtype and device where they matter."""
    expected = f"({n_weeks or 'weeks'}{''.join(f', {size}' for size in shape)})"
    if not isinstance(weeks, Tensor):
        raise TRNNError(
            f"The {what} must be a torch tensor {expected}. Got {type(weeks).__name__}; use torch.as_tensor."
        )
    if tuple(weeks.shape[1:]) != tuple(shape) or not weeks.ndim or n_weeks not in (None, weeks.shape[0]):
        raise TRNNError(f"The {what} must have shape {expected}. Got {tuple(weeks.shape)} instead.")
    if like is not None:
        _check_kind(what, weeks, like)
