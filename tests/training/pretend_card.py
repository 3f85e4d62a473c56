"""A device that is not there: its tensors hold real numbers, and refuse to be mixed with the processor's.

What runs on a graphics card can so be tried without one: a tensor that was made on the processor by mistake is found by
the first operation it meets. Torch's name for a device without memory, "meta", stands for the card.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map_only

CARD = torch.device("meta")


class OnCard(torch.Tensor):
    held: torch.Tensor

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> OnCard:
        self = torch.Tensor._make_wrapper_subclass(
            cls, held.shape, strides=held.stride(), storage_offset=held.storage_offset(), dtype=held.dtype, device=CARD
        )  # type: ignore[attr-defined]
        self.held = held
        return self

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
        return compute(function, arguments, options or {})


class PretendCard(TorchDispatchMode):
    """While it is on, `device=CARD` makes tensors of the pretended card."""

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
        return compute(function, arguments, options or {})


def compute(function: Any, arguments: Any, options: dict[str, Any]) -> Any:
    given = tree_flatten((arguments, options))[0]
    on_card = [x for x in given if isinstance(x, OnCard)]
    moves = "device" in options and options["device"] is not None
    target = torch.device(options["device"]) if moves else None
    if on_card and not moves and function is not torch.ops.aten.copy_.default:
        for x in given:
            if type(x) in (torch.Tensor, torch.nn.Parameter) and x.ndim:  # a card takes single numbers from anywhere
                raise RuntimeError(f"{function}: a tensor of shape {tuple(x.shape)} is on the processor")
    plain = tree_map_only(OnCard, lambda x: x.held, (arguments, {**options, **({"device": "cpu"} if moves else {})}))
    found = function(*plain[0], **plain[1])
    if target == CARD if moves else bool(on_card):
        known = {id(x.held): x for x in on_card}  # an operation in place gives back what it was given
        return tree_map_only(torch.Tensor, lambda x: known[id(x)] if id(x) in known else OnCard(x), found)
    return found
