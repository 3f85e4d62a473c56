"""Backtests at work: progress, time left, Stop; and what became of those that did not finish."""

from __future__ import annotations

import streamlit as st

from trnn_core.evaluation.forecasters import label
from trnn_core.runs import layout
from trnn_core.runs.tasks import Task, TaskStatus, find_task
from trnn_core.words import duration, percent
from ui.evaluate import Subject
from ui.executors import usual_means
from ui.guard import guard, guarded
from ui.store import run_store
from ui.words import escape

REFRESH_SECONDS = 1.0


def live_backtests(subject: Subject) -> bool:
    """Panels of those at work, looked at once a second; True when there is one."""
    live = [task for task in subject.tasks() if task.status().is_live]
    for task in live:
        st.fragment(_panel, run_every=REFRESH_SECONDS, key=f"live-{task.task_id}")(task.task_id, subject.series.period)
    _last_words(subject)
    return bool(live)


def _panel(task_id: str, period: str) -> None:
    with guard():
        task = find_task(run_store(), task_id)
        status = task.status()
        if status.is_live:
            with st.container(border=True):
                _progress(task, status, period)
    if not status.is_live:
        if status.state == "done":
            st.session_state["backtest"] = task_id
        st.rerun()


def _progress(task: Task, status: TaskStatus, period: str) -> None:
    models = ", ".join(label(name, period) for name in task.arguments["models"])
    st.markdown(f"#### :material/history: Testing {escape(models)}")
    left = f", about {duration(status.eta_seconds)} left" if status.eta_seconds is not None else ""
    st.progress(status.done, f"{percent(status.done)}{left}. {escape(status.message)}")
    asked = (task.folder / layout.REQUEST).exists()
    st.button(
        "Stopping ..." if asked else "Stop",
        key=f"stop-{task.task_id}",
        icon=":material/stop:",
        disabled=asked,
        on_click=guarded(_stop),
        args=(task,),
        help="Ends it; parts that are scored are kept, and starting it again goes on from there.",
    )


def _stop(task: Task) -> None:
    task.stop()


def _last_words(subject: Subject) -> None:
    """The one this person started last, if it ended without a result."""
    if error := st.session_state.pop("start_error", None):
        st.error(error, icon=":material/error:")
    watched = st.session_state.get("watched")
    task = next((t for t in subject.tasks()[:1] if watched in (None, t.task_id)), None)
    if task is None or (status := task.status()).state not in ("failed", "stopped", "interrupted"):
        return
    words = {
        "failed": "The last backtest failed",
        "stopped": "The last backtest was stopped",
        "interrupted": "The last backtest was interrupted",
    }
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/info: {words[status.state]} at {percent(status.done)}. {escape(status.message)}")
        st.button(
            "Go on",
            key=f"again-{task.task_id}",
            icon=":material/play_arrow:",
            on_click=guarded(_again),
            args=(subject, task),
            help="Start it again; what was scored is not scored again.",
        )


def _again(subject: Subject, task: Task) -> None:
    from trnn_core.verbs.backtest_request import BacktestRequest

    request = BacktestRequest.from_arguments(task.arguments)
    st.session_state["watched"] = subject.start(
        list(request.models), request.protocol, task.means or usual_means()
    ).task_id
