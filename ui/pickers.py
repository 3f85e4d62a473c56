"""Choices and figures that several pages offer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from trnn_core.training.runs import Run
from ui.words import Scores

ACTION_HELP = (
    "Which kind of act is shown: cooperation or conflict, in words (verbal: statements, visits, threats) or in deeds "
    "(material: aid, sanctions, force). The third mode of the data tensor."
)


def pick_action(actions: Sequence[str]) -> str:
    chosen = st.segmented_control(
        "Action",
        actions,
        default=actions[0],
        required=True,
        wrap=True,
        key="action",
        help=ACTION_HELP,
        bind="query-params",
    )
    return chosen or actions[0]


def show_scores(scores: Scores, level: float, *, narrow: bool = False) -> None:
    skill, held = st.columns(2) if narrow else st.columns([1, 1, 3])[:2]
    skill.metric(
        "Skill", f"{scores.skill:+.0%}", border=True,
        help="How much lower the squared error is than that of repeating the last period, on periods the network had not learnt from. 0 % is no better, 100 % is perfect.",
    )  # fmt: skip
    if scores.coverage is not None:
        held.metric(
            f"{level:.0%} interval held", f"{scores.coverage:.0%}", border=True,
            help="How often the true figure lay inside the forecast's interval, on the same unseen periods. It should be near the interval's own level.",
        )  # fmt: skip


def linked(
    label: str, options: Sequence[str], key: str, default: str, words: str, name: Callable[[str], str] = str
) -> str:
    """A choice that is always in the address bar, the default too: what is the default may change with newer runs."""
    if st.session_state.get(key) not in options:
        asked = st.query_params.get(key)
        st.session_state[key] = asked if asked in options else default
    chosen = st.selectbox(label, options, format_func=name, key=key, help=words)
    if st.query_params.get(key) != chosen:
        st.query_params[key] = chosen
    return chosen


def pick_run(
    runs: Sequence[Run], *, first: Run | None = None, words: str = "Which trained network speaks, newest first."
) -> Run:
    by_id = {run.run_id: run for run in runs}
    asked = st.query_params.get("run")
    if asked is not None and asked not in by_id:
        st.warning(f"There is no run '{asked}' here; this is another one.", icon=":material/link_off:")
    default = (first or runs[0]).run_id
    return by_id[linked("Run", list(by_id), "run", default, words, name=lambda i: by_id[i].name)]


def pick_step(dates: Sequence[str], period: str) -> int:
    """How many periods ahead, from 0 for the next."""
    words = [f"next {period}, {d}" if h == 0 else f"{h + 1} {period}s ahead, {d}" for h, d in enumerate(dates)]
    chosen = st.selectbox(
        "Horizon", words, key="horizon", bind="query-params",
        help="How far ahead. Intervals grow with the distance.",
    )  # fmt: skip
    return words.index(chosen)
