"""What follows from a change, drawn: the network of differences, the relation that changes most, and a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from trnn_core.charts.edges import strongest
from trnn_core.charts.explanations import with_and_without
from trnn_core.charts.lines import unit_of
from trnn_core.charts.look import Look, Measure
from trnn_core.charts.node_link import network
from trnn_core.data.series import RelationalSeries
from trnn_core.insight.answers import Outcome
from trnn_core.insight.sentences import effects, say_effect
from trnn_core.insight.shocks import ALL, Shock
from ui.data_access import positions
from ui.explain_questions import download_table
from ui.page import look, show
from ui.phrases import escape
from ui.pickers import slide_step
from ui.table_columns import RELATION, SIGNED, number

COLUMNS = {
    "date": None,
    **RELATION,
    "with": number("With"),
    "without": number("Without"),
    "difference": number("Difference", SIGNED),
    "lower": number("From", SIGNED, "Lower end of the 90\u00a0% interval of the difference"),
    "upper": number("To", SIGNED, "Upper end"),
}


def told(outcome: Outcome, series: RelationalSeries, shocks: list[Shock], key: str = "now") -> None:
    """Difference network, the pair over time, and the largest differences."""
    a, b = st.columns([2, 1], vertical_alignment="bottom")
    label = f"{series.period.capitalize()}s ahead"
    with a:
        step = slide_step(label, outcome.horizon, f"ahead-{key}", "How far after the last week known.")
    action = b.selectbox(
        "Acts drawn", [ALL, *series.actions], key=f"acts-{key}", help="All kinds of act added up, or one of them."
    )
    difference_network(outcome, series, shocks, step, action)
    st.markdown(escape(say_effect(outcome, series.actors, series.actions, step, series.period, unit_of(series))))
    table = effects(outcome, series.actors, series.actions)
    pair_over_time(outcome, series, table.iloc[0], key)
    st.dataframe(
        table[table["date"] == outcome.dates[step]].head(10),
        hide_index=True,
        key=f"effects-{key}",
        column_config=COLUMNS,
    )
    st.caption(
        f"Interval of the difference: {outcome.interval_words}. How wrong the network's idea of the effect may be, it"
        " does not say."
    )
    download_table(table, "scenario", series, f"scenario-{key}")


def difference_network(outcome: Outcome, series: RelationalSeries, shocks: list[Shock], step: int, action: str) -> None:
    cells = outcome.difference
    weeks = cells.sum(axis=-1) if action == ALL else cells[..., series.actions.index(action)]
    what = "all acts" if action == ALL else action
    about = look(
        "What the change makes of the forecast",
        simulated=series.source.simulated,
        subtitle=f"{series.period} of {outcome.dates[step]} · {what} · orange: more, blue: less than without it",
        height=520,
    )
    show(
        arrows(weeks[step], series, about, top=40, largest=thickest(weeks, shocks, series)),
        "difference-now",
        "Network of differences between the forecast with and without the change",
        file="scenario-difference",
    )


def pair_over_time(outcome: Outcome, series: RelationalSeries, row, key: str) -> None:
    i, j, k = (
        series.actors.index(row["source"]),
        series.actors.index(row["target"]),
        series.actions.index(row["action"]),
    )
    changed, usual = (tuple(x[:, i, j, k] for x in part) for part in (outcome.changed, outcome.usual))
    figure = with_and_without(
        outcome.dates,
        changed,
        usual,
        look(
            f"{row['source']} → {row['target']}, {row['action']}",
            simulated=series.source.simulated,
            subtitle="expected, with and without the change; shaded: 90\u00a0% intervals",
        ),
        unit=unit_of(series),
    )
    show(figure, f"pair-{key}", "The relation that changes most, with and without the change", file="scenario-pair")
    last = abs(float(outcome.difference[-1, i, j, k]))
    fades = "has all but faded" if last < 0.1 * abs(float(row["difference"])) else f"is still {last:.2g}"
    st.caption(f"This relation changes most. After {outcome.horizon} {series.period}s the difference {fades}.")


def arrows(matrix: np.ndarray, series: RelationalSeries, about: Look, *, top: int, largest: float) -> go.Figure:
    """The strongest differences of one week, (N, N), as a network; what rounds to nothing is left out."""
    shown = np.where(np.abs(matrix) < 0.005, 0.0, matrix)
    return network(
        shown,
        series.actors,
        positions(series, "force"),
        about,
        measure=Measure("change", unit_of(series)),
        edges=strongest(shown, top=top),
        largest=largest,
    )


def thickest(weeks: np.ndarray, shocks: Sequence[Shock], series: RelationalSeries) -> float:
    """What the thickest arrow stands for in all weeks (H, N, N), so that what fades looks it: the strongest difference
    outside the relations that were changed themselves, beside which all others would be hairlines."""
    rest = np.abs(weeks)
    for shock in shocks:
        rest[:, series.actors.index(shock.source), series.actors.index(shock.target)] = 0.0
    return float(rest.max() or np.abs(weeks).max())
