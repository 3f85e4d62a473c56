"""Optimisers and learning-rate schedules, with states that can be saved as arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch

from trnn_core.training.checkpoints import Arrays
from trnn_core.training.config import TrainConfig


def build_optimiser(network: torch.nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    weights, lr, decay = list(network.parameters()), config.learning_rate, config.weight_decay
    if config.optimiser == "adam":
        return torch.optim.Adam(weights, lr=lr, weight_decay=decay, fused=True)
    if config.optimiser == "adamw":
        return torch.optim.AdamW(weights, lr=lr, weight_decay=decay, fused=True)
    if config.optimiser == "sgd":
        return torch.optim.SGD(weights, lr=lr, momentum=config.momentum, weight_decay=decay)
    return torch.optim.RMSprop(weights, lr=lr, momentum=config.momentum, weight_decay=decay)


def rate(config: TrainConfig, epoch: int, drops: int = 0) -> float:
    """The learning rate of an epoch (from 1): a function of the epoch, and for 'plateau' of the drops so far.

    >>> cosine = TrainConfig(epochs=11, learning_rate=1.0, schedule="cosine", schedule_factor=0.0)
    >>> [round(rate(cosine, e), 3) for e in (1, 6, 11)]
    [1.0, 0.5, 0.0]
    """
    if epoch <= config.warmup:
        return config.learning_rate * epoch / (config.warmup + 1)
    if config.schedule == "cosine":
        done = (epoch - config.warmup - 1) / max(config.epochs - config.warmup - 1, 1)
        share = config.schedule_factor + (1 - config.schedule_factor) * (1 + math.cos(math.pi * done)) / 2
        return config.learning_rate * share
    if config.schedule == "step":
        drops = (epoch - 1) // config.schedule_step
    return config.learning_rate * config.schedule_factor**drops if config.schedule in ("step", "plateau") else config.learning_rate  # fmt: skip


def set_rate(optimiser: torch.optim.Optimizer, lr: float) -> None:
    for group in optimiser.param_groups:
        group["lr"] = lr


def optimiser_arrays(network: torch.nn.Module, optimiser: torch.optim.Optimizer) -> Arrays:
    """Moments and step counts by parameter name, copied."""
    arrays: Arrays = {}
    for name, weight in network.named_parameters():
        for key, value in optimiser.state.get(weight, {}).items():
            if isinstance(value, torch.Tensor):
                arrays[f"{key}/{name}"] = value.detach().cpu().numpy().copy()
    return arrays


def restore_optimiser(network: torch.nn.Module, optimiser: torch.optim.Optimizer, arrays: Mapping[str, np.ndarray]) -> None:  # fmt: skip
    """Put back what `optimiser_arrays` saved."""
    weights = dict(network.named_parameters())
    for path, array in arrays.items():
        key, _, name = path.partition("/")
        if name in weights:
            optimiser.state[weights[name]][key] = torch.from_numpy(array.copy())
