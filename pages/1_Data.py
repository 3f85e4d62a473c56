"""Data: choose a set, bring your own, and look at it before anything is learnt from it."""

from __future__ import annotations

import streamlit as st

import ui.everything  # noqa: F401  # first: see there
from ui.data_access import data_sets, load_set
from ui.demo_run import prepare_demo
from ui.explorer import explorer
from ui.importer import importer
from ui.links import linked, segments
from ui.page import page, simulated_badge
from ui.phrases import about_series, escape


def main() -> None:
    prepare_demo()
    names = data_sets()
    tasks = ("Explore", "Add data")
    chosen = segments(
        "What to do",
        tasks,
        "do",
        "Look at a saved set, or bring your own.",
        default=tasks[0 if names else 1],
        hidden=True,
    )
    if chosen == "Add data" or not names:
        if not names:
            st.info("There is no data set yet. Add one here; it is then saved for all pages.", icon=":material/info:")
        importer()
        return
    which, about, on = st.columns([4, 7, 3], vertical_alignment="bottom")
    with which:
        name = linked("Data set", names, "data", names[0], "Saved sets; the demo is simulated.")
    series = load_set(name)
    with about:
        simulated_badge(series.source.simulated)
        st.markdown(f"**{escape(series.source.title)}**: {about_series(series)}")
    on.page_link(
        "pages/2_Train.py",
        label="Train a network on this set",
        icon=":material/model_training:",
        query_params={"data": name},
    )
    explorer(series)


with page("Data"):
    main()
