"""What the cells' backpropagation through time has in common: the walk through a batch, padding, carried gradients."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Walk(NamedTuple):
    """How a sweep walks over the input products, which lie as (G, h_1, ..., n, h_D).

    Step t of the B sequences reads the entries [start + t * hop, start + t * hop + B). With hop = B these are B
    separate sequences side by side; with hop = 1 they are B overlapping windows of one series, whose input products
    exist once.
    """

    n_steps: int
    n_sequences: int
    hop: int
    active: Tensor | None = None  # (T, B, 1), one while a sequence lasts and zero behind its end
    start: int = 0
    sink: Tensor | None = None  # where to add dl/d(inputs); several sweeps over parts of the inputs share one sum

    def at(self, inputs: Tensor, step: int) -> Tensor:
        """The input products of one step, (G, h_1, ..., B, h_D), as a view."""
        return inputs.narrow(-2, self.start + step * self.hop, self.n_sequences)

    def input_grad(self, inputs: Tensor) -> Tensor:
        return torch.zeros_like(inputs) if self.sink is None else self.sink

    def freeze(self, new: Tensor, old: Tensor | None, step: int) -> None:
        """A sequence that has ended keeps its state: overwrite `new` by `old` behind the end."""
        if self.active is not None:
            new.mul_(self.active[step])
            if old is not None:
                new.addcmul_(old, 1 - self.active[step])

    def split(self, grad: Tensor, step: int) -> tuple[Tensor, Tensor | None]:
        """The part of a state's gradient that enters this step, and the part that passes it by."""
        if self.active is None:
            return grad, None
        return grad * self.active[step], grad * (1 - self.active[step])

    def receive(self, grad: Tensor | None, d_outputs: Tensor | None, hiddens: Tensor, step: int) -> Tensor:
        """dl/d_h H_t: what comes from the next step plus what comes from this step's output (eq. 23)."""
        if d_outputs is not None:
            own = d_outputs[step] if self.active is None else d_outputs[step] * self.active[step]
            return own if grad is None else grad + own
        return torch.zeros_like(hiddens[step]) if grad is None else grad

    def hide(self, hiddens: Tensor) -> Tensor:
        """Outputs (T, h_1, ..., B, h_D) with zeros behind a sequence's end."""
        if self.active is None:
            return hiddens
        return hiddens * self.active.view(self.n_steps, *[1] * (hiddens.ndim - 3), self.n_sequences, 1)


def padding_mask(lengths: Tensor, n_steps: int, like: Tensor) -> Tensor:
    """(T, B, 1): one where step t is within the sequence."""
    steps = torch.arange(n_steps, device=lengths.device).unsqueeze(1)
    return (steps < lengths).to(dtype=like.dtype, device=like.device).unsqueeze(-1)


def plus(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    """Sum of two gradients, either of which may be absent."""
    if a is None or b is None:
        return a if b is None else b
    return a + b
