"""A search for good settings with Optuna: trials are real trainings, judged by their validation loss, never by the
test.

Trials are chosen a batch at a time and trained a few epochs at a time through an executor; between two parts the
hopeless ones are ended. Choices and cuts are made here, in a fixed order, so that neither the number of workers nor
their speed changes what is found, and a search that was killed goes on as if nothing had happened.
"""

from __future__ import annotations

import json
import math
import socket
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.trial import FrozenTrial, Trial, TrialState

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.files import lock, read_sealed, remove_folder, write_sealed
from trnn_core.jobs.context import Progress, Stopped, quiet
from trnn_core.jobs.executors import HERE
from trnn_core.runs import layout
from trnn_core.runs.optuna_storage import open_study, write_study
from trnn_core.runs.run import parse_history
from trnn_core.training import checkpoints
from trnn_core.training.recipes import plain, write_recipe
from trnn_core.training.search import Between, Range, TuneConfig
from trnn_core.training.trials import Part, train_part

N_PARTS = 5  # a trial is looked at this many times
POLL_SECONDS = 0.5


def tune(
    series: RelationalSeries,
    config: TuneConfig,
    folder: Path,
    executor: Executor,
    *,
    storage: str | None = None,
    progress: Progress = quiet,
    stopping: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """Search until `config.trials` trials are done, write `recipe.toml`, and return what study.json says.

    folder    of this search; one that is there goes on where it was left (with more trials, if more are asked for)
    storage   a PostgreSQL address that several machines share; by default an SQLite file in the folder
    """
    ranges = config.ranges()
    folder.mkdir(parents=True, exist_ok=True)
    with lock(folder / ".lock", f"The search {folder.name!r} is already at work in another process."):
        _keep_config(folder, config, series)
        search = _Search(series, config, folder, executor, open_study(folder, config, storage), ranges)
        search.progress, search.stopping = progress, stopping
        return search.run()


class _Search:
    def __init__(
        self,
        series: RelationalSeries,
        config: TuneConfig,
        folder: Path,
        executor: Executor,
        study: optuna.Study,
        ranges: dict[str, Range],
    ) -> None:
        self.series, self.config, self.folder, self.executor = series, config, folder, executor
        self.study, self.ranges = study, ranges
        self.epochs = config.recipe.train.epochs
        self.owner = f"{socket.gethostname()}:{folder.resolve()}"  # whose trials these are, where many search together
        self.seconds: dict[int, float] = {}
        places = {*study.user_attrs.get("made_on", []), getattr(executor, "made_on", HERE)}
        study.set_user_attr("made_on", sorted(places))  # a search may go on elsewhere
        self.losses: dict[int, dict[int, float]] = {}  # of the trials at work, by epoch
        self.progress: Progress = quiet
        self.stopping: Callable[[], bool] = lambda: False

    def run(self) -> dict[str, Any]:
        state = "stopped"
        try:
            self._tell_decided()
            while batch := self._batch():
                self._write("running")
                self._train(batch)
                self._tell_decided()
            state = "done"
        except Stopped:
            pass
        finally:
            found = self._write(state)
        if found["best"] is not None:
            write_recipe(self.config.recipe.changed(**found["best"]["params"]), self.folder / "recipe.toml")
        return found

    def _write(self, state: str) -> dict[str, Any]:
        return write_study(self.folder, self.config, self.study, self.series, state, self.seconds)

    def _finished(self) -> int:
        return len(self.study.get_trials(deepcopy=False, states=tuple(s for s in TrialState if s.is_finished())))

    def _batch(self) -> list[Trial]:
        """The trials at work, each with its settings; empty when there have been enough."""
        mine = [t for t in self._at_work() if t.user_attrs.get("owner") == self.owner]
        trials = [self._choose(Trial(self.study, t._trial_id)) for t in mine]
        self.losses = {t.number: dict(t.intermediate_values) for t in mine}
        wanted = min(self.config.batch, self.config.trials - self._finished())
        begun = any(t.intermediate_values for t in mine)  # then all of the batch were chosen before we were killed
        while len(trials) < wanted and not begun:
            if not self.study.get_trials(deepcopy=False):
                self._enqueue_own()
            trial = self.study.ask()
            trial.set_user_attr("owner", self.owner)
            trials.append(self._choose(trial))
        return trials

    def _at_work(self) -> list[FrozenTrial]:
        return sorted(self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)), key=lambda t: t.number)

    def _sampler(self, number: int) -> optuna.samplers.BaseSampler:
        """Drawn anew for every trial, so that a search that was interrupted chooses as one that was not."""
        seed = int(np.random.SeedSequence([self.config.seed, number]).generate_state(1)[0])
        startup = min(10, max(4, self.config.trials // 3))
        return optuna.samplers.TPESampler(seed=seed, n_startup_trials=startup, constant_liar=True)

    def _enqueue_own(self) -> None:
        """The recipe's own settings are tried first: the search never ends with worse ones."""
        own = {name: _typed(self.config.recipe, name) for name in self.ranges}
        inside = all(
            r.low <= float(own[n]) <= r.high if isinstance(r, Between) else own[n] in r.values
            for n, r in self.ranges.items()
        )
        if inside:
            numbers = {n: (int if r.whole else float)(own[n]) for n, r in self.ranges.items() if isinstance(r, Between)}
            self.study.enqueue_trial({**own, **numbers})

    def _choose(self, trial: Trial) -> Trial:
        self.study.sampler = self._sampler(trial.number)
        for name, found in self.ranges.items():
            if not isinstance(found, Between):
                trial.suggest_categorical(name, found.values)
            elif found.whole:
                trial.suggest_int(name, int(found.low), int(found.high), log=found.log)
            else:
                trial.suggest_float(name, found.low, found.high, log=found.log)
        return trial

    def _train(self, batch: list[Trial]) -> None:
        """All parts of all trials of a batch; then the decisions are written down, before any is told."""
        decided: dict[int, dict[str, Any]] = {}
        size = math.ceil(self.epochs / N_PARTS)
        for until in range(size, self.epochs + size, size):
            alive = [t for t in batch if t.number not in decided]
            parts = self._parts(alive, min(until, self.epochs))
            for trial in alive:
                verdict = self._judge(trial, parts[trial.number], last=until >= self.epochs)
                if verdict is not None:
                    decided[trial.number] = verdict
            self._write("running")
            done = (self._finished() + len(decided)) / self.config.trials
            self.progress(min(done, 1.0), self._words(batch, len(decided)))
            if len(decided) == len(batch):
                break
        rows = [{"number": n, **decided[n]} for n in sorted(decided)]
        write_sealed(self.folder / "batch.json", {"decided": rows})

    def _parts(self, alive: list[Trial], until: int) -> dict[int, Part]:
        futures: dict[Future[Part], int] = {}
        parts: dict[int, Part] = {}
        for trial in alive:
            folder = self.folder / "trials" / str(trial.number)
            snapshot, history, _ = checkpoints.newest_good(folder)
            if snapshot is not None:
                snapshot = replace(snapshot, history=parse_history(history))
                if snapshot.epoch >= until:  # this part was done before the search was interrupted
                    losses = {row["epoch"]: row["val_loss"] for row in snapshot.history}
                    parts[trial.number] = Part(losses, 0.0, "paused", "", snapshot)
                    continue
            recipe = self.config.recipe.changed(**trial.params)
            futures[self.executor.submit(train_part, self.series, plain(recipe), snapshot, until)] = trial.number
        todo = set(futures)
        while todo:
            finished, todo = wait(todo, POLL_SECONDS, FIRST_COMPLETED)
            for future in finished:
                number, part = futures[future], future.result()
                parts[number] = part
                self.seconds[number] = self.seconds.get(number, 0.0) + part.seconds
                if part.snapshot is not None:
                    rows = b"".join(json.dumps(row).encode() + b"\n" for row in part.snapshot.history)
                    place = self.folder / "trials" / str(number)
                    place.mkdir(parents=True, exist_ok=True)
                    checkpoints.save_checkpoint(place, part.snapshot, rows)
            if self.stopping():
                for future in todo:
                    future.cancel()
                raise Stopped
        return parts

    def _judge(self, trial: Trial, part: Part, last: bool) -> dict[str, Any] | None:
        """Report a part's losses; how the trial has ended, if it has."""
        losses = self.losses.setdefault(trial.number, {})
        for epoch, loss in sorted(part.losses.items()):
            if epoch not in losses:
                trial.report(loss, epoch)
                losses[epoch] = loss
        if part.outcome == "diverged":
            return {"state": "pruned" if losses else "fail", "value": min(losses.values(), default=None)}
        if last or part.outcome != "paused":
            return {"state": "complete", "value": min(losses.values())}
        if self.config.pruner != "none" and trial.should_prune():
            return {"state": "pruned", "value": min(losses.values())}
        return None

    def _tell_decided(self) -> None:
        """Tell Optuna what has been decided, once each, even when we were killed in the middle of telling."""
        path = self.folder / "batch.json"
        if not path.exists():
            return
        rows = read_sealed(path)["decided"]
        states = {"complete": TrialState.COMPLETE, "pruned": TrialState.PRUNED, "fail": TrialState.FAIL}
        for row in rows:
            value = row["value"] if row["state"] == "complete" else None
            self.study.tell(row["number"], value, states[row["state"]], skip_if_finished=True)
            folder = self.folder / "trials" / str(row["number"])
            if folder.exists():
                remove_folder(folder)
        path.unlink()

    def _words(self, batch: list[Trial], n_decided: int) -> str:
        done = self._finished() + n_decided
        values = [t.value for t in self.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))]
        best = f"; best validation loss {min(v for v in values if v is not None):.5g}" if values else ""
        return f"{done} of {self.config.trials} trials done, {len(batch) - n_decided} at work{best}"


def _typed(recipe: Any, name: str) -> str:
    section, _, key = name.partition(".")
    value = getattr(getattr(recipe, section), key)
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _keep_config(folder: Path, config: TuneConfig, series: RelationalSeries) -> None:
    """A search goes on only with the settings and data it began with; more trials may be asked for."""
    path = folder / layout.CONFIG
    if path.exists():
        stored = read_sealed(path)
        began_with = stored.pop("fingerprint")
        before = TuneConfig(**stored)  # settings that are newer than the search have their defaults
        different = [k for k in TuneConfig.model_fields if k != "trials" and getattr(before, k) != getattr(config, k)]
        if different or began_with != series.fingerprint:
            what = f"another {different[0]}" if different else "other data"
            raise TRNNError(
                f"The search {folder.name!r} began with {what}; give a new one another name, or the same settings."
            )
    write_sealed(path, config.model_dump(mode="json", exclude_none=True) | {"fingerprint": series.fingerprint})
