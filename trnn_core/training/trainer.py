"""The trainer: batches in, events out. It knows nothing of pages, files or progress bars."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from trnn_core.data.series import RelationalSeries
from trnn_core.models.network import TensorNetwork
from trnn_core.training.checkpoints import Arrays, Snapshot
from trnn_core.training.config import Recipe, TrainConfig
from trnn_core.training.events import (
    OUTCOME_OF,
    Control,
    Ended,
    EpochDone,
    Listener,
    Outcome,
    Request,
    Started,
    StepDone,
)
from trnn_core.training.networks import build_network, learn, network_arrays, part_loss, set_network
from trnn_core.training.optimisers import Optimiser, rate
from trnn_core.training.prepare import Prepared, make_batches, part_windows, prepare

EXPLOSION = 1e3  # a loss this many times the first one is no longer learning


@dataclass(frozen=True)
class Fitted:
    """A trained network (its best weights), and how it came about."""

    network: TensorNetwork
    prepared: Prepared
    recipe: Recipe
    history: list[dict[str, Any]]
    outcome: Outcome
    message: str
    best_epoch: int | None
    best_val_loss: float | None


@dataclass
class Progress:
    """What changes from epoch to epoch and must survive a kill: JSON values only."""

    epoch: int = 0
    best_epoch: int = 0
    best_val_loss: float | None = None
    bad_epochs: int = 0  # since the best one: early stopping
    flat_epochs: int = 0  # since the best one or the last drop: the plateau schedule
    drops: int = 0
    first_loss: float | None = None  # the yardstick of an explosion


class Diverged(Exception):
    """Training has left the finite world; carries the sentence that explains it."""


class Interrupted(Exception):
    """Somebody asked for an end in the middle of an epoch."""

    def __init__(self, request: Request):
        self.request = request


def fit(
    series: RelationalSeries,
    recipe: Recipe | None = None,
    *,
    listeners: Sequence[Listener] = (),
    control: Control | None = None,
    resume: Snapshot | None = None,
) -> Fitted:
    """Train a network on a series as a recipe says.

    listeners   called with every event, in order; an error in one ends the training
    control     asked at every step; "stop", "pause" or "cancel" ends it, the epoch at work is dropped
    resume      the state after an earlier epoch; the result is bit-identical to never having been interrupted
    """
    recipe = recipe or Recipe()
    prepared = prepare(series, recipe)
    with _surroundings(recipe.train):
        return _Loop(prepared, recipe, list(listeners), control).run(resume)


@contextmanager
def _surroundings(config: TrainConfig) -> Iterator[None]:
    """Threads and random numbers as the recipe says, and as they were afterwards."""
    threads = torch.get_num_threads()
    torch.set_num_threads(config.threads)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            yield
    finally:
        torch.set_num_threads(threads)


@dataclass
class _Loop:
    prepared: Prepared
    recipe: Recipe
    listeners: list[Listener]
    control: Control | None
    progress: Progress = field(default_factory=Progress)
    history: list[dict[str, Any]] = field(default_factory=list)

    def run(self, resume: Snapshot | None) -> Fitted:
        self.config = self.recipe.train
        self.network = build_network(self.prepared, self.recipe)
        self.optimiser = Optimiser(self.network, self.config)
        self.best: Arrays = network_arrays(self.network)
        if resume is not None:
            self._restore(resume)
        self._emit(self._started())
        outcome, message = self._epochs()
        set_network(self.network, self.best)
        self.network.eval()
        self._emit(Ended(outcome, message, self.progress.epoch))
        best_epoch = self.progress.best_epoch or None
        return Fitted(self.network, self.prepared, self.recipe, self.history, outcome, message, best_epoch, self.progress.best_val_loss)  # fmt: skip

    def _epochs(self) -> tuple[Outcome, str]:
        try:
            while self.progress.epoch < self.config.epochs:
                if self._patience_is_over():
                    return "finished", f"Stopped early: no better validation loss for {self.config.patience} epochs; the weights of epoch {self.progress.best_epoch} are kept."  # fmt: skip
                self._epoch(self.progress.epoch + 1)
        except Interrupted as e:
            kept = f"the best weights, of epoch {self.progress.best_epoch}, are kept" if self.progress.best_epoch else "no epoch was finished, so there are no weights yet"  # fmt: skip
            return OUTCOME_OF[
                e.request
            ], f"{OUTCOME_OF[e.request].capitalize()} after epoch {self.progress.epoch}; {kept}."
        except Diverged as e:
            return "diverged", str(e)
        return "finished", f"All {self.config.epochs} epochs done; the weights of epoch {self.progress.best_epoch} are the best."  # fmt: skip

    def _patience_is_over(self) -> bool:
        return self.config.patience is not None and self.progress.bad_epochs >= self.config.patience

    def _epoch(self, epoch: int) -> None:
        begun = time.perf_counter()
        lr = rate(self.config, epoch, self.progress.drops)
        train_loss, regulariser, grad_norm = self._learn(epoch, lr)
        val_loss = self._validate(epoch)
        self._judge(epoch, val_loss)
        row = {
            "epoch": epoch,
            "train_loss": train_loss,
            "val_loss": val_loss,
            "regulariser": regulariser,
            "lr": lr,
            "grad_norm": grad_norm,
            "seconds": round(time.perf_counter() - begun, 6),
        }
        self.history.append(row)
        recent = [r["seconds"] for r in self.history[-10:]]
        eta = (self.config.epochs - epoch) * sum(recent) / len(recent)
        progress = self.progress
        self._emit(EpochDone(row, self.config.epochs, progress.best_epoch, progress.best_val_loss, eta, self.snapshot))

    def _learn(self, epoch: int, lr: float) -> tuple[float, float, float]:
        """One pass over the training windows: mean loss, regulariser and gradient norm over its steps."""
        self.network.train()
        weight = self.config.regularisation
        if self.config.regularisation_per == "window":
            weight /= self.prepared.cells_per_window
        total = cells = penalties = norms = 0.0
        state = None
        todo = list(make_batches(self.prepared, "train", self.config.batch_size, self.config.seed, epoch))
        for step, batch in enumerate(todo, start=1):
            self._obey()
            self.optimiser.zero_grad()
            loss, state = learn(self.network, batch, state)
            n = batch.n_cells
            if not n:
                continue  # nothing observed in these periods: nothing to learn from
            value = loss.item()
            self._check_loss(value, epoch, step)
            penalty = weight * self.network.penalty()
            penalty.backward()
            norm = self.optimiser.clip()
            self._check_gradient(norm, epoch, step)
            self.optimiser.step(lr)
            total, cells = total + value * n, cells + n
            penalties, norms = penalties + penalty.item(), norms + norm
            self._emit(StepDone(epoch, step, len(todo), batch.n_windows, value))
        return total / max(cells, 1), penalties / len(todo), norms / len(todo)

    @torch.no_grad()
    def _validate(self, epoch: int) -> float | None:
        if not len(self.prepared.split.validation):
            return None
        self.network.eval()
        value = part_loss(self.network, self.prepared, "validation", self.config.batch_size)
        if not math.isfinite(value):
            raise Diverged(self._explanation(f"The validation loss became {value}", epoch, None))
        return value

    def _judge(self, epoch: int, val_loss: float | None) -> None:
        """Keep the best weights; without a validation part the newest are the best."""
        p = self.progress
        p.epoch = epoch
        better = val_loss is None or p.best_val_loss is None or val_loss < p.best_val_loss - self.config.min_delta
        if better:
            p.best_epoch, p.best_val_loss, p.bad_epochs, p.flat_epochs = epoch, val_loss, 0, 0
            self.best = network_arrays(self.network)
            return
        p.bad_epochs, p.flat_epochs = p.bad_epochs + 1, p.flat_epochs + 1
        if self.config.schedule == "plateau" and p.flat_epochs >= self.config.schedule_step:
            p.drops, p.flat_epochs = p.drops + 1, 0

    def _check_loss(self, loss: float, epoch: int, step: int) -> None:
        if self.progress.first_loss is None:
            self.progress.first_loss = loss
        if not math.isfinite(loss):
            raise Diverged(self._explanation(f"The loss became {loss}", epoch, step))
        first = self.progress.first_loss
        if loss - first > EXPLOSION * max(abs(first), 1e-3):
            raise Diverged(self._explanation(f"The loss exploded to {loss:.3g} (it began at {first:.3g})", epoch, step))

    def _check_gradient(self, norm: float, epoch: int, step: int) -> None:
        if not math.isfinite(norm):
            raise Diverged(self._explanation(f"The gradient became {norm}", epoch, step))

    def _explanation(self, what: str, epoch: int, step: int | None) -> str:
        at = f"epoch {epoch}" + (f", step {step}" if step else "")
        kept = f"the weights of epoch {self.progress.best_epoch} are kept" if self.progress.best_epoch else "no good weights exist yet"  # fmt: skip
        rate_now = rate(self.config, epoch, self.progress.drops)
        return f"{what} at {at} (learning rate {rate_now:g}); {kept}. Try a learning rate ten times smaller, or set train.clip_norm=1."

    def _obey(self) -> None:
        request = self.control() if self.control else None
        if request:
            raise Interrupted(request)

    def _emit(self, event: Any) -> None:
        for listener in self.listeners:
            listener(event)

    def _started(self) -> Started:
        n_windows = 1 if self.prepared.data.design == "single-series" else len(part_windows(self.prepared, "train"))
        n_parameters = sum(p.numel() for p in self.network.parameters())
        return Started(self.config.epochs, self.progress.epoch + 1, n_parameters, n_windows, self.prepared.loss_scale)

    def snapshot(self) -> Snapshot:
        """The whole state after the last finished epoch; the sampler's is (seed, epoch)."""
        state = {**self.progress.__dict__, "sampler": {"seed": self.config.seed, "epoch": self.progress.epoch}}
        random = {"random/torch": torch.random.get_rng_state().numpy().copy()}
        optimiser = self.optimiser.arrays() | random
        return Snapshot(self.progress.epoch, network_arrays(self.network), optimiser, state, list(self.history))

    def _restore(self, snapshot: Snapshot) -> None:
        set_network(self.network, snapshot.weights)
        self.optimiser.restore(snapshot.optimiser)
        torch.random.set_rng_state(torch.from_numpy(np.array(snapshot.optimiser["random/torch"])))
        self.progress = Progress(**{k: v for k, v in snapshot.state.items() if k != "sampler"})
        self.history = list(snapshot.history)
        self.best = dict(snapshot.weights if snapshot.best_weights is None else snapshot.best_weights)
