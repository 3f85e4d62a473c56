"""Optimisers on torch's own fused and foreach kernels, and learning-rate schedules; all state can be saved as arrays.

`torch.optim` itself is left aside: making its first object loads 800 modules of the compiler, which takes as long as
loading torch (measured) and would be paid by every job. A test holds each optimiser to its namesake there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from trnn_core.training.checkpoints import Arrays
from trnn_core.training.config import TrainConfig

BETAS, EPSILON, SMOOTHING = (0.9, 0.999), 1e-8, 0.99  # as torch.optim
RISE = 0.2  # share of the epochs in which a one-cycle schedule rises


class Optimiser:
    """Adam, AdamW, SGD or RMSprop over the parameters of a network; a parameter without a gradient stays as it is."""

    def __init__(self, network: torch.nn.Module, config: TrainConfig):
        self.parameters = dict(network.named_parameters())
        self.config = config
        self.moments: dict[str, dict[str, Tensor]] = {}  # by kind, then by parameter
        self.update: Callable[[list[str], float], None] = {
            "adam": self._adam,
            "adamw": self._adam,
            "sgd": self._sgd,
            "rmsprop": self._rmsprop,
        }[config.optimiser]

    def zero_grad(self) -> None:
        for weight in self.parameters.values():
            weight.grad = None

    @torch.no_grad()
    def clip(self) -> float:
        """The norm of the whole gradient, which is then shortened to the longest allowed."""
        gradients = self._gradients(self._learning())
        norm = torch.stack(torch._foreach_norm(gradients)).square().sum().sqrt().item()
        longest = self.config.clip_norm
        if longest is not None and norm > longest and math.isfinite(norm):
            torch._foreach_mul_(gradients, longest / norm)
        return norm

    @torch.no_grad()
    def step(self, lr: float) -> None:
        self.update(self._learning(), lr)

    def _learning(self) -> list[str]:
        return [name for name, weight in self.parameters.items() if weight.grad is not None]

    def _gradients(self, names: list[str]) -> list[Tensor]:
        """Gradients laid out in memory as their parameters are: the fused kernels read both by position alone."""
        found = []
        for name in names:
            weight = self.parameters[name]
            if weight.grad.stride() != weight.stride():  # type: ignore[union-attr]
                weight.grad = torch.empty_like(weight).copy_(weight.grad)  # type: ignore[arg-type]
            found.append(weight.grad)
        return found  # type: ignore[return-value]

    def _moment(self, kind: str, names: list[str]) -> list[Tensor]:
        kept = self.moments.setdefault(kind, {})
        for name in names:
            if name not in kept:
                weight = self.parameters[name]
                kept[name] = torch.zeros((), device=weight.device) if kind == "step" else torch.zeros_like(weight)
        return [kept[name] for name in names]

    def _adam(self, names: list[str], lr: float) -> None:
        kernel = torch._fused_adam_ if self.config.optimiser == "adam" else torch._fused_adamw_
        steps = self._moment("step", names)
        torch._foreach_add_(steps, 1)
        kernel(
            [self.parameters[name] for name in names],
            self._gradients(names),
            self._moment("exp_avg", names),
            self._moment("exp_avg_sq", names),
            [],
            steps,
            lr=lr,
            beta1=BETAS[0],
            beta2=BETAS[1],
            weight_decay=self.config.weight_decay,
            eps=EPSILON,
            amsgrad=False,
            maximize=False,
        )

    def _decayed(self, names: list[str]) -> tuple[list[Tensor], list[Tensor]]:
        weights: list[Tensor] = [self.parameters[name] for name in names]
        gradients = self._gradients(names)
        if self.config.weight_decay:
            gradients = list(torch._foreach_add(gradients, weights, alpha=self.config.weight_decay))
        return weights, gradients

    def _sgd(self, names: list[str], lr: float) -> None:
        weights, gradients = self._decayed(names)
        if self.config.momentum:
            buffers = self._moment("momentum", names)
            torch._foreach_mul_(buffers, self.config.momentum)
            torch._foreach_add_(buffers, gradients)
            gradients = buffers
        torch._foreach_add_(weights, gradients, alpha=-lr)

    def _rmsprop(self, names: list[str], lr: float) -> None:
        weights, gradients = self._decayed(names)
        squares = self._moment("square_avg", names)
        torch._foreach_mul_(squares, SMOOTHING)
        torch._foreach_addcmul_(squares, gradients, gradients, value=1 - SMOOTHING)
        scale = torch._foreach_sqrt(squares)
        torch._foreach_add_(scale, EPSILON)
        step = list(torch._foreach_div(gradients, scale))
        if self.config.momentum:
            buffers = self._moment("momentum", names)
            torch._foreach_mul_(buffers, self.config.momentum)
            torch._foreach_add_(buffers, step)
            step = buffers
        torch._foreach_add_(weights, step, alpha=-lr)

    def arrays(self) -> Arrays:
        """Moments and step counts, copied."""
        return {
            f"{kind}/{name}": value.cpu().numpy().copy()
            for kind, kept in self.moments.items()
            for name, value in kept.items()
        }

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Put back what `arrays` gave."""
        for path, array in arrays.items():
            kind, _, name = path.partition("/")
            if name in self.parameters:
                device = self.parameters[name].device
                self.moments.setdefault(kind, {})[name] = torch.from_numpy(array.copy()).to(device)


def rate(config: TrainConfig, epoch: int, drops: int = 0) -> float:
    """The learning rate of an epoch (from 1): a function of the epoch, and for 'plateau' of the drops so far.

    >>> cosine = TrainConfig(epochs=11, learning_rate=1.0, schedule="cosine", schedule_factor=0.1)
    >>> [round(rate(cosine, e), 3) for e in (1, 6, 11)]
    [1.0, 0.55, 0.1]
    """
    if epoch <= config.warmup:
        return config.learning_rate * epoch / (config.warmup + 1)
    if config.schedule == "cosine":
        done = (epoch - config.warmup - 1) / max(config.epochs - config.warmup - 1, 1)
        share = config.schedule_factor + (1 - config.schedule_factor) * (1 + math.cos(math.pi * done)) / 2
        return config.learning_rate * share
    if config.schedule == "one-cycle":
        return config.learning_rate * _cycle((epoch - config.warmup) / max(config.epochs - config.warmup, 1))
    if config.schedule == "step":
        drops = (epoch - 1) // config.schedule_step
    if config.schedule in ("step", "plateau"):
        return config.learning_rate * config.schedule_factor**drops
    return config.learning_rate


def _cycle(done: float) -> float:
    """Share of the highest learning rate: up from a 25th in the first fifth of the way, down to almost nothing at its
    end."""
    if done <= RISE:
        return 0.04 + 0.96 * (1 - math.cos(math.pi * done / RISE)) / 2
    return 4e-6 + (1 - 4e-6) * (1 + math.cos(math.pi * (done - RISE) / (1 - RISE))) / 2
