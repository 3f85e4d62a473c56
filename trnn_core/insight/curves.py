"""Curves: elementwise maps between levels and the scale a network works on, with their derivatives.

The *level* of a count is log(1 + count), of any other value the value itself. All transforms act cell by cell; those
that are straight lines in the level or in the value are exact in torch, any other is taken from numpy with a central
difference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trnn_core.data.transforms import Transform

_STEP = 1e-4
Map = Callable[[np.ndarray], np.ndarray]


class LevelCurve:
    """Level -> network scale (`forward`) and back (`backward`), for arrays (..., N, M, K)."""

    def __init__(self, transform: Transform, counts: bool, dtype: torch.dtype) -> None:
        self.transform, self.counts, self.dtype = transform, counts, dtype
        self._kind, self._at_zero, self._slope = self._straight()

    def value(self, level: Tensor) -> Tensor:
        return torch.expm1(level) if self.counts else level

    def forward(self, level: Tensor) -> Tensor:
        if self._kind == "level":
            return self._at_zero + self._slope * level
        if self._kind == "value":
            return self._at_zero + self._slope * self.value(level)
        return _Elementwise.apply(level, lambda x: self.transform.apply(self._to_value(x)))

    def backward(self, z: Tensor) -> Tensor:
        """The level of a point on the network's scale; a count is never below zero."""
        if self._kind == "curved":
            return _Elementwise.apply(z, lambda x: self._to_level(self.transform.invert(x)))
        flat = (z - self._at_zero) / self._slope
        if self._kind == "level":
            return flat.clamp_min(0.0) if self.counts else flat
        return torch.log1p(flat.clamp_min(0.0)) if self.counts else flat

    def _straight(self) -> tuple[str, Tensor, Tensor]:
        """Whether the map is a straight line in the level or in the value, with its height at zero and its slope."""
        for kind, to_value in (("level", self._to_value), ("value", lambda x: x)):
            at = [
                self.transform.apply(to_value(np.full(self.transform.shape, x, dtype=np.float64)))
                for x in (0.0, 0.5, 2.0)
            ]
            slope = (at[2] - at[0]) / 2.0
            if np.allclose(at[1], at[0] + slope / 2, rtol=1e-9, atol=1e-12) and (np.abs(slope) > 0).all():
                return kind, torch.from_numpy(at[0]).to(self.dtype), torch.from_numpy(slope).to(self.dtype)
        return "curved", torch.zeros(()), torch.ones(())

    def _to_value(self, level: np.ndarray) -> np.ndarray:
        return np.expm1(level) if self.counts else level

    def _to_level(self, value: np.ndarray) -> np.ndarray:
        return np.log1p(np.maximum(value, 0.0)) if self.counts else value


class _Elementwise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, f: Map) -> Tensor:  # type: ignore[override]
        at = x.detach().numpy().astype(np.float64)
        ctx.slope = torch.from_numpy((f(at + _STEP) - f(at - _STEP)) / (2 * _STEP)).to(x.dtype)
        return torch.from_numpy(f(at)).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        return gradient * ctx.slope, None
