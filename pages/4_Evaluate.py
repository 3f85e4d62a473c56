"""Evaluate: how good the forecasts would have been on past weeks, against simple methods, and where they went wrong."""

from __future__ import annotations

import streamlit as st

import ui.everything  # noqa: F401  # first: see there
from trnn_core.errors import TRNNError
from trnn_core.evaluation.forecasters import describe
from trnn_core.evaluation.results import BacktestResult
from ui import evaluate_views as views
from ui.demo_run import prepare_demo
from ui.evaluate import Subject, pick_result, pick_subject
from ui.evaluate_details import calibration, misses, where
from ui.evaluate_files import downloads
from ui.evaluate_live import live_backtests
from ui.evaluate_start import first_backtest, new_backtest
from ui.links import segments
from ui.page import ADD, empty, page, simulated_badge
from ui.phrases import about_series, escape

VIEWS = {
    "Leaderboard": views.leaderboard,
    "Over time": views.over_time,
    "Where": where,
    "Calibration": calibration,
    "Misses": misses,
}


def main() -> None:
    prepare_demo()
    top = st.container(horizontal=True, vertical_alignment="bottom")
    with top:
        subject = pick_subject()
    if subject is None:
        empty(
            "There is nothing to test yet: add data first, then train a network.",
            "Here you will see how good its forecasts of past weeks would have been, beside those of simple methods.",
            ADD,
        )
        return
    with top:
        found, trouble = read_result(subject)
        with st.popover("New backtest", icon=":material/add:", help="Choose models and protocol."):
            new_backtest(subject)
        simulated_badge(subject.series.source.simulated)
    if trouble:
        st.error(trouble, icon=":material/error:")
    busy = live_backtests(subject)
    if found is not None:
        show_result(found)
    elif not busy:
        first_backtest(subject)
    about(subject)


def read_result(subject: Subject) -> tuple[BacktestResult | None, str]:
    """The backtest to show, or why it cannot be read: another one can still be started."""
    try:
        return pick_result(subject), ""
    except TRNNError as e:
        return None, str(e)


def show_result(result: BacktestResult) -> None:
    sentence = st.container()
    choice = views.pick_choice(result)
    with sentence:
        views.say(result, choice)
    part = segments(
        "Look at",
        list(VIEWS),
        "part",
        "Who was best; when it went wrong; where (actions, countries, pairs); whether the stated uncertainty was true;"
        " the largest misses one by one.",
        hidden=True,
    )
    VIEWS[part](result, choice)
    with st.expander("The protocol and the models in words", icon=":material/gavel:"):
        st.write(escape(result.words))
        st.write(f"Computed on {escape(', '.join(result.made_on)) or 'a machine that was not noted'}.")
        st.write(
            "Skill is the share of a rival's error that a model saves. p is that of Diebold and Mariano's test with"
            " Newey and West's variance and the small-sample correction of Harvey, Leybourne and Newbold."
        )
        st.markdown(
            "\n".join(
                f"- **{escape(result.label(name))}** (`{name}`): {escape(describe(name, result.period))}"
                for name in result.scores
            )
        )
    downloads(result, choice)


def about(subject: Subject) -> None:
    run = f"Run **{escape(subject.run.name)}** on " if subject.run else ""
    st.caption(f"{run}{escape(subject.series.source.title)}: {about_series(subject.series)}.")


with page("Evaluate"):
    main()
