"""Train: choose a preset, change what you like, start, and watch it learn."""

from __future__ import annotations

from datetime import datetime

import streamlit as st

import ui.everything  # noqa: F401  # first: see there
from trnn_core.data.series import RelationalSeries
from trnn_core.jobs import queue
from trnn_core.runs.run import Run
from trnn_core.training.config import Recipe
from ui.data_access import data_sets, load_set, run_store
from ui.demo_run import prepare_demo
from ui.links import is_number, judge, linked
from ui.live import live_panel
from ui.page import ADD, empty, page, simulated_badge
from ui.phrases import about_series, escape
from ui.pickers import pick_run
from ui.runs_table import runs_table
from ui.search_panel import search_panel
from ui.train_form import change, pick_preset, save_recipe, size_of


def main() -> None:
    prepare_demo()
    names = data_sets()
    if not names:
        empty(
            "There is no data set to learn from yet.",
            "Add one; then choose a preset here, start, and watch the network learn.",
            ADD,
        )
    runs = run_store().runs()
    settings, live = st.columns([2, 3], gap="large")
    with settings:
        name = linked("Data set", names, "data", names[0], "What the network learns from.")
        series = load_set(name)
        simulated_badge(series.source.simulated)
        st.caption(f"{escape(series.source.title)}: {about_series(series)}")
        begin, prefix = pick_preset()
        action = st.container()
        recipe = change(begin, prefix)
        with action:
            size_of(recipe, series, runs)
            label = st.text_input(
                "Name of the run",
                placeholder="name of the run (preset, data and time if empty)",
                key="run_name",
                max_chars=80,
                label_visibility="collapsed",
                help="To find it again.",
            )
            with st.container(horizontal=True):
                if st.button(
                    "Start training",
                    type="primary",
                    icon=":material/play_arrow:",
                    help="Queues the run; it goes on when you close the page.",
                ):
                    start(recipe, series, label)
                save_recipe(recipe)
    with live:
        watch(runs)
    search_panel(recipe, series)
    if runs:
        st.subheader("All runs")
        runs_table(runs[:20])


def start(recipe: Recipe, series: RelationalSeries, label: str) -> None:
    name = label or f"{recipe.preset or 'own settings'} on {series.source.title}, {datetime.now():%d %b %H:%M}"
    run = run_store().submit(recipe, series, name=name)
    queue.ensure_worker(run_store())
    st.session_state["run"] = run.run_id
    st.rerun()


def watch(runs: list[Run]) -> None:
    if not runs:
        st.info("No run yet. Choose a preset on the left and press Start training.", icon=":material/info:")
        return
    by_id = {run.run_id: run for run in runs}
    live = next((run for run in runs if run.status().is_live), None)
    chosen = pick_run(runs, first=live, words="The run to watch, newest first.").run_id
    with st.container(horizontal=True, vertical_alignment="bottom"):
        judge("log_loss", ("true", "false"), "Log scale")
        log = st.toggle(
            "Log scale", True, key="log_loss", bind="query-params", help="Equal steps are equal ratios of the loss (l)."
        )
        judge("smoothing", is_number(0, 0.95), "Smoothing")
        smoothing = st.slider(
            "Smoothing",
            0.0,
            0.95,
            0.0,
            0.05,
            key="smoothing",
            bind="query-params",
            width=180,
            help="Average over neighbouring epochs; 0 shows them as they are.",
        )
        others = pick_others(by_id, chosen)
    live_panel(chosen, others, log=log, smoothing=smoothing)
    waiting_runs(by_id)


def pick_others(by_id: dict[str, Run], chosen: str) -> list[str]:
    """Earlier runs to lay behind the curve, by their ids in the link."""
    offered = [i for i in by_id if i != chosen]
    judge("others", list(by_id), "Run to compare with")
    if "others" not in st.session_state:
        st.session_state["others"] = [i for i in st.query_params.get_all("others") if i in offered]
    st.session_state["others"] = [i for i in st.session_state["others"] if i in offered]
    others = st.multiselect(
        "Compare with",
        offered,
        format_func=lambda i: by_id[i].name,
        key="others",
        placeholder="earlier runs",
        width=320,
        help="Validation loss of other runs, dashed, behind that of this one.",
    )
    if st.query_params.get_all("others") != others:
        st.query_params["others"] = others
    return others


def waiting_runs(by_id: dict[str, Run]) -> None:
    """Who waits for whom, first come first."""
    waiting = [i for i in queue.queued(run_store(), "train") if i in by_id and by_id[i].status().state == "queued"]
    if waiting:
        names = "; ".join(f"{n}. {escape(by_id[i].name)}" for n, i in enumerate(waiting, start=1))
        st.info(f"In the queue: {names}", icon=":material/schedule:")


with page("Train"):
    main()
