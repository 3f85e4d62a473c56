"""Starting a backtest: what it will take, the usual choice in one click, and all choices behind it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from trnn_core.errors import TRNNError
from trnn_core.evaluation.costs import FAST, USUAL, estimate_seconds
from trnn_core.evaluation.forecasters import RUN_NETWORK, describe, label, names
from trnn_core.evaluation.protocol import Protocol, usual_protocol
from trnn_core.words import duration
from ui.evaluate import Subject
from ui.executor_choice import pick_cluster, pick_workers, usual_resources
from ui.guard import guarded

GOES_ON = "Works in the background; it goes on when you close the page, and can be stopped."
SECOND_THOUGHTS = 120.0  # a default that takes longer leaves the network out


def first_backtest(subject: Subject) -> None:
    """Nothing yet: say what a backtest is and start a sensible one with one button."""
    models = sensible(subject)
    period = subject.series.period
    with st.container(border=True):
        st.markdown("#### How good would it have been?")
        try:
            protocol = usual_protocol(len(subject.series))
            n = len(protocol.origins(len(subject.series)))
        except TRNNError as e:
            st.warning(f"{e} Add more data on the Data page.", icon=":material/hourglass_empty:")
            return
        st.markdown(
            f"A backtest goes back in time: it stands at each of the last {n} {period}s in turn, forecasts the next one"
            f" knowing only what was known then, and compares with what came. Every method gets the same {period}s."
        )
        seconds = estimate_seconds(models, subject.series.shape, protocol, subject.train_seconds)
        st.button(
            f"Test {words_of(models)} on {n} past {period}s",
            type="primary",
            icon=":material/play_arrow:",
            on_click=guarded(_start),
            args=(subject, models, protocol, usual_resources()),
            help=GOES_ON,
        )
        st.caption(f"Takes about {duration(seconds)} on one processor core.")


def sensible(subject: Subject) -> list[str]:
    """The run's network, where it is quick to train, and three simple methods of rising strength."""
    if subject.run is None or (subject.train_seconds or 0.0) > SECOND_THOUGHTS:
        return list(FAST)
    return [*FAST, RUN_NETWORK]


def words_of(models: list[str]) -> str:
    simple = sum(m != RUN_NETWORK for m in models)
    return (
        f"this run's network against {simple} simple methods" if RUN_NETWORK in models else f"{simple} simple methods"
    )


def new_backtest(subject: Subject) -> None:
    """All choices; the defaults are the usual protocol."""
    offered = [*([RUN_NETWORK] if subject.run else []), *names()]
    period, n_periods = subject.series.period, len(subject.series)
    each = "\n".join(f"- **{label(m, period)}**: {describe(m, period)}" for m in offered)
    chosen = st.multiselect(
        "Models",
        offered,
        default=[m for m in (RUN_NETWORK, *USUAL) if m in offered],
        key="new_models",
        format_func=lambda m: label(m, period),
        help=(
            "All are given the same periods. Those scored before under the same protocol are not scored"
            f" again.\n\n{each}"
        ),
    )
    protocol = pick_protocol(period, n_periods)
    at_once, where = st.columns([1, 2])
    with at_once:
        workers = pick_workers("new")
    with where:
        cluster = pick_cluster("new")
    if chosen:
        st.caption(
            f"Takes about {duration(estimate_seconds(chosen, subject.series.shape, protocol, subject.train_seconds))}"
            " on one processor core, less where parts were scored before."
        )
    st.button(
        "Start backtest",
        type="primary",
        icon=":material/play_arrow:",
        key="start_new",
        disabled=not chosen,
        on_click=guarded(_start),
        args=(subject, chosen, protocol, {"workers": workers, "cluster": cluster}),
        help=GOES_ON,
    )


def pick_protocol(period: str, n_periods: int) -> Protocol:
    a, b, c = st.columns(3)
    most = max(n_periods // 2, 2)
    n = a.number_input(
        f"Past {period}s",
        2,
        most,
        usual_origins(n_periods, most),
        key="new_origins",
        help=(
            f"How many {period}s, the last ones, are forecast as if they had not come yet. More give surer figures; 50"
            " or more is good."
        ),
    )
    horizon = b.number_input(
        "Steps ahead", 1, 26, 1, key="new_horizon", help=f"Forecast 1 up to so many {period}s ahead from each {period}."
    )
    refit = c.number_input(
        "Train again every",
        0,
        most,
        0,
        key="new_refit",
        help=(
            f"Train every model anew after so many {period}s on all that was known by then; 0 trains once, before the"
            " first. Slower, closer to real use."
        ),
    )
    diagonal = st.toggle(
        "Score acts towards oneself",
        key="new_diagonal",
        help="Whether a country's acts towards itself (the diagonal of the tensor) count. Usually not.",
    )
    return Protocol(
        test=n / n_periods, min_origins=int(n), horizon=int(horizon), refit_every=int(refit), diagonal=diagonal
    )


def usual_origins(n_periods: int, most: int) -> int:
    try:
        return min(len(usual_protocol(n_periods).origins(n_periods)), most)
    except TRNNError:
        return most


def _start(subject: Subject, models: list[str], protocol: Protocol, resources: dict[str, Any]) -> None:
    try:
        job = subject.start(models, protocol, resources)
        st.session_state["watched"] = job.job_id
        if job.status().state == "done":
            st.session_state["backtest"] = job.job_id
            st.toast("This backtest was done before; here it is.", icon=":material/check:")
    except TRNNError as e:
        st.session_state["start_error"] = str(e)
