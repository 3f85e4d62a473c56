"""Independent parts of one computation side by side, each in a thread that computes by itself.

The operations of a step take 10 to 100 microseconds: sharing one of them among threads costs more than it saves, and
threads that wait for each other at every operation stand still beside a busy neighbour. Whole parts have to wait once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

import torch
from threadpoolctl import ThreadpoolController

Part = TypeVar("Part")
Result = TypeVar("Result")


def side_by_side(work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """work(part) for each part, in the order of the parts."""
    first, *others = parts
    with n_threads(1):
        if not others:
            return [work(first)]
        mode = torch.is_grad_enabled()
        with ThreadPoolExecutor(len(others)) as pool:
            begun = [pool.submit(_with_gradients, mode, work, part) for part in others]
            return [work(first), *(task.result() for task in begun)]


def _with_gradients(mode: bool, work: Callable[[Part], Result], part: Part) -> Result:
    """Whether autograd takes notes is each thread's own business."""
    with torch.set_grad_enabled(mode):
        return work(part)


@contextmanager
def n_threads(n: int) -> Iterator[None]:
    """At most so many threads within one operation, torch's or NumPy's; as before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        with _libraries().limit(limits=n, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()
