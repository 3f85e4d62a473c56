"""Scenarios kept with a run: listed, opened, compared two at a time, deleted."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from trnn_core.charts.lines import unit_of
from trnn_core.data.series import RelationalSeries
from trnn_core.insight.answers import Outcome
from trnn_core.insight.library import Scenario, delete_scenario, list_scenarios
from trnn_core.insight.sentences import apart, say_effect
from trnn_core.runs.run import Run
from ui.explain_questions import download_table
from ui.page import look, show
from ui.phrases import escape
from ui.pickers import slide_step
from ui.scenario_pictures import arrows, thickest
from ui.table_columns import RELATION, SIGNED, number


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
    first, second = (names[i] for i in chosen)
    outcomes = (first.outcome(), second.outcome())
    horizon = min(o.horizon for o in outcomes)
    step = slide_step(f"{series.period.capitalize()}s ahead", horizon, "ahead-compare", "The same week in both.")
    side_by_side((first, second), outcomes, step, series)
    table = apart(*outcomes, series.actors, series.actions)
    now = table[table["date"] == outcomes[0].dates[step]]
    if now.empty:
        st.caption(f"The two look at other {series.period}s; only the pictures can be compared.")
        return
    furthest = now.iloc[0]
    st.markdown(
        escape(
            f"They are furthest apart in {furthest['source']} → {furthest['target']}, {furthest['action']}:"
            f" {furthest['first']:+.2g} in the first, {furthest['second']:+.2g} in the second."
        )
    )
    st.dataframe(
        now.head(10),
        hide_index=True,
        key="apart",
        column_config={
            "date": None,
            **RELATION,
            "first": number(first.name, SIGNED),
            "second": number(second.name, SIGNED),
            "apart": number("Second less first", SIGNED),
        },
    )
    download_table(table, "scenarios-compared", series, "compare")


def side_by_side(
    scenarios: tuple[Scenario, Scenario], outcomes: tuple[Outcome, Outcome], step: int, series: RelationalSeries
) -> None:
    """Both difference networks of one week, on one scale."""
    weeks = [outcome.difference.sum(axis=-1) for outcome in outcomes]  # (H, N, N) each
    largest = max(thickest(w, s.shocks, series) for w, s in zip(weeks, scenarios, strict=True))
    columns = st.columns(2, gap="medium")
    for column, scenario, outcome, all_acts in zip(columns, scenarios, outcomes, weeks, strict=True):
        with column:
            about = look(
                scenario.name,
                simulated=series.source.simulated,
                subtitle=f"{series.period} of {outcome.dates[step]} · all acts · orange: more, blue: less",
                height=460,
            )
            show(
                arrows(all_acts[step], series, about, top=30, largest=largest),
                f"compare-{scenario.scenario_id}",
                f"Difference network of the scenario {scenario.name}",
                file="scenario",
            )
            st.caption(escape(say_effect(outcome, series.actors, series.actions, step, series.period, unit_of(series))))
