"""Why this forecast: which past weeks, senders, receivers and actions drove one figure."""

from __future__ import annotations

import numpy as np
import streamlit as st

from trnn_core.charts.explanations import contributions
from trnn_core.charts.heatmap import heatmap
from trnn_core.charts.lines import unit_of
from trnn_core.charts.look import Measure
from trnn_core.data.series import RelationalSeries
from trnn_core.insight.answers import Attribution, unpack
from trnn_core.insight.sentences import drivers, say_attribution, say_completeness, say_driver
from trnn_core.runs.run import Run
from ui.data_access import order, read_forecast
from ui.explain_questions import ask, download_table, pick_cell, same_country
from ui.page import look, show
from ui.phrases import escape
from ui.pickers import pick_step

SHOWN = 8  # drivers told in words


def why_tab(run: Run, series: RelationalSeries) -> None:
    what, when = st.columns([3, 1], vertical_alignment="bottom")
    with what:
        source, target, action = pick_cell(series)
    with when:
        step = pick_step([str(d) for d in series.next_dates(8)], series.period) + 1
    if same_country(source, target, series):
        return
    found = unpack(Attribution, ask(run, "explain", source=source, target=target, action=action, step=step))
    table = drivers(found, series.actors, series.actions)
    tell(found, run, series, table)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        weeks(found, series)
        by_action(found, series)
    with right:
        pairs(found, series)
    download_table(table, f"why-{source}-{target}-{action}-{step}".replace(" ", "-"), series, "why")


def tell(found: Attribution, run: Run, series: RelationalSeries, table) -> None:
    unit = unit_of(series)
    st.markdown(escape(say_attribution(found, series.actors, series.actions, series.period, unit)))
    forecast = read_forecast(run)
    i, j, k = found.cell
    if forecast is not None and found.step <= len(forecast.dates):
        st.caption(
            f"The Forecast page gives {forecast.mean[found.step - 1, i, j, k]:.3g} for it: the same expectation with"
            " the spread of counts around it. Here the figure that the network itself works with is taken apart."
        )
    if table.empty:
        st.markdown("Nothing in the recent weeks differed from the usual in a way that counts here.")
        return
    lines = [
        f"{n}. {escape(say_driver(row, series.period))}"
        for n, (_, row) in enumerate(table.head(SHOWN).iterrows(), start=1)
    ]
    st.markdown("\n".join(lines))
    (st.success if found.complete else st.warning)(
        say_completeness(found), icon=":material/check:" if found.complete else ":material/warning:"
    )


def weeks(found: Attribution, series: RelationalSeries) -> None:
    total = found.in_events.sum(axis=(1, 2, 3))
    recent = slice(-13, None)
    figure = contributions(
        list(found.dates[recent])[::-1],
        total[recent][::-1].tolist(),
        look(
            f"Which {series.period}s",
            simulated=series.source.simulated,
            subtitle="right: raises the forecast, left: lowers it; newest on top",
            height=150 + 20 * len(found.dates[recent]),
        ),
        unit=unit_of(series),
        axis=f"{series.period} (its first day)",
    )
    show(figure, "why-weeks", f"Contribution of each {series.period}", file="why-weeks")
    top = int(np.abs(total).argmax())
    st.caption(f"The {series.period} of {found.dates[top]} counts most.")


def by_action(found: Attribution, series: RelationalSeries) -> None:
    total = found.in_events.sum(axis=(0, 1, 2))
    figure = contributions(
        series.actions,
        total.tolist(),
        look("Which kinds of act", simulated=series.source.simulated, height=140 + 24 * len(series.actions)),
        unit=unit_of(series),
        axis="kind of act",
    )
    show(figure, "why-actions", "Contribution of each kind of act", file="why-actions")
    k = int(np.abs(total).argmax())
    st.caption(f"What was done of {series.actions[k]} counts most.")


def pairs(found: Attribution, series: RelationalSeries) -> None:
    total = found.in_events.sum(axis=(0, 3))
    senders, receivers = np.abs(total).sum(axis=1), np.abs(total).sum(axis=0)
    figure = heatmap(
        total,
        series.actors,
        look(
            "Which senders and receivers",
            simulated=series.source.simulated,
            subtitle="all weeks and acts · orange raises the forecast, blue lowers it",
        ),
        measure=Measure("change", unit_of(series)),
        order=order(series, "similarity"),
        largest=max(float(np.quantile(np.abs(total), 0.999)), 1e-9),
    )
    show(figure, "why-pairs", "Contribution of each pair of countries", file="why-pairs")
    st.caption(
        f"As senders, {series.actors[int(senders.argmax())]} counts most; as receivers,"
        f" {series.actors[int(receivers.argmax())]}."
    )
