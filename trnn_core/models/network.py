"""TensorNetwork: a tensorial recurrent cell, the layer from its hidden state to the response, and a likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import ceil, prod
from typing import Any

import torch
from torch import Tensor, nn

from trnn_core.cells.base import TensorCell
from trnn_core.cells.bptt import Walk, plus
from trnn_core.cells.checks import check_finite, check_weeks, check_windows
from trnn_core.cells.kinds import CELLS
from trnn_core.models.config import ModelConfig
from trnn_core.models.likelihoods import likelihood_of
from trnn_core.models.losses import check_mask, loss
from trnn_core.models.readout import OwnOutput, TensorReadout
from trnn_core.models.squared_readout import Wanted
from trnn_core.models.threads import side_by_side

PART_ENTRIES = 160_000  # entries of one step's gates that are worth a thread
TILE_ENTRIES = 320_000  # entries of one step's gates that stay in a processor's second-level cache (1.3 MB in float32)


def make_cell(config: ModelConfig, input_shape: Sequence[int], target_shape: Sequence[int]) -> TensorCell:
    """The cell that a configuration asks for."""
    kind = CELLS[config.cell]
    activations = [getattr(config, setting, setting) for setting in kind.activations]
    extra = {"output_shape": target_shape} if kind.own_output else {}
    return kind.load()(
        input_shape,
        config.hidden_shape,
        num_layers=config.num_layers,
        init=config.init,
        activations=activations,
        **extra,
    )


class TensorNetwork(nn.Module):
    """Cells and read-out: sequences of input tensors in, raw predictions out.

    Raw predictions are on the scale of the likelihood's link: the value itself for the squared loss, the logarithm of
    the rate for counts, the log-odds for cross-entropy (see `losses.py`).

    >>> network = TensorNetwork(ModelConfig(hidden_shape=(3, 3, 2)), input_shape=(5, 5, 4), target_shape=(5, 5, 4))
    >>> weeks = torch.zeros(20, 5, 5, 4)
    >>> network.windows(weeks, length=7).shape
    torch.Size([14, 5, 5, 4])
    """

    def __init__(self, config: ModelConfig, input_shape: Sequence[int], target_shape: Sequence[int]) -> None:
        super().__init__()
        self.config = config
        self.input_shape, self.target_shape = tuple(input_shape), tuple(target_shape)
        self.cell = make_cell(config, self.input_shape, self.target_shape)
        layout = self.cell.layout
        own = CELLS[config.cell].own_output
        self.readout = (
            OwnOutput(layout) if own else TensorReadout(layout, config.hidden_shape, self.target_shape, config.init)
        )
        self.mixed = False  # whether the matrix products of training are rounded to bfloat16
        self.likelihood = likelihood_of(config.likelihood)
        self._fused = self.likelihood.fused_readout() if self.readout.is_tucker and not own else None
        self.dropout = nn.Dropout(config.dropout)
        for name in self.likelihood.parameters:  # one for each entry of the last mode (action)
            self.register_parameter(name, nn.Parameter(torch.zeros(self.target_shape[-1:])))

    @property
    def device(self) -> torch.device:
        return self.cell._like().device

    def train(self, mode: bool = True) -> TensorNetwork:
        """As every module; what is judged and forecast is never rounded."""
        self.cell.layout.format = torch.bfloat16 if mode and self.mixed else None
        return super().train(mode)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw all weights anew from one generator."""
        self.cell.reset_parameters(generator)
        self.readout.reset_parameters(generator)

    def penalty(self) -> Tensor:
        """Sum of squares of all W and U (the paper's regulariser without its lambda)."""
        return self.cell.penalty()

    def forward(self, x: Tensor, lengths: Tensor | None = None, state: Any = None, every_step: bool = False):
        """(B, T, *input_shape) -> raw predictions (B, *target_shape), or (B, T, *target_shape), and the end state."""
        outputs, state = self.cell(x, state, lengths)
        top = outputs.flatten(0, 1) if every_step else (state[0] if self.cell.n_states > 1 else state)[-1]
        raw = self.readout.outward(self.readout(self.dropout(self.cell.layout.inward(top))))
        return raw.unflatten(0, x.shape[:2]) if every_step else raw, state

    def windows(self, weeks: Tensor, length: int, every_step: bool = False) -> Tensor:
        """Raw predictions of every window of `length` consecutive weeks, sharing the input products between windows.

        weeks (W, *input_shape) -> (W - length + 1, *target_shape), or (W - length + 1, length, *target_shape).
        """
        n_windows = check_windows(weeks, length, self.input_shape, self.cell._like())

        def predict(part: range) -> Tensor:
            inputs = self.cell.input_products(self.cell.layout.inward(weeks[part.start : part.stop + length - 1]))
            found = []
            for walk in self._tiles(len(part), length):
                raws = [self.readout.outward(self._read(H)) for H in self._hiddens(inputs, walk, every_step).unbind(0)]
                found.append(torch.stack(raws, dim=1) if every_step else raws[0])
            return torch.cat(found)

        return torch.cat(side_by_side(predict, self._parts(n_windows)))

    def accumulate(
        self, weeks: Tensor, targets: Tensor, length: int, every_step: bool = False, mask: Tensor | None = None
    ) -> Tensor:
        """The mean loss over the windows of a stretch of weeks, eq. 15 (last step) or eq. 16 (every step), with its
        gradient added to every parameter's `.grad`: the step that training takes.

        targets (W, *target_shape) holds for each week what is to be predicted from a window that ends there; mask, of
        the same shape, is true where a target counts. Windows are independent, so a few at a time go forward and
        straight back while they are still in the processor's cache; the sums are those of the whole batch.
        """
        n_windows = check_windows(weeks, length, self.input_shape, self.cell._like())
        steps = range(length) if every_step else range(length - 1, length)
        self._check_targets(targets, mask, len(weeks), steps.start)
        scale = 1 / max(_n_counted(n_windows, steps, mask, self.target_shape), 1)
        parameters = [p for p in self.parameters() if p.requires_grad]

        def learn(part: range) -> tuple[Tensor, list[Tensor | None]]:
            seen = slice(part.start, part.stop + length - 1)
            wanted = self._wanted(targets[seen], None if mask is None else mask[seen], steps, scale)
            return self._learn(weeks[seen], wanted, length, every_step, parameters)

        totals, grads = zip(*side_by_side(learn, self._parts(n_windows)), strict=True)
        for parameter, *found in zip(parameters, *grads, strict=True):
            grad = reduce(plus, found)
            if grad is not None:  # optimisers walk through memory: a gradient must lie as its parameter does
                parameter.grad = plus(parameter.grad, grad.contiguous())
        return torch.stack(totals).sum()

    def _wanted(self, targets: Tensor, mask: Tensor | None, steps: range, scale: float) -> Wanted:
        targets, counts = self.readout.inward(targets), None if mask is None else self.readout.inward(mask)
        if self._fused and counts is not None:
            counts = counts.to(targets.dtype)
        return Wanted(targets, counts, steps, 0, scale)

    def _learn(
        self, weeks: Tensor, wanted: Wanted, length: int, every_step: bool, parameters: list[nn.Parameter]
    ) -> tuple[Tensor, list[Tensor | None]]:
        """What a stretch of weeks adds to the mean loss of its batch and to the gradient of each parameter."""
        inputs = self.cell.input_products(self.cell.layout.inward(weeks))
        # The products are a leaf that asks for its gradient, so that the sweep goes back even where W is held fixed.
        products = inputs.detach().requires_grad_(inputs.requires_grad)
        leaves = [*parameters, products] if products.requires_grad else parameters
        total, sink = weeks.new_zeros(()), torch.zeros_like(products)
        grads: list[Tensor | None] = [None] * len(leaves)
        for walk in self._tiles(len(weeks) - length + 1, length):
            hiddens = self._hiddens(products, walk._replace(sink=sink), every_step)
            part = self._loss(hiddens, wanted._replace(start=walk.start))
            grads = list(map(plus, grads, torch.autograd.grad(part, leaves, allow_unused=True)))
            total += part.detach()
        if inputs.requires_grad:
            behind = torch.autograd.grad(inputs, parameters, sink, allow_unused=True)
            grads = list(map(plus, grads, behind))  # the last leaf is `products`
        return total, grads

    def _check_targets(self, targets: Tensor, mask: Tensor | None, n_weeks: int, first: int) -> None:
        check_weeks(targets, "targets", self.target_shape, self.cell._like(), n_weeks)
        if mask is not None:
            check_weeks(mask, "mask", self.target_shape, None, n_weeks)
            check_mask(mask)
            targets = torch.where(mask, targets, 0)
        counted = torch.cat([torch.zeros_like(targets[:first]), targets[first:]])  # no window ends before `first`
        check_finite(counted, "targets", ("week",))

    def _parts(self, n_windows: int) -> list[range]:
        """Windows for each thread: no more threads than have work worth a thread, on a graphics card one."""
        n_parts = max(1, min(torch.get_num_threads(), n_windows * self._step_entries // PART_ENTRIES))
        if self.device.type != "cpu" or (self.training and self.config.dropout):  # one stream of random numbers
            n_parts = 1
        size = ceil(n_windows / n_parts)
        return [range(start, min(start + size, n_windows)) for start in range(0, n_windows, size)]

    @property
    def _step_entries(self) -> int:
        """Entries of all gates of one window in one step."""
        return len(self.cell.gates) * prod(self.config.hidden_shape)

    def _tiles(self, n_windows: int, length: int) -> list[Walk]:
        """Walks over a few windows at a time: as many as keep one step's gates in the cache of a core.

        A graphics card works on all of them at once.
        """
        n_fitting = max(4, TILE_ENTRIES // self._step_entries)
        size = n_fitting if self.device.type == "cpu" else n_windows
        size = ceil(n_windows / ceil(n_windows / size))  # tiles of about the same size
        starts = range(0, n_windows, size)
        return [Walk(length, min(size, n_windows - s), hop=1, start=s) for s in starts]

    def _hiddens(self, inputs: Tensor, walk: Walk, every_step: bool) -> Tensor:
        """The hidden states (T, h_1, ..., B, h_D) of some windows: at every step, or (1, ...) at the last one only."""
        outputs, finals = self.cell.run(inputs, walk)
        return outputs if every_step else finals[-1][0].unsqueeze(0)

    def _loss(self, hiddens: Tensor, wanted: Wanted) -> Tensor:
        """What some windows add to the mean loss of their batch."""
        if self._fused:
            V, bias = self.readout.parts()
            return self._fused.apply(self.dropout(hiddens), bias, wanted, *V)
        total, n, parameters = hiddens.new_zeros(()), hiddens.shape[-2], self._likelihood_parameters()
        for t, H in zip(wanted.steps, hiddens.unbind(0), strict=True):
            week = wanted.start + t  # step t of window w has the target of week w + t
            target = wanted.targets.narrow(-2, week, n)
            counted = None if wanted.mask is None else wanted.mask.narrow(-2, week, n)
            total = total + loss(self.likelihood.name, self._read(H), target, counted, "sum", **parameters)
        return total * wanted.scale

    def _read(self, H: Tensor) -> Tensor:
        """Raw predictions in the read-out's form."""
        return self.readout(self.dropout(H))

    def _likelihood_parameters(self) -> dict[str, Tensor]:
        """Those learnt for each action, ready to be broadcast over predictions in the read-out's form."""
        found = {name: getattr(self, name).expand(1, *self.target_shape) for name in self.likelihood.parameters}
        return {name: self.readout.inward(value) for name, value in found.items()}


def _n_counted(n_windows: int, steps: range, mask: Tensor | None, target_shape: tuple[int, ...]) -> int:
    """How many entries of targets count in all windows together."""
    if mask is None:
        return n_windows * len(steps) * prod(target_shape)
    return int(sum(mask[t : t + n_windows].sum() for t in steps))
