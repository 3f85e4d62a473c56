"""Optimisers by torch's own functions, and learning-rate schedules; all state can be saved as arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor
from torch.optim.sgd import sgd

from trnn_core.models.gradients import EPSILON, adam_step, clip, gradients_of
from trnn_core.training.checkpoints import Arrays
from trnn_core.training.config import TrainConfig

BETAS, SMOOTHING = (0.9, 0.999), 0.99  # as torch.optim
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

    def clip(self) -> float:
        """The norm of the whole gradient, which is then shortened to the longest allowed."""
        return clip(gradients_of(self._weights(self._learning())), self.config.clip_norm)

    @torch.no_grad()
    def step(self, lr: float) -> None:
        self.update(self._learning(), lr)

    def _learning(self) -> list[str]:
        return [name for name, weight in self.parameters.items() if weight.grad is not None]

    def _weights(self, names: list[str]) -> list[Tensor]:
        return [self.parameters[name] for name in names]

    def _moment(self, kind: str, names: list[str]) -> list[Tensor]:
        kept = self.moments.setdefault(kind, {})
        for name in names:
            if name not in kept:
                weight = self.parameters[name]
                kept[name] = torch.zeros((), device=weight.device) if kind == "step" else torch.zeros_like(weight)
        return [kept[name] for name in names]

    def _adam(self, names: list[str], lr: float) -> None:
        first, second, steps = (self._moment(kind, names) for kind in ("exp_avg", "exp_avg_sq", "step"))
        decoupled = self.config.optimiser == "adamw"
        adam_step(
            self._weights(names), (first, second, steps), lr, BETAS, self.config.weight_decay, decoupled=decoupled
        )

    def _sgd(self, names: list[str], lr: float) -> None:
        weights, momentum = self._weights(names), self.config.momentum
        sgd(
            weights,
            gradients_of(weights),
            [*self._moment("momentum", names)] if momentum else [None] * len(names),
            foreach=True,
            weight_decay=self.config.weight_decay,
            momentum=momentum,
            lr=lr,
            dampening=0.0,
            nesterov=False,
            maximize=False,
        )

    def _rmsprop(self, names: list[str], lr: float) -> None:
        """By hand: torch divides and steps in one operation, which rounds otherwise, and a run that was saved could
        not go on bit by bit."""
        weights, squares = self._weights(names), self._moment("square_avg", names)
        buffers = self._moment("momentum", names) if self.config.momentum else []
        for i, (weight, gradient) in enumerate(zip(weights, gradients_of(weights), strict=True)):
            if self.config.weight_decay:
                gradient = gradient.add(weight, alpha=self.config.weight_decay)
            squares[i].mul_(SMOOTHING).addcmul_(gradient, gradient, value=1 - SMOOTHING)
            step = gradient / (squares[i].sqrt() + EPSILON)
            if buffers:
                step = buffers[i].mul_(self.config.momentum).add_(step)
            weight.add_(step, alpha=-lr)

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
