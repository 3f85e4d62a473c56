"""Report: what a run found, as a page to read, print, present or pass on, with everything it came from."""

from __future__ import annotations

import streamlit as st

import ui.everything  # noqa: F401  # first: see there
from trnn_core.errors import TRNNError
from trnn_core.export.formats import FORMATS
from trnn_core.export.material import gather
from trnn_core.export.sections import ALWAYS, SECTIONS, choose
from trnn_core.jobs.context import quiet
from ui.data_access import forecast_runs, read_forecast, run_store, series_of
from ui.downloads import save_button
from ui.links import judge
from ui.page import TRAIN, empty, page, simulated_badge
from ui.pickers import pick_run
from ui.report_files import make_file
from ui.report_preview import preview

REPORT = FORMATS["report"]


def main() -> None:
    runs = forecast_runs()
    if not runs:
        empty(
            "There is nothing to report yet: train a network first.",
            "Here you will find what a run found as a report, slides, tables and network files to take away.",
            TRAIN,
        )
    options, beside = st.columns([1, 3], gap="medium")
    with options:
        run = pick_run(runs, words="Which run to report, newest first.")
        names = pick_sections()
        forecast = read_forecast(run)
        if forecast is None:  # it had one a moment ago
            raise TRNNError(f"Run {run.run_id} has no forecast any more; reload the page to choose another.")
        simulated_badge(forecast.simulated or series_of(run).source.simulated)
        file, store = f"{run.run_id}-{forecast.dates[0]}", run_store()
        save_button(
            "Report (HTML)",
            lambda: REPORT.make(gather(run.run_id, store), names, quiet),
            f"{file}.{REPORT.ending}",
            REPORT.mime,
            "summarize",
            "One file with interactive charts that opens in any browser, without a network.",
            type="primary",
            width="stretch",
        )
        make_file(run, names, file)
    with beside:
        preview(run, names)


def pick_sections() -> list[str]:
    """Which sections; limits and source go with every report."""
    offered = [name for name in SECTIONS if name not in ALWAYS]
    judge("sections", [SECTIONS[name][0] for name in offered], "Section")
    chosen = st.pills(
        "Sections",
        offered,
        selection_mode="multi",
        default=offered,
        format_func=lambda name: SECTIONS[name][0],
        key="sections",
        bind="query-params",
        wrap=True,
        help="What the report tells. Its limits and its source, licence and citation are always part of it.",
    )
    return choose(chosen)


with page("Report"):
    main()
