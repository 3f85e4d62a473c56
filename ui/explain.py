"""Questions to a trained network: asked of a warm process beside the server, answered within a moment."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.export.tables import to_csv
from trnn_core.files import is_locked
from trnn_core.insight.library import weights_of
from trnn_core.insight.words import NOT_CAUSE
from trnn_core.runs.run import Run
from trnn_core.runs.tasks import Task, TaskStatus, find_task, process_folder
from trnn_core.verbs import load
from trnn_core.verbs.common import ANSWER, Question
from trnn_core.verbs.task import start
from ui.downloads import save_button
from ui.guard import guard, guarded
from ui.pickers import linked
from ui.store import run_store

MOMENT = 2.0  # seconds that a page waits for an answer before it gives way to a panel
REFRESH_SECONDS = 0.5
# Loaded here, with the page: see ui/everything.py.
REQUESTS = {verb: load(verb).Request for verb in ("explain", "scenario", "impulse", "unusual", "influence", "warm")}
PAIR_HELP = "The relation that is looked at goes from the sender to the receiver."


def question_of(run: Run, verb: str, **values: Any) -> Question:
    """A question about the run's present weights."""
    return REQUESTS[verb](run=run.run_id, weights=weights_of(run), **values)


def begin(run: Run, verb: str, **values: Any) -> Task:
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
    task = begin(run, verb, **values)
    if not wait_for(task):
        st.fragment(_waiting, run_every=REFRESH_SECONDS, key="waiting")(task.task_id, asked)
        st.stop()
    status = task.status()
    if status.state != "done":
        raise TRNNError(status.message or f"The question was {status.state}; reload the page to ask again.")
    return task.read(ANSWER)


def warm_up(run: Run) -> None:
    """See to it that a process with this network loaded is there, so that the first question need not wait for it."""
    asleep = not is_locked(process_folder(run_store(), "explain") / "lock")
    start(run_store(), "warm", question_of(run, "warm"), fresh=asleep)


def wait_for(task: Task) -> bool:
    """Whether it was over within a moment."""
    box, until, told_at = st.empty(), time.monotonic() + MOMENT, time.monotonic()
    while live := task.status().is_live:
        if time.monotonic() > until:
            break
        # Every bar is also a chance for a click elsewhere to end the wait; 25 a second leave a browser no time for
        # the answer.
        if time.monotonic() - told_at > 0.4:
            bar(box, task.status())
            told_at = time.monotonic()
        time.sleep(0.04)
    box.empty()
    return not live


def bar(place: DeltaGenerator, status: TaskStatus) -> None:
    words = status.message if status.state == "running" else "Waiting for the network to be loaded"
    place.progress(min(max(status.done, 0.0), 1.0), f"{words.rstrip('.')} ...")


def _stopped() -> set[str]:
    """Questions that this person does not want answered for now."""
    return st.session_state.setdefault("stopped_questions", set())


def _waiting(task_id: str, asked: str) -> None:
    """Looks for the answer while everything above it can be used."""
    with guard():
        task = find_task(run_store(), task_id)
        status = task.status()
        if status.state == "done" or asked in _stopped():
            st.rerun()
        elif status.is_live:
            bar(st.empty(), status)
            st.button(
                "Stop",
                key="stop-question",
                icon=":material/stop:",
                on_click=guarded(_stop),
                args=(task, asked),
                help="Ends it; any other question can be asked meanwhile.",
            )
        else:
            st.error(status.message, icon=":material/error:")
            if st.button("Ask again", key="ask-again", icon=":material/refresh:", help="Begins it anew."):
                st.rerun()


def _stop(task: Task, asked: str) -> None:
    _stopped().add(asked)
    task.stop()


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
