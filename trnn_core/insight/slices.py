"""The explanatory slices of `data/designs.py` once more, in torch, so that a forecast can be differentiated by the
past.

Dimension letters: B histories, T periods, N actors, K actions.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from trnn_core.data.designs import Slice, parse_slice

LONG_MEMORY = ("ewma", "level")


def stack_slices(z: Tensor, counts: Tensor, seen: Tensor, slices: Sequence[str], diagonal: bool) -> Tensor:
    """(B, T, N, N, K) of transformed values, counts and what was observed -> (B, T, N, N, K_in)."""
    blocks = []
    for text in slices:
        s = parse_slice(text)
        if s.base == "observed":
            block = seen.to(z.dtype).expand_as(z)
        else:
            block = _base(counts if s.time == "level" else z, s.base, diagonal)
        blocks.append(_over_time(block, s))
    return torch.cat(blocks, dim=-1)


def _base(z: Tensor, name: str, diagonal: bool) -> Tensor:
    if name == "direct":
        return z
    if name == "reciprocal":
        return z.transpose(2, 3)
    off = z if diagonal else z * (1 - torch.eye(z.shape[2], dtype=z.dtype))[:, :, None]
    if name.startswith("transitive"):
        y = off.permute(0, 1, 4, 2, 3)
        both = y + y.transpose(-1, -2)
        paths = (both @ both.transpose(-1, -2)).permute(0, 1, 3, 4, 2)
        if name == "transitive":
            return paths
        mean = paths / (4 * z.shape[2])
        return torch.sign(mean) * torch.sqrt(torch.abs(mean).clamp_min(1e-20))
    n = z.shape[2]
    partners = max(n if diagonal else n - 1, 1)
    if name == "world":
        return (off.sum(dim=(2, 3), keepdim=True) / (n * partners)).expand_as(z)
    axis = 3 if name in ("sender", "receiver_sent") else 2
    total = off.sum(dim=axis, keepdim=True) / partners
    return (total.transpose(2, 3) if "_" in name else total).expand_as(z)


def _over_time(block: Tensor, s: Slice) -> Tensor:
    if s.time == "lag":
        return _earlier(block, int(s.amount))
    if s.time == "mean":
        steps = [_earlier(block, lag) for lag in range(int(s.amount))]
        return torch.stack(steps).mean(dim=0)
    if s.time in LONG_MEMORY:
        rows = [block[:, 0]]
        for t in range(1, block.shape[1]):
            rows.append((1 - s.amount) * rows[-1] + s.amount * block[:, t])
        smooth = torch.stack(rows, dim=1)
        return torch.log1p(smooth) if s.time == "level" else smooth
    return block


def _earlier(block: Tensor, lag: int) -> Tensor:
    """`lag` periods before; the first period stands for all before it."""
    first = block[:, :1].expand(-1, min(lag, block.shape[1]), *block.shape[2:])
    return torch.cat([first, block[:, : max(block.shape[1] - lag, 0)]], dim=1)
