"""Questions to a trained network: asked of a warm process beside the server, answered within a moment."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.export.tables import to_csv
from trnn_core.files import is_locked
from trnn_core.insight.library import weights_of
from trnn_core.insight.sentences import NOT_CAUSE
from trnn_core.jobs.job import Job, JobStatus
from trnn_core.jobs.lanes import slot_path
from trnn_core.runs.run import Run
from trnn_core.verbs import load
from trnn_core.verbs.as_job import start
from trnn_core.verbs.common import ANSWER, Question
from ui.data_access import run_store
from ui.downloads import save_button
from ui.guard import guarded
from ui.job_panel import job_panel, progress_bar, stop_button
from ui.pickers import linked

MOMENT = 2.0  # seconds that a page waits for an answer before it gives way to a panel
REFRESH_SECONDS = 0.5
# Loaded here, with the page: see ui/everything.py.
REQUESTS = {verb: load(verb).Request for verb in ("explain", "scenario", "impulse", "unusual", "influence", "warm")}
PAIR_HELP = "The relation that is looked at goes from the sender to the receiver."


def question_of(run: Run, verb: str, **values: Any) -> Question:
    """A question about the run's present weights."""
    return REQUESTS[verb](run=run.run_id, weights=weights_of(run), **values)


def begin(run: Run, verb: str, **values: Any) -> Job:
    """Ask, without waiting. The same question about the same weights is answered once."""
    return start(run_store(), verb, question_of(run, verb, **values))


def ask(run: Run, verb: str, **values: Any) -> bytes:
    """The answer. One that takes more than a moment is waited for in a panel that leaves the page free, and the page
    ends there until it has come."""
    asked = f"{run.run_id} {verb} {sorted(values.items())}"
    if asked in _stopped():
        st.info("This question was stopped.", icon=":material/stop_circle:")
        st.button(
            "Ask again",
            icon=":material/refresh:",
            on_click=guarded(_stopped().discard),
            args=(asked,),
            help="Begins it anew.",
        )
        st.stop()
    job = begin(run, verb, **values)
    if not wait_for(job):
        _waiting(job, asked)
        st.stop()
    status = job.status()
    if status.state != "done":
        raise TRNNError(status.message or f"The question was {status.state}; reload the page to ask again.")
    return job.read(ANSWER)


def warm_up(run: Run) -> None:
    """See to it that a process with this network loaded is there, so that the first question need not wait for it."""
    asleep = not is_locked(slot_path(run_store().root, "explain"))
    start(run_store(), "warm", question_of(run, "warm"), fresh=asleep)


def wait_for(job: Job) -> bool:
    """Whether it was over within a moment."""
    box, until, told_at = st.empty(), time.monotonic() + MOMENT, time.monotonic()
    while live := job.status().is_live:
        if time.monotonic() > until:
            break
        # Every bar is also a chance for a click elsewhere to end the wait; 25 a second leave a browser no time for
        # the answer.
        if time.monotonic() - told_at > 0.4:
            with box:
                progress_bar(job.status())
            told_at = time.monotonic()
        time.sleep(0.04)
    box.empty()
    return not live


def _stopped() -> set[str]:
    """Questions that this person does not want answered for now."""
    return st.session_state.setdefault("stopped_questions", set())


def _waiting(job: Job, asked: str) -> None:
    """Looks for the answer while everything above it can be used."""

    def draw(job: Job, status: JobStatus) -> None:
        if status.is_live and asked not in _stopped():
            progress_bar(status)
            words = "Ends it; any other question can be asked meanwhile."
            stop_button(job, words, key="stop-question", also=lambda: _stopped().add(asked))
        elif status.state == "done" or asked in _stopped():
            st.rerun()
        else:
            st.error(status.message, icon=":material/error:")
            if st.button("Ask again", key="ask-again", icon=":material/refresh:", help="Begins it anew."):
                st.rerun()
            st.stop()  # drawing the page anew would ask again by itself

    job_panel(job, draw, key="waiting", seconds=REFRESH_SECONDS)


def warn_not_cause() -> None:
    st.info(NOT_CAUSE, icon=":material/balance:")


def pick_cell(series: RelationalSeries) -> tuple[str, str, str]:
    """Sender, receiver and action, always in the address bar."""
    first, second = busiest(series)
    a, b, c = st.columns([2, 2, 2])
    with a:
        source = linked("Sender", series.actors, "sender", first, f"Who acts. {PAIR_HELP}")
    with b:
        target = linked("Receiver", series.actors, "receiver", second, f"Who is acted upon. {PAIR_HELP}")
    with c:
        action = linked("Action", series.actions, "action", series.actions[0], "The kind of act.")
    return source, target, action


def busiest(series: RelationalSeries) -> tuple[str, str]:
    """The pair that had most events in the last year."""
    total = np.nansum(series.values[-52:], axis=(0, 3))
    np.fill_diagonal(total, -1.0)
    i, j = np.unravel_index(int(total.argmax()), total.shape)
    return series.actors[int(i)], series.actors[int(j)]


def same_country(source: str, target: str, series: RelationalSeries) -> bool:
    """Say so, once, where a pair is no pair."""
    if source == target and not series.source.diagonal:
        st.warning(
            "Sender and receiver are the same country. These data hold only what countries do to each other; choose"
            " two."
        )
        return True
    return False


def download_table(table: pd.DataFrame, name: str, series: RelationalSeries, key: str) -> None:
    def content() -> bytes:
        return to_csv(table.assign(data="simulated" if series.source.simulated else "observed"))

    with st.container(horizontal=True, vertical_alignment="center"):
        save_button(
            "Table (CSV)",
            content,
            f"{name}.csv",
            "text/csv",
            "table",
            "The whole table behind this picture. Opens in Excel, R and Stata.",
            key=f"save-{key}",
        )
        st.caption("Images: the camera in the corner of each picture.")
