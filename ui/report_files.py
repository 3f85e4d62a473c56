"""Forms of a report that take a while: made by a task, with progress and Stop, then waiting to be saved.

A task is found by what was asked for, which the link holds: a reload or another browser sees the same one.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from trnn_core.export.formats import titles
from trnn_core.runs import layout
from trnn_core.runs.run import Run
from trnn_core.runs.tasks import Task, find_task
from trnn_core.verbs.export import KIND, RESULT, Request, request_of
from trnn_core.verbs.task import find, start
from ui.downloads import save_button
from ui.guard import guard, guarded
from ui.links import judge
from ui.store import run_store
from ui.words import escape

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
    task = find(run_store(), KIND, asked)
    status = task.status() if task else None
    if task and status and status.is_live:
        st.fragment(_at_work, run_every=REFRESH_SECONDS, key=f"live-{task.task_id}")(task.task_id, form)
        return
    done = bool(task and status and status.state == "done")
    if task and status and not done:
        words = f"Making {form} was stopped; nothing was kept." if status.state == "stopped" else escape(status.message)
        (st.info if status.state == "stopped" else st.error)(words, icon=":material/info:")
    if task and done:
        save_button(
            f"Save {form}",
            lambda: task.read(RESULT),
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


def _at_work(task_id: str, form: str) -> None:
    with guard():
        task = find_task(run_store(), task_id)
        status = task.status()
        if not status.is_live:
            st.rerun()
        words = status.message.rstrip(".") if status.state == "running" else "Waiting for its turn"
        st.progress(status.done, f"{form}: {escape(words)} ...")
        asked = (task.folder / layout.REQUEST).exists()
        st.button(
            "Stopping ..." if asked else "Stop",
            key=f"stop-{task_id}",
            icon=":material/stop:",
            width="stretch",
            disabled=asked,
            on_click=guarded(_stop),
            args=(task,),
            help="Ends it; nothing is kept.",
        )


def _stop(task: Task) -> None:
    task.stop()
