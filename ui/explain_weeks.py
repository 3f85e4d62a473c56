"""Unusual weeks: when the relations behaved unlike what their past led the network to expect."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from trnn_core.charts.explanations import surprise_over_time
from trnn_core.data.series import RelationalSeries
from trnn_core.insight.answers import THRESHOLD, Unusual, unpack
from trnn_core.insight.sentences import moved, say_unusual
from trnn_core.runs.run import Run
from ui.explain_questions import ask, download_table
from ui.page import look, show
from ui.phrases import escape
from ui.pickers import linked
from ui.table_columns import RELATION, number


def weeks_tab(run: Run, series: RelationalSeries) -> None:
    found = unpack(Unusual, ask(run, "unusual"))
    unseen = int(np.argmax(~found.learnt)) if (~found.learnt).any() else None
    figure = surprise_over_time(
        found.dates,
        found.surprise,
        found.flagged.tolist(),
        found.stretches,
        THRESHOLD,
        look(simulated=series.source.simulated),
        first_unseen=unseen,
        period=series.period,
    )
    clicked = show(
        figure, "surprise", "Surprise of every week, unusual weeks marked", clicks=True, file="unusual-weeks"
    )
    st.markdown(escape(say_unusual(found, series.period)))
    follow(clicked, found)
    ranked = [found.dates[t] for t in np.argsort(-found.surprise, kind="stable")]
    surprise = dict(zip(found.dates, found.surprise, strict=True))
    a, _ = st.columns([1, 2])
    with a:
        week = linked(
            series.period.capitalize(),
            ranked,
            "week",
            ranked[0],
            "Which one to look into, the most unusual first. Or click a dot.",
            name=lambda d: f"{d} (surprise {surprise[d]:.1f})",
        )
    told(found, week, series)
    with st.expander("How surprise is measured"):
        st.markdown(method(series.period))
    everything = pd.DataFrame({"date": found.dates, "surprise": found.surprise, "learnt": found.learnt})
    download_table(everything, f"unusual-{run.run_id}", series, "weeks")


def told(found: Unusual, week: str, series: RelationalSeries) -> None:
    """What was unusual about one week: the relation furthest from its past in a sentence, the others as a table."""
    table = moved(found, found.dates.index(week), series.actors, series.actions)
    first = table.iloc[0]
    st.markdown(
        escape(
            f"In the {series.period} of {week} {first['source']} → {first['target']}, {first['action']} was furthest"
            f" from what was expected: {first['observed']:.3g} instead of {first['expected']:.3g}."
        )
    )
    st.dataframe(
        table,
        hide_index=True,
        key="moved",
        column_config={
            **RELATION,
            "observed": number("Observed"),
            "expected": number("Expected"),
            "times": number(
                "Times its usual error",
                "%+.1f",
                "Observed minus expected, on the log scale, over what is usual for this relation. Listed by the"
                " size of the error; those at least twice the usual come first.",
            ),
        },
    )


def method(period: str) -> str:
    return (
        "Every relation's one-step error (on the log scale, for counts) is divided by its usual error in the 104"
        f" {period}s before. The mean square over all relations is one figure per {period};"
        f" *surprise* is how far its logarithm lies above that of the 104 {period}s before, in robust"
        f" standard deviations. {THRESHOLD:g} or more is marked: about one {period} in 700 by chance alone."
        f" {period.capitalize()}s that the network learnt from are compared with each other, and so are"
        " those it never saw. A surprise says that something was unlike the past, not what it was."
    )


def follow(clicked: tuple[int, int] | None, found: Unusual) -> None:
    """A click on a dot chooses its week."""
    if clicked is not None and clicked != st.session_state.get("last-week-click"):
        st.session_state["last-week-click"] = clicked
        st.session_state["week"] = found.dates[clicked[0]]
