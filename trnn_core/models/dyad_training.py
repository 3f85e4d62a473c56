"""Training of one dyad-shared network on rows of (period, pair): AdamW, one cycle of the learning rate.

Letters: T periods, P pairs, F channels, K actions, L steps of a window.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from trnn_core.models.dyad_network import DyadNetwork, correct, negative_log_likelihood

_SQUARED_WEIGHT = 2.5  # of the squared error of the level beside the likelihood


@dataclass(frozen=True)
class TrainingPlan:
    """How a member is trained; the same plan and member number give the same weights."""

    window: int = 8
    hidden: int = 16
    epochs: int = 2
    batch: int = 1024
    learning_rate: float = 4e-3
    weight_decay: float = 0.05
    dropout: float = 0.1
    seed: int = 0


@dataclass(frozen=True)
class Rows:
    """Training data: inputs (T, P, F, K), highway (T, P, 3, K), what came and whether it was observed (T, P, K)."""

    inputs: Tensor
    highway: Tensor
    came: Tensor
    seen: Tensor
    recurrent: tuple[int, ...]
    counts: bool


def train_member(
    rows: Rows, plan: TrainingPlan, member: int, report: Callable[[int, int, float], None] | None = None
) -> DyadNetwork:
    """One network, trained on all windows of all pairs in random order."""
    n_periods, n_pairs, n_channels, n_actions = rows.inputs.shape
    generator = torch.Generator().manual_seed(plan.seed * 1000 + member)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(plan.seed * 1000 + member)
        network = DyadNetwork(n_channels, len(rows.recurrent), n_actions, plan.hidden, plan.dropout)
        optimiser = torch.optim.AdamW(network.parameters(), lr=plan.learning_rate, weight_decay=plan.weight_decay)
        course = rows.inputs[:, :, list(rows.recurrent)].contiguous()
        back = torch.arange(1 - plan.window, 1)
        n_rows = max(n_periods - plan.window + 1, 1) * n_pairs
        batch = min(plan.batch, max(32, n_rows // 50))  # a small set still gets some steps
        n_steps = max(plan.epochs * (n_rows // batch), 10)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimiser, plan.learning_rate, total_steps=n_steps + 1, pct_start=0.2
        )
        for epoch in range(plan.epochs):
            total = 0.0
            order = torch.randperm(n_rows, generator=generator)[: n_rows // batch * batch].split(batch)
            for row in order:
                t, p = row // n_pairs + min(plan.window, n_periods) - 1, row % n_pairs
                window = course[(t[:, None] + back).clamp(min=0), p[:, None]]
                outputs = network(window, rows.inputs[t, p])
                loss = _loss(outputs, rows.highway[t, p], rows.came[t, p], rows.seen[t, p], rows.counts)
                optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                optimiser.step()
                schedule.step()
                total += float(loss.detach())
            if report is not None:
                report(member, epoch + 1, total / len(order))
    return network.eval()


def _loss(outputs: Tensor, highway: Tensor, came: Tensor, seen: Tensor, counts: bool) -> Tensor:
    log_mean, log_size, level = correct(outputs, highway)
    squared = (level - (torch.log1p(came) if counts else came)).square()
    cost = _SQUARED_WEIGHT * squared
    if counts:
        cost = cost + negative_log_likelihood(log_mean, log_size, came)
    return torch.where(seen, cost, 0).sum() / seen.sum().clamp(min=1)
