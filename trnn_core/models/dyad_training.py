"""Training of dyad-shared networks on rows of (period, pair): AdamW, one cycle of the learning rate, step by step.

A member is the whole state of one network's training; whoever drives it (a fit, or a job that can be killed) decides
when to go on. The order of the rows depends on (seed, member, pass) only, so that a training can be taken up
anywhere.

Letters: T periods, P pairs, F channels, K actions, L steps of a window, B rows of a batch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trnn_core.models.dyad_network import N_OUTPUTS, DyadNetwork, corrections, negative_log_likelihood
from trnn_core.models.gradients import adam_step, clip, gradients_of

_SQUARED_WEIGHT = 2.5  # of the squared error of the level beside the likelihood
_RISE = 0.2  # share of the steps in which the learning rate rises
_START, _END = 1 / 25, 1e-4 / 25  # learning rate at the first and the last step, as shares of the highest
_EVALUATED = 8192  # rows forecast at once
_LARGEST_PASS = 2_000_000  # cells; a pass over more ends here, or time would grow with the square of the actors
_KINDS = ("exp_avg", "exp_avg_sq", "step")
_MOMENTA = (0.85, 0.95)  # of AdamW's first moment, low while the learning rate is high
_SECOND = 0.999  # of its second


@dataclass(frozen=True)
class TrainingPlan:
    """How the members are trained; the same plan and member number give the same weights.

    An epoch reads `share` of all rows: ten epochs of a tenth are one pass over the data (of very many, over a part at
    random).
    """

    window: int = 8
    hidden: int = 16
    epochs: int = 20
    share: float = 0.1
    batch: int = 1024
    learning_rate: float = 4e-3
    weight_decay: float = 0.05
    dropout: float = 0.1
    clip_norm: float | None = 1.0
    seed: int = 0


@dataclass(frozen=True)
class Rows:
    """Data: inputs (T, P, F, K), linear forecasts (T, P, 3, K), targets and whether they were observed (T, P, K); the
    unit of level (K,)."""

    inputs: Tensor
    linear: Tensor
    targets: Tensor
    observed: Tensor
    recurrent: tuple[int, ...]
    counts: bool
    unit: Tensor

    def course(self) -> Tensor:
        """The channels read over time, (T, P, R, K)."""
        return self.inputs[:, :, list(self.recurrent)].contiguous()


class Schedule:
    """Which rows each step reads and how fast it learns, as functions of the step alone."""

    def __init__(self, plan: TrainingPlan, n_periods: int, n_pairs: int, n_actions: int) -> None:
        self.plan, self.n_pairs = plan, n_pairs
        self.first = min(plan.window, n_periods) - 1  # the first period with a whole window
        self.n_rows = (n_periods - self.first) * n_pairs
        self.batch = min(plan.batch, max(32, self.n_rows // 50), self.n_rows)  # a small set still gets some steps
        self.per_pass = self.n_rows // self.batch
        longest = min(self.per_pass, max(1, _LARGEST_PASS // (self.batch * n_actions)))
        self.n_steps = max(round(plan.epochs * plan.share * longest), plan.epochs)

    def steps(self, epoch: int) -> range:
        """The steps of an epoch (from 1), counted over the whole training."""
        return range(*(self.n_steps * e // self.plan.epochs for e in (epoch - 1, epoch)))

    def rows(self, member: int, steps: range) -> list[Tensor]:
        """The rows of some consecutive steps, one tensor (B,) each."""
        found, order, at = [], torch.empty(0), -1
        for step in steps:
            if step // self.per_pass != at:
                at = step // self.per_pass
                mixed = np.random.SeedSequence([self.plan.seed, member, at]).generate_state(1, np.uint64)[0]
                order = torch.randperm(self.n_rows, generator=torch.Generator().manual_seed(int(mixed >> np.uint64(1))))
            begin = step % self.per_pass * self.batch
            found.append(order[begin : begin + self.batch])
        return found

    def rate(self, step: int) -> tuple[float, float]:
        """Learning rate and momentum of a step: up and down along half a cosine each (Smith 2018)."""
        top = max(_RISE * (self.n_steps + 1) - 1, 1e-9)
        up = step <= top
        part = step / top if up else (step - top) / max(self.n_steps - top, 1e-9)
        weight = (1 + math.cos(math.pi * part)) / 2  # of where the phase begins
        edge = _START if up else _END
        height = weight * edge + (1 - weight) if up else weight + (1 - weight) * edge
        low, high = _MOMENTA
        momentum = weight * high + (1 - weight) * low if up else weight * low + (1 - weight) * high
        return self.plan.learning_rate * height, momentum


class Member:
    """One network in training: weights, moments, random numbers and the steps taken so far."""

    def __init__(self, rows: Rows, course: Tensor, schedule: Schedule, number: int) -> None:
        self.rows, self.course, self.schedule, self.number = rows, course, schedule, number
        self.step, plan = 0, schedule.plan
        n_channels, n_actions = rows.inputs.shape[2:]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(plan.seed * 1000 + number)
            self.network = DyadNetwork(n_channels, len(rows.recurrent), n_actions, plan.hidden, plan.dropout)
            self.network.unit.copy_(rows.unit)
            self.random = torch.random.get_rng_state()
        self.parameters = dict(self.network.named_parameters())
        self.moments = {
            kind: {n: torch.zeros(()) if kind == "step" else torch.zeros_like(w) for n, w in self.parameters.items()}
            for kind in _KINDS
        }
        self._back = torch.arange(1 - plan.window, 1)

    def gradient(self, rows: Tensor) -> tuple[float, float]:
        """The gradient of the mean cost of some rows, shortened to the longest allowed: cost, and norm before that."""
        self.network.train()
        with torch.random.fork_rng(devices=[]):
            torch.random.set_rng_state(self.random)
            loss = self._loss(rows)
            self.random = torch.random.get_rng_state()
        self.network.zero_grad()
        loss.backward()
        norm = clip(gradients_of(self.parameters.values()), self.schedule.plan.clip_norm)
        return float(loss.detach()), norm

    def update(self) -> float:
        """Take the step the gradient asks for; the learning rate it was taken with."""
        lr, momentum = self.schedule.rate(self.step)
        first, second, steps = (list(self.moments[kind].values()) for kind in _KINDS)
        decay = self.schedule.plan.weight_decay
        adam_step(
            list(self.parameters.values()), (first, second, steps), lr, (momentum, _SECOND), decay, decoupled=True
        )
        self.step += 1
        return lr

    def _loss(self, rows: Tensor) -> Tensor:
        data = self.rows
        t, p = rows // self.schedule.n_pairs + self.schedule.first, rows % self.schedule.n_pairs
        window = self.course[(t[:, None] + self._back).clamp(min=0), p[:, None]]
        corrected = data.linear[t, p] + corrections(self.network(window, data.inputs[t, p]))
        return mean_cost(corrected, data.targets[t, p], data.observed[t, p], data)

    def state(self) -> dict[str, np.ndarray]:
        """Moments, step and random numbers as arrays, copied."""
        moments = {f"{kind}/{n}": x.numpy().copy() for kind, kept in self.moments.items() for n, x in kept.items()}
        return {"random": self.random.numpy().copy(), "taken": np.array([self.step]), **moments}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Put back what `state` gave."""
        self.random, self.step = torch.from_numpy(np.array(arrays["random"])), int(arrays["taken"][0])
        for kind, kept in self.moments.items():
            for name in kept:
                kept[name] = torch.from_numpy(np.array(arrays[f"{kind}/{name}"]))


