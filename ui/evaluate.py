"""What is tested on the Evaluate page, and the backtests there are of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import streamlit as st

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.evaluation.costs import fast_first
from trnn_core.evaluation.forecasters import label
from trnn_core.evaluation.protocol import Protocol
from trnn_core.evaluation.results import BacktestResult
from trnn_core.jobs.job import Job
from trnn_core.jobs.requests import list_jobs
from trnn_core.models.likelihoods import likelihood_of
from trnn_core.runs.backtests import WHOLE, read_stored
from trnn_core.runs.run import Run
from trnn_core.verbs.as_job import start
from trnn_core.verbs.backtest import KIND, Request
from ui.data_access import data_sets, load_set, run_store, series_of
from ui.links import linked
from ui.pickers import pick_held

SET = "set:"  # a data set without a run, in the list of what can be tested
STORED = "run"  # the backtest that lies in the run itself


@dataclass(frozen=True)
class Subject:
    """A run with its data, or a data set by itself."""

    series: RelationalSeries
    run: Run | None = None

    @property
    def run_id(self) -> str | None:
        return self.run.run_id if self.run else None

    @property
    def train_seconds(self) -> float | None:
        return self.run.status().seconds or None if self.run else None

    def request(self, models: list[str], protocol: Protocol, resources: dict[str, Any]) -> Request:
        models = fast_first(models)
        if self.run is not None:
            return Request.of_run(self.run, models, protocol, **resources)
        return Request(fingerprint=self.series.fingerprint, models=tuple(models), protocol=protocol, **resources)

    def start(self, models: list[str], protocol: Protocol, resources: dict[str, Any]) -> Job:
        protocol.origins(len(self.series))  # too short a series is told here, not by the job
        if self.run is None:
            run_store().keep_series(self.series)
        return start(run_store(), KIND, self.request(models, protocol, resources))

    def jobs(self) -> list[Job]:
        """Backtests of this run, or of these data without a run, newest first."""
        found = list_jobs(run_store(), KIND, self.run_id)
        if self.run is not None:
            return found
        return [j for j in found if j.run_id is None and j.request.get("fingerprint") == self.series.fingerprint]


def pick_subject() -> Subject | None:
    """A run, newest first, or a data set; None when there is neither."""
    runs = {run.run_id: run for run in run_store().runs() if _readable(run)}
    sets = [f"{SET}{name}" for name in data_sets()]
    offered = [*runs, *sets]
    if not offered:
        return None
    chosen = pick_held(
        "What is tested",
        offered,
        "A run: its network is trained anew on what was known at the time, beside the simple methods. A data set:"
        " simple methods only.",
        lambda i: runs[i].name if i in runs else f"Data set {i.removeprefix(SET)}, without a run",
    )
    if chosen in runs:
        return Subject(series_of(runs[chosen]), runs[chosen])
    return Subject(load_set(chosen.removeprefix(SET)))


def _readable(run: Run) -> bool:
    try:
        return (
            likelihood_of(run.recipe.model.likelihood).scored
            and run_store().series_path(run.config["data"]["fingerprint"]).exists()
        )
    except (TRNNError, KeyError, AttributeError):
        return False


def pick_result(subject: Subject) -> BacktestResult | None:
    """One of the finished backtests, the newest by default; None when there is none."""
    done = {job.job_id: job for job in subject.jobs() if job.status().state == "done"}
    offered = {job_id: _name(job, subject.series.period) for job_id, job in done.items()}
    if subject.run is not None and (subject.run.folder / WHOLE).exists() and not done:
        offered[STORED] = "Stored with the run"
    if not offered:
        return None
    chosen = linked(
        "Backtest",
        list(offered),
        "backtest",
        next(iter(offered)),
        "Finished backtests of this run or data set, newest first. They are kept: come back, or send the link.",
        name=offered.__getitem__,
    )
    if chosen == STORED:
        assert subject.run is not None
        return _stored(str(subject.run.folder), (subject.run.folder / WHOLE).stat().st_mtime_ns, subject.run)
    return _finished(chosen, done[chosen].created, done[chosen])


@st.cache_resource(max_entries=8, show_spinner="Reading the backtest ...")
def _finished(job_id: str, created: str, _job: Job) -> BacktestResult:
    found = read_stored(_job.read)
    assert found is not None
    return found


@st.cache_resource(max_entries=4, show_spinner="Reading the backtest ...")
def _stored(folder: str, modified: int, _run: Run) -> BacktestResult:
    found = read_stored(_run.read_checked)
    assert found is not None
    return found


def _name(job: Job, period: str) -> str:
    asked = job.request
    protocol = asked["protocol"]
    steps = "" if protocol["horizon"] == 1 else f", up to {protocol['horizon']} ahead"
    refit = f", refitted every {protocol['refit_every']}" if protocol["refit_every"] else ""
    models = f"{len(asked['models'])} models" if len(asked["models"]) > 1 else label(asked["models"][0], period)
    return f"{models}{steps}{refit} · {datetime.fromisoformat(job.created):%d %b %H:%M}"
