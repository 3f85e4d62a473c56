"""Work on several parts of a batch at once, one processor thread each.

Torch can also split every single operation over its threads, but the operations of a recurrent step are short and
starting them together costs more than it saves; whole parts of a batch meet only at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import TypeVar

import torch

Part = TypeVar("Part")
Result = TypeVar("Result")


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="trnn-batch", initializer=_begin)


def _begin() -> None:
    """Each thread runs torch's operations on itself alone, and takes denormal numbers as zero (see `training.trainer`)."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)


def deal(items: Sequence[Part], n_hands: int) -> list[Sequence[Part]]:
    """Cut into at most n_hands runs of neighbours, none empty, as even as can be.

    >>> deal([1, 2, 3, 4, 5], 2)
    [[1, 2, 3], [4, 5]]
    """
    n_hands = max(1, min(n_hands, len(items)))
    size, extra = divmod(len(items), n_hands)
    starts = [i * size + min(i, extra) for i in range(n_hands + 1)]
    return [items[a:b] for a, b in pairwise(starts)]


def map_parts(work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """work(part) for each part, in the parts' order whichever ends first; a single part stays in this thread."""
    if len(parts) == 1:
        return [work(parts[0])]
    return list(_pool(len(parts)).map(work, parts))
