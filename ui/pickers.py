"""Choices and figures that several pages offer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from trnn_core.runs.run import Run
from trnn_core.words import percent
from ui.links import linked, segments
from ui.phrases import Scores

NEXT, HELD = "next", "run_in_hand"
ACTION_HELP = (
    "Which kind of act is shown: cooperation or conflict, in words (verbal: statements, visits, threats) or in deeds "
    "(material: aid, sanctions, force). The third mode of the data tensor."
)


def pick_action(actions: Sequence[str]) -> str:
    return segments("Action", actions, "action", ACTION_HELP)


def show_scores(scores: Scores, level: float, *, narrow: bool = False) -> None:
    skill, held = st.columns(2) if narrow else st.columns([1, 1, 3])[:2]
    skill.metric(
        "Skill",
        percent(scores.skill, signed=True),
        border=True,
        help=(
            "How much lower the squared error is than that of repeating the last period, on periods the network had not"
            " learnt from. 0\u00a0% is no better, 100\u00a0% is perfect."
        ),
    )
    if scores.coverage is not None:
        held.metric(
            f"{percent(level)} interval held",
            percent(scores.coverage),
            border=True,
            help=(
                "How often the true figure lay inside the forecast's interval, on the same unseen periods. It should be"
                " near the interval's own level."
            ),
        )


def pick_run(
    runs: Sequence[Run], *, first: Run | None = None, words: str = "Which trained network speaks, newest first."
) -> Run:
    by_id = {run.run_id: run for run in runs}
    return by_id[pick_held("Run", list(by_id), words, lambda i: by_id[i].name, first.run_id if first else None)]


def pick_held(
    label: str, offered: Sequence[str], words: str, name: Callable[[str], str], first: str | None = None
) -> str:
    """The run in the link; without one `first`, the run last looked at on any page, or the newest."""
    held = str(st.session_state.get(HELD))
    chosen = linked(label, offered, "run", first or (held if held in offered else offered[0]), words, name=name)
    st.session_state[HELD] = chosen
    return chosen


def slide_step(label: str, n_steps: int, key: str, words: str) -> int:
    """How many periods ahead by a slider, from 0 for the next."""
    return st.slider(label, 1, n_steps, 1, key=key, help=words) - 1


def pick_week(origins: Sequence[str], period: str, last: str) -> str | None:
    """The last period a past forecast knew; None for the forecast of what comes next."""
    chosen = linked(
        period.capitalize(),
        [NEXT, *reversed(origins)],
        "week",
        NEXT,
        f"Next {period}: the forecast after all data. Or a past one: what this network expects when it knows the data "
        f"only up to that {period}, beside what then happened.",
        name=lambda o: f"next, after {last}" if o == NEXT else f"past, after {o}",
    )
    return None if chosen == NEXT else chosen


def pick_step(dates: Sequence[str], period: str) -> int:
    """How many periods ahead, from 0 for the next."""
    steps = [str(h + 1) for h in range(len(dates))]
    chosen = linked(
        "Horizon",
        steps,
        "horizon",
        "1",
        f"How many {period}s ahead (H), and the {period} that is. Intervals grow with the distance.",
        name=lambda h: f"{h} ahead: {dates[int(h) - 1]}",
    )
    return int(chosen) - 1
