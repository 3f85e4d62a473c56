"""The one panel of a job at work, whatever it does: how far it is, how long it may still take, Stop.

It only reads the job's folder, so it is there again after a reload, in another browser, or when the server was
restarted. Whoever looks at a job that waits sees to it that a worker is there.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

import streamlit as st

from trnn_core.errors import TRNNError
from trnn_core.jobs import queue
from trnn_core.jobs.job import Job, JobStatus
from trnn_core.words import duration, percent
from ui.data_access import run_store
from ui.guard import guard, guarded
from ui.phrases import escape

REFRESH_SECONDS = 1.0
REST_SECONDS = 3.0  # between two looks at a job that rests: somebody else may set it going again
OVER = ("finished", "done", "diverged")  # for good

Draw = Callable[[Job, Any], None]  # what stands in the panel, given the job and its status


def job_panel(job: Job, draw: Draw, *, key: str, seconds: float = REFRESH_SECONDS) -> bool:
    """Draws the job again and again while it lives; the page is drawn anew when it ends or is set going. Is it live?"""
    status = job.status()
    live = status.is_live
    st.fragment(_draw, run_every=seconds if live else None, key=key)(job, draw, live)
    if not live and status.state not in OVER:
        st.fragment(_watch, run_every=REST_SECONDS, key=f"{key}-watch")(job)
    return live


def _draw(job: Job, draw: Draw, was_live: bool) -> None:
    live = False
    with guard():
        status = job.status()
        live = status.is_live
        if status.state == "queued":
            with suppress(TRNNError):  # why it waits is in its status
                queue.ensure_worker(run_store())
        draw(job, status)
    if live != was_live:
        st.rerun()


def _watch(job: Job) -> None:
    """Another tab, person or command may resume what rests here: its panel must not stay behind."""
    if job.status().is_live:
        st.rerun()


def progress_bar(status: JobStatus, before: str = "") -> None:
    """How far it is, and how long it may still take."""
    left = f", about {duration(status.eta_seconds)} left" if status.eta_seconds else ""
    share = percent(status.done) if status.state == "running" else ""
    words = " ".join(part for part in (before, f"{share}{left}.".lstrip(",. "), escape(status.message)) if part)
    st.progress(min(max(status.done, 0.0), 1.0), words)


def stop_button(
    job: Job,
    words: str,
    *,
    key: str,
    label: str = "Stop",
    width: Literal["content", "stretch"] = "content",
    also: Callable[[], None] | None = None,
) -> None:
    """Ends the job at its next step. `also` is done first."""
    asked = job.is_asked_to_end
    st.button(
        "Stopping ..." if asked else label,
        key=key,
        icon=":material/stop:",
        disabled=asked,
        width=width,
        on_click=guarded(_stop),
        args=(job, also),
        help=words,
    )


def _stop(job: Job, also: Callable[[], None] | None) -> None:
    if also is not None:
        also()
    job.stop()
