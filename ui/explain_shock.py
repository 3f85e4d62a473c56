"""After a shock: how a push to one relation spreads over the following weeks."""

from __future__ import annotations

import numpy as np
import streamlit as st

from trnn_core.charts.explanations import responses
from trnn_core.charts.heatmap import heatmap
from trnn_core.charts.lines import unit_of
from trnn_core.charts.look import Measure
from trnn_core.data.series import RelationalSeries
from trnn_core.insight.answers import Impulse, unpack
from trnn_core.insight.sentences import answers, say_impulse
from trnn_core.runs.run import Run
from trnn_core.words import percent
from ui.data_access import order
from ui.explain_questions import ask, download_table, pick_cell, same_country
from ui.page import look, show
from ui.phrases import escape
from ui.pickers import slide_step

HORIZON = 8
SHOWN = 6  # relations drawn


def shock_tab(run: Run, series: RelationalSeries) -> None:
    what, much = st.columns([4, 1], vertical_alignment="bottom")
    with what:
        source, target, action = pick_cell(series)
    with much:
        size = st.number_input(
            "Push, events",
            min_value=-1000.0,
            max_value=10_000.0,
            value=10.0,
            step=1.0,
            key="push",
            bind="query-params",
            help="Events added to one week of this relation; negative takes them away.",
        )
    if same_country(source, target, series):
        return
    if size == 0:
        st.warning("A push of nothing has no consequences; choose another figure than 0.")
        return
    found = unpack(
        Impulse, ask(run, "impulse", source=source, target=target, action=action, size=float(size), horizon=HORIZON)
    )
    cells = [found.cell, *(c for c in found.strongest(SHOWN + 1) if c != found.cell)][:SHOWN]
    names = [f"{series.actors[i]} → {series.actors[j]}, {series.actions[k]}" for i, j, k in cells]
    bands = [tuple(part[:, i, j, k] for part in (found.mean, found.lower, found.upper)) for i, j, k in cells]
    left, right = st.columns([2, 3], gap="medium")
    with left:
        pushed = f"a push of {size:+g} to {names[0]}"
        figure = responses(
            names,
            bands,
            look("What answers most", simulated=series.source.simulated, subtitle=pushed, height=600),
            unit=unit_of(series),
            period=series.period,
        )
        show(figure, "impulse", "Answers of the strongest relations over the following weeks", file="impulse")
        st.caption(escape(say_impulse(found, series.actors, series.actions, series.period)))
    with right:
        spread_map(found, series)
    table = answers(found, series.actors, series.actions, 100)
    download_table(table, f"impulse-{source}-{target}-{action}".replace(" ", "-"), series, "impulse")


def spread_map(found: Impulse, series: RelationalSeries) -> None:
    label = f"{series.period.capitalize()}s after the push"
    step = slide_step(label, len(found.mean), "after", "Which week the matrix shows.")
    matrix = found.mean[step].sum(axis=-1)
    i, j, _ = found.cell
    shown = np.delete(np.abs(matrix).ravel(), i * len(matrix) + j)
    figure = heatmap(
        matrix,
        series.actors,
        look(
            f"Where it has spread after {step + 1} {series.period}{'s' if step else ''}",
            simulated=series.source.simulated,
            subtitle="all acts together · the colours leave out the pushed relation",
        ),
        measure=Measure("change", unit_of(series)),
        order=order(series, "similarity"),
        largest=max(float(shown.max()), 1e-9),
    )
    show(figure, "impulse-map", "Matrix of answers to the push", file="impulse-matrix")
    share = float(np.abs(matrix[i]).sum() + np.abs(matrix[:, j]).sum() - abs(matrix[i, j])) / max(
        float(np.abs(matrix).sum()), 1e-12
    )
    st.caption(f"{percent(share)} of the answer is in acts by {series.actors[i]} or towards {series.actors[j]}.")