def make_members(rows: Rows, plan: TrainingPlan, n_members: int) -> list[Member]:
    """Untrained members on the same data."""
    schedule, course = Schedule(plan, *rows.targets.shape), rows.course()
    return [Member(rows, course, schedule, number) for number in range(n_members)]


def joint_correction(networks: Sequence[DyadNetwork], course: Tensor, now: Tensor) -> Tensor:
    """The networks' mean correction (B, 3, K) for windows (B, L, R, K) and present channels (B, F, K), in double
    precision."""
    if not networks:
        return torch.zeros(len(now), N_OUTPUTS, now.shape[-1], dtype=torch.float64)
    with torch.no_grad():
        parts = [corrections(network.eval()(course, now).double()) for network in networks]
    return torch.stack(parts).mean(0)


def ensemble_cost(networks: Sequence[DyadNetwork], rows: Rows, window: int) -> float:
    """The mean cost of the networks' joint forecast over every row with a whole window."""
    n_periods, n_pairs = rows.inputs.shape[:2]
    course, back, total, n_entries = rows.course(), torch.arange(1 - window, 1), 0.0, 0
    for t in torch.arange(min(window, n_periods) - 1, n_periods).split(max(1, _EVALUATED // n_pairs)):
        past = course[(t[:, None] + back).clamp(min=0)].transpose(1, 2).flatten(0, 1)  # (B, L, R, K)
        correction = joint_correction(networks, past, rows.inputs[t].flatten(0, 1))
        corrected = rows.linear[t].flatten(0, 1) + correction
        targets, observed = rows.targets[t].flatten(0, 1), rows.observed[t].flatten(0, 1)
        n = int(observed.sum())
        total, n_entries = total + n * float(mean_cost(corrected, targets, observed, rows)), n_entries + n
    return total / max(n_entries, 1)


def mean_cost(corrected: Tensor, targets: Tensor, observed: Tensor, rows: Rows) -> Tensor:
    """Likelihood of the counts and squared error of the level in its unit, per observed entry, for forecasts (B, 3,
    K)."""
    log_mean, log_size, level = corrected.unbind(-2)
    squared = ((level - (torch.log1p(targets) if rows.counts else targets)) / rows.unit).square()
    cost = _SQUARED_WEIGHT * squared
    if rows.counts:
        cost = cost + negative_log_likelihood(log_mean, log_size, targets)
    return torch.where(observed, cost, 0).sum() / observed.sum().clamp(min=1)
