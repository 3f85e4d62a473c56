"""Forms of a report that take a while: made by a job, with progress and Stop, then waiting to be saved.

A job is found by what was asked for, which the link holds: a reload or another browser sees the same one.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from trnn_core.export.formats import titles
from trnn_core.jobs.job import Job, JobStatus
from trnn_core.runs.run import Run
from trnn_core.verbs.as_job import find, start
from trnn_core.verbs.export import KIND, RESULT, Request, request_of
from ui.data_access import run_store
from ui.downloads import save_button
from ui.guard import guarded
from ui.job_panel import job_panel, progress_bar, stop_button
from ui.links import judge
from ui.phrases import escape

REFRESH_SECONDS = 0.5


def make_file(run: Run, sections: Sequence[str], file: str) -> None:
    forms = titles()
    judge("form", list(forms), "Form")
    form = st.selectbox(
        "Another form",
        list(forms),
        key="form",
        bind="query-params",
        help=(
            "PDF for print, slides to edit in PowerPoint or LibreOffice, a full-screen presentation moved by the arrow"
            " keys, or all tables, networks, images and recipe at once."
        ),
    )
    asked = request_of(run, form, sections)
    job = find(run_store(), KIND, asked)
    status = job.status() if job else None
    if job and status and status.is_live:

        def draw(job: Job, status: JobStatus) -> None:
            progress_bar(status, f"{form}:")
            stop_button(job, "Ends it; nothing is kept.", key=f"stop-{job.job_id}", width="stretch")

        job_panel(job, draw, key=f"live-{job.job_id}", seconds=REFRESH_SECONDS)
        return
    done = bool(job and status and status.state == "done")
    if job and status and not done:
        words = f"Making {form} was stopped; nothing was kept." if status.state == "stopped" else escape(status.message)
        (st.info if status.state == "stopped" else st.error)(words, icon=":material/info:")
    if job and done:
        save_button(
            f"Save {form}",
            lambda: job.read(RESULT),
            f"{file}.{forms[form].ending}",
            forms[form].mime,
            "download",
            "The file that was made.",
            width="stretch",
        )
    st.button(
        f"Make {form}{' again' if done else ''}",
        icon=":material/build:",
        width="stretch",
        type="tertiary" if done else "secondary",
        on_click=guarded(_make),
        args=(asked, done),
        help=(
            "Takes from a few seconds to a minute, in the background; it can be stopped, and goes on when the page is"
            " closed."
        ),
    )


def _make(asked: Request, again: bool) -> None:
    start(run_store(), KIND, asked, fresh=again)
