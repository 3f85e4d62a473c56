"""Backtests at work: progress, time left, Stop; and what became of those that did not finish."""

from __future__ import annotations

import streamlit as st

from trnn_core.evaluation.forecasters import label
from trnn_core.jobs.job import Job, JobStatus
from trnn_core.verbs.backtest import Request
from trnn_core.words import percent
from ui.evaluate import Subject
from ui.executor_choice import resources_again
from ui.guard import guarded
from ui.job_panel import job_panel, progress_bar, stop_button
from ui.phrases import escape

WORDS = {
    "failed": "The last backtest failed",
    "stopped": "The last backtest was stopped",
    "interrupted": "The last backtest was interrupted",
}


def live_backtests(subject: Subject) -> bool:
    """Panels of those at work; True when there is one."""
    live = [job for job in subject.jobs() if job.status().is_live]

    def draw(job: Job, status: JobStatus) -> None:
        if not status.is_live:
            if status.state == "done":
                st.session_state["backtest"] = job.job_id
            return
        with st.container(border=True):
            models = ", ".join(label(name, subject.series.period) for name in job.request["models"])
            st.markdown(f"#### :material/history: Testing {escape(models)}")
            progress_bar(status)
            words = "Ends it; parts that are scored are kept, and starting it again goes on from there."
            stop_button(job, words, key=f"stop-{job.job_id}")

    for job in live:
        job_panel(job, draw, key=f"live-{job.job_id}")
    _last_words(subject)
    return bool(live)


def _last_words(subject: Subject) -> None:
    """The one this person started last, if it ended without a result."""
    if error := st.session_state.pop("start_error", None):
        st.error(error, icon=":material/error:")
    watched = st.session_state.get("watched")
    job = next((j for j in subject.jobs()[:1] if watched in (None, j.job_id)), None)
    if job is None or (status := job.status()).state not in WORDS:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/info: {WORDS[status.state]} at {percent(status.done)}. {escape(status.message)}")
        st.button(
            "Go on",
            key=f"again-{job.job_id}",
            icon=":material/play_arrow:",
            on_click=guarded(_again),
            args=(subject, job),
            help="Start it again; what was scored is not scored again.",
        )


def _again(subject: Subject, job: Job) -> None:
    asked = Request(run=job.run_id, **job.request)
    started = subject.start(list(asked.models), asked.protocol, resources_again(job.resources))
    st.session_state["watched"] = started.job_id
