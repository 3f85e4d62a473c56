"""Scenarios kept with a run: listed, opened, compared two at a time, deleted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import streamlit as st

from trnn_core.charts.lines import unit_of
from trnn_core.charts.network import network, strongest
from trnn_core.data.series import RelationalSeries
from trnn_core.insight.library import Scenario, delete_scenario, list_scenarios
from trnn_core.insight.shocks import Shock
from trnn_core.insight.words import apart, say_effect
from trnn_core.runs.run import Run
from ui.explain import download_table
from ui.page import is_dark, show
from ui.store import positions
from ui.words import escape


def shelf(run: Run, series: RelationalSeries, open_scenario: Callable[[Scenario], None]) -> None:
    """What was kept; `open_scenario` puts one back into the form."""
    kept = list_scenarios(run)
    st.subheader("Kept scenarios")
    if not kept:
        st.caption("None yet. A scenario that is kept stays with the run and can be laid beside another.")
        return
    for scenario in kept:
        with st.container(horizontal=True, vertical_alignment="center", key=f"kept-{scenario.scenario_id}"):
            old = "" if scenario.fits(run) else " · made with other weights than the run has now"
            st.markdown(f"**{escape(scenario.name)}** {escape(scenario.words)}{old}", width="stretch")
            if st.button(
                "Open",
                key=f"open-{scenario.scenario_id}",
                icon=":material/folder_open:",
                help="Show this scenario again.",
            ):
                open_scenario(scenario)
            if st.button(
                "Delete",
                key=f"delete-{scenario.scenario_id}",
                icon=":material/delete:",
                help="Remove this scenario from the run for good.",
            ):
                delete_scenario(run, scenario.scenario_id)
                st.rerun()
    if len(kept) > 1:
        compare(kept, series)


def thickest(weeks: np.ndarray, shocks: Sequence[Shock], series: RelationalSeries) -> float:
    """What the thickest arrow stands for in all weeks (H, N, N), so that what fades looks it: the strongest difference
    outside the relations that were changed themselves, beside which all others would be hairlines."""
    rest = np.abs(weeks)
    for shock in shocks:
        rest[:, series.actors.index(shock.source), series.actors.index(shock.target)] = 0.0
    return float(rest.max() or np.abs(weeks).max())


def compare(kept: list[Scenario], series: RelationalSeries) -> None:
    names = {s.scenario_id: s for s in kept}
    chosen = st.multiselect(
        "Lay two side by side",
        list(names),
        format_func=lambda i: names[i].name,
        max_selections=2,
        key="compare",
        bind="query-params",
        placeholder="choose two scenarios",
        help="Both difference networks for the same week and on one scale, and where they are furthest apart.",
    )
    if len(chosen) != 2:
        return
    outcomes = [names[i].outcome() for i in chosen]
    largest = max(
        thickest(o.difference.sum(axis=-1), names[i].shocks, series) for o, i in zip(outcomes, chosen, strict=True)
    )
    horizon = min(o.horizon for o in outcomes)
    step = (
        st.slider(
            f"{series.period.capitalize()}s ahead", 1, horizon, 1, key="ahead-compare", help="The same week in both."
        )
        - 1
    )
    matrices = [
        np.where(np.abs(o.difference[step].sum(axis=-1)) < 0.005, 0.0, o.difference[step].sum(axis=-1))
        for o in outcomes
    ]
    for column, i, outcome, matrix in zip(st.columns(2, gap="medium"), chosen, outcomes, matrices, strict=True):
        with column:
            figure = network(
                matrix,
                series.actors,
                positions(series, "force"),
                names[i].name,
                edges=strongest(matrix, top=30),
                largest=largest,
                kind="change",
                unit=unit_of(series),
                simulated=series.source.simulated,
                subtitle=f"{series.period} of {outcome.dates[step]} · all acts · orange: more, blue: less",
                dark=is_dark(),
                height=460,
            )
            show(figure, f"compare-{i}", f"Difference network of the scenario {names[i].name}", file="scenario")
            st.caption(escape(say_effect(outcome, series.actors, series.actions, step, series.period, unit_of(series))))
    table = apart(outcomes[0], outcomes[1], series.actors, series.actions)
    now = table[table["date"] == outcomes[0].dates[step]]
    if now.empty:
        st.caption(f"The two look at other {series.period}s; only the pictures can be compared.")
        return
    first = now.iloc[0]
    st.markdown(
        escape(
            f"They are furthest apart in {first['source']} → {first['target']}, {first['action']}:"
            f" {first['first']:+.2g} in the first, {first['second']:+.2g} in the second."
        )
    )
    number = st.column_config.NumberColumn
    st.dataframe(
        now.head(10),
        hide_index=True,
        key="apart",
        column_config={
            "date": None,
            "source": "Sender",
            "target": "Receiver",
            "action": "Action",
            "first": number(names[chosen[0]].name, format="%+.3g"),
            "second": number(names[chosen[1]].name, format="%+.3g"),
            "apart": number("Second less first", format="%+.3g"),
        },
    )
    download_table(table, "scenarios-compared", series, "compare")
