"""Explain: who moves whom, why this forecast, what if, what follows a shock, and which weeks were unusual."""

from __future__ import annotations

import streamlit as st

import ui.everything  # noqa: F401  # first: see there
from ui.data_access import forecast_runs, series_of
from ui.explain_influence import influence_tab
from ui.explain_questions import warm_up, warn_not_cause
from ui.explain_shock import shock_tab
from ui.explain_weeks import weeks_tab
from ui.explain_whatif import whatif_tab
from ui.explain_why import why_tab
from ui.page import TRAIN, empty, page, simulated_badge
from ui.pickers import pick_run

TABS = {
    "Influence": influence_tab,
    "Why this forecast": why_tab,
    "What if": whatif_tab,
    "After a shock": shock_tab,
    "Unusual weeks": weeks_tab,
}
TAB_HELP = (
    "Influence: whose acts move whose. Why this forecast: what drove one figure. What if: change a recent week. "
    "After a shock: how a push spreads. Unusual weeks: when things went unlike their past."
)


def main() -> None:
    runs = forecast_runs()
    if not runs:
        empty(
            "There is nothing to explain yet: train a network first.",
            "Here you will see who moves whom, what a forecast goes by, and what would follow from a change.",
            TRAIN,
        )
    where, badge = st.columns([8, 3], vertical_alignment="bottom")
    with where:
        run = pick_run(runs, words="Which trained network is questioned, newest first.")
    warm_up(run)  # the network is loaded while the first question is thought of
    series = series_of(run)
    with badge:
        simulated_badge(series.source.simulated)
    tab = st.segmented_control(
        "Question",
        list(TABS),
        default="Influence",
        required=True,
        wrap=True,
        key="tab",
        bind="query-params",
        help=TAB_HELP,
    )
    TABS[tab or "Influence"](run, series)
    warn_not_cause()


with page("Explain"):
    main()
