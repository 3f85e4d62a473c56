"""The trainer: batches in, events out. It knows nothing of pages, files or progress bars."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.jobs.job import OUTCOME_OF
from trnn_core.models.network import TensorNetwork
from trnn_core.models.threads import n_threads
from trnn_core.training.checkpoints import Arrays, Snapshot
from trnn_core.training.config import Recipe, TrainConfig
from trnn_core.training.distributed import Group, Job, current, leave
from trnn_core.training.events import (
    Control,
    Ended,
    EpochDone,
    Listener,
    Outcome,
    Request,
    Started,
    StepDone,
)
from trnn_core.training.learners import Gradient, Learner, make_learner
from trnn_core.training.networks import device_of
from trnn_core.training.prepare import Prepared
from trnn_core.training.tensor_learner import TensorLearner

EXPLOSION = 1e3  # a loss this many times the first one is no longer learning


@dataclass(frozen=True)
class Fitted:
    """A trained network (its best weights), and how it came about."""

    learner: Learner
    recipe: Recipe
    history: list[dict[str, Any]]
    outcome: Outcome
    message: str
    best_epoch: int | None
    best_val_loss: float | None

    @property
    def network(self) -> TensorNetwork:
        return self._tensor.network

    @property
    def prepared(self) -> Prepared:
        return self._tensor.prepared

    @property
    def _tensor(self) -> TensorLearner:
        if not isinstance(self.learner, TensorLearner):
            raise TRNNError(
                f"A tensorial network is needed here. Got a run of the network {self.recipe.model.network!r} instead; "
                "train one with the preset quick or one of the paper's."
            )
        return self.learner


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
    job = (series, recipe or Recipe(), resume)
    if (group := current()) is not None:
        return fit_together(group, job, listeners, control)
    return _fit(job, listeners, control, None)


def fit_together(
    group: Group, job: Job | None, listeners: Sequence[Listener] = (), control: Control | None = None
) -> Fitted:
    """The same by several processes that torchrun has started; all but the first give no job and are told it."""
    try:
        return _fit(group.share_job(job), listeners, group.agreed(control), group)
    finally:
        leave()  # what follows (forecast, files) is done by one process alone


def _fit(job: Job, listeners: Sequence[Listener], control: Control | None, group: Group | None) -> Fitted:
    series, recipe, resume = job
    with surroundings(recipe.train):
        return _Loop(make_learner(series, recipe, group), recipe, list(listeners), control).run(resume)


@contextmanager
def surroundings(config: TrainConfig) -> Iterator[None]:
    """Threads and random numbers as the recipe says, and as they were afterwards.

    Numbers too small for a full mantissa count as zero meanwhile: a network whose weights a regulariser has driven
    towards zero meets them in every product, and they take ten times as long (Case I after 180 epochs: 30 s instead
    of 3).
    """
    on_card = device_of(config).type == "cuda"
    torch.set_flush_denormal(True)
    try:
        with (
            n_threads(config.threads),
            torch.random.fork_rng(devices=[torch.cuda.current_device()] if on_card else []),
        ):
            torch.manual_seed(config.seed)
            yield
    finally:
        torch.set_flush_denormal(False)


@dataclass
class _Loop:
    learner: Learner
    recipe: Recipe
    listeners: list[Listener]
    control: Control | None
    progress: Progress = field(default_factory=Progress)
    history: list[dict[str, Any]] = field(default_factory=list)

    def run(self, resume: Snapshot | None) -> Fitted:
        self.config = self.recipe.train
        self.best: Arrays = self.learner.weights()
        if resume is not None:
            self._restore(resume)
        self._emit(self._started())
        outcome, message = self._epochs()
        self.learner.set_weights(self.best)
        self._emit(Ended(outcome, message, self.progress.epoch))
        best_epoch = self.progress.best_epoch or None
        return Fitted(
            self.learner, self.recipe, self.history, outcome, message, best_epoch, self.progress.best_val_loss
        )

    def _epochs(self) -> tuple[Outcome, str]:
        try:
            while self.progress.epoch < self.config.epochs:
                if self._patience_is_over():
                    return (
                        "finished",
                        (
                            f"Stopped early: no better validation loss for {self.config.patience} epochs; the weights"
                            f" of epoch {self.progress.best_epoch} are kept."
                        ),
                    )
                self._epoch(self.progress.epoch + 1)
        except Interrupted as e:
            kept = (
                f"the best weights, of epoch {self.progress.best_epoch}, are kept"
                if self.progress.best_epoch
                else "no epoch was finished, so there are no weights yet"
            )
            return (
                OUTCOME_OF[e.request],
                f"{OUTCOME_OF[e.request].capitalize()} after epoch {self.progress.epoch}; {kept}.",
            )
        except Diverged as e:
            return "diverged", str(e)
        return (
            "finished",
            f"All {self.config.epochs} epochs done; the weights of epoch {self.progress.best_epoch} are the best.",
        )

    def _patience_is_over(self) -> bool:
        return self.config.patience is not None and self.progress.bad_epochs >= self.config.patience

    def _epoch(self, epoch: int) -> None:
        begun = time.perf_counter()
        train_loss, regulariser, grad_norm = self._learn(epoch)
        val_loss = self._validate(epoch)
        self._judge(epoch, val_loss)
        row = {
            "epoch": epoch,
            "train_loss": train_loss,
            "val_loss": val_loss,
            "regulariser": regulariser,
            "lr": self.learner.lr,
            "grad_norm": grad_norm,
            "seconds": round(time.perf_counter() - begun, 6),
        }
        self.history.append(row)
        recent = [r["seconds"] for r in self.history[-10:]]
        eta = (self.config.epochs - epoch) * sum(recent) / len(recent)
        progress = self.progress
        self._emit(EpochDone(row, self.config.epochs, progress.best_epoch, progress.best_val_loss, eta, self.snapshot))

    def _learn(self, epoch: int) -> tuple[float, float, float]:
        """One epoch's batches: mean loss, regulariser and gradient norm over its steps."""
        total = cells = penalties = norms = 0.0
        todo = self.learner.batches(epoch, self.progress.drops)
        for step, batch in enumerate(todo, start=1):
            self._obey()
            found = self.learner.gradient(batch)
            if not found.n_entries:
                continue  # nothing observed in these periods: nothing to learn from
            self._check(found, epoch, step)
            self.learner.update()
            total, cells = total + found.loss * found.n_entries, cells + found.n_entries
            penalties, norms = penalties + found.regulariser, norms + found.norm
            self._emit(StepDone(epoch, step, len(todo), found.n_windows, found.loss))
        return total / max(cells, 1), penalties / len(todo), norms / len(todo)

    @torch.no_grad()
    def _validate(self, epoch: int) -> float | None:
        value = self.learner.validation_loss()
        if value is not None and not math.isfinite(value):
            raise Diverged(self._explanation(f"The validation loss became {value}", epoch, None))
        return value

    def _judge(self, epoch: int, val_loss: float | None) -> None:
        """Keep the best weights; without a validation part the newest are the best."""
        p = self.progress
        p.epoch = epoch
        better = val_loss is None or p.best_val_loss is None or val_loss < p.best_val_loss - self.config.min_delta
        if better:
            p.best_epoch, p.best_val_loss, p.bad_epochs, p.flat_epochs = epoch, val_loss, 0, 0
            self.best = self.learner.weights()
            return
        p.bad_epochs, p.flat_epochs = p.bad_epochs + 1, p.flat_epochs + 1
        if self.config.schedule == "plateau" and p.flat_epochs >= self.config.schedule_step:
            p.drops, p.flat_epochs = p.drops + 1, 0

    def _check(self, found: Gradient, epoch: int, step: int) -> None:
        if self.progress.first_loss is None:
            self.progress.first_loss = found.loss
        if not math.isfinite(found.loss):
            raise Diverged(self._explanation(f"The loss became {found.loss}", epoch, step))
        first = self.progress.first_loss
        if found.loss - first > EXPLOSION * max(abs(first), 1e-3):
            raise Diverged(
                self._explanation(f"The loss exploded to {found.loss:.3g} (it began at {first:.3g})", epoch, step)
            )
        if not math.isfinite(found.norm):
            raise Diverged(self._explanation(f"The gradient became {found.norm}", epoch, step))

    def _explanation(self, what: str, epoch: int, step: int | None) -> str:
        at = f"epoch {epoch}" + (f", step {step}" if step else "")
        kept = (
            f"the weights of epoch {self.progress.best_epoch} are kept"
            if self.progress.best_epoch
            else "no good weights exist yet"
        )
        return (
            f"{what} at {at} (learning rate {self.learner.lr:g}); {kept}. Try a learning rate ten times smaller, or set"
            " train.clip_norm=1."
        )

    def _obey(self) -> None:
        request = self.control() if self.control else None
        if request:
            raise Interrupted(request)

    def _emit(self, event: Any) -> None:
        for listener in self.listeners:
            listener(event)

    def _started(self) -> Started:
        it = self.learner
        return Started(self.config.epochs, it.n_parameters, it.n_windows, it.loss_scale)

    def snapshot(self) -> Snapshot:
        """The whole state after the last finished epoch; the sampler's is (seed, epoch)."""
        state = {**self.progress.__dict__, "sampler": {"seed": self.config.seed, "epoch": self.progress.epoch}}
        return Snapshot(self.progress.epoch, self.learner.weights(), self.learner.state(), state, list(self.history))

    def _restore(self, snapshot: Snapshot) -> None:
        self.learner.set_weights(snapshot.weights)
        self.learner.restore(snapshot.optimiser)
        self.progress = Progress(**{k: v for k, v in snapshot.state.items() if k != "sampler"})
        self.history = list(snapshot.history)
        self.best = dict(snapshot.weights if snapshot.best_weights is None else snapshot.best_weights)
