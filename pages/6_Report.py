"""Report: what a run found, as a page to read, print, present or pass on, with everything it came from."""

from __future__ import annotations

import streamlit as st

from trnn_core.export.material import Material, gather
from trnn_core.export.report import html_report
from trnn_core.export.sections import ALWAYS, SECTIONS, choose
from trnn_core.training.runs import Run
from ui.links import judge
from ui.page import TRAIN, empty, page, simulated_badge
from ui.pickers import pick_run
from ui.report_files import make_file
from ui.store import forecast_runs, run_store


def main() -> None:
    runs = forecast_runs()
    if not runs:
        empty("There is nothing to report yet: train a network first.", "Here you will find what a run found as a report, slides, tables and network files to take away.", TRAIN)  # fmt: skip
    options, preview = st.columns([1, 3], gap="medium")
    with options:
        run = pick_run(runs, words="Which run to report, newest first.")
        names = pick_sections()
        material = gather(run.run_id, run_store())
        simulated_badge(material.simulated)
        text = _html(run.run_id, _version(run), run.name, tuple(names), material)
        file = f"{run.run_id}-{material.forecast.dates[0]}"
        st.download_button(
            "Report (HTML)", text, f"{file}.html", "text/html", icon=":material/summarize:", type="primary", on_click="ignore", width="stretch",
            help="One file with interactive charts that opens in any browser, without a network.",
        )  # fmt: skip
        make_file(run, names, file)
    with preview:
        st.iframe(text, height=860, alt="Preview of the report")


def pick_sections() -> list[str]:
    """Which sections; limits and source go with every report."""
    offered = [name for name in SECTIONS if name not in ALWAYS]
    judge("sections", [SECTIONS[name][0] for name in offered], "Section")
    chosen = st.pills(
        "Sections", offered, selection_mode="multi", default=offered, format_func=lambda name: SECTIONS[name][0], key="sections", bind="query-params", wrap=True,
        help="What the report tells. Its limits and its source, licence and citation are always part of it.",
    )  # fmt: skip
    return choose(chosen)


def _version(run: Run) -> tuple[int, ...]:
    """Changes whenever anything the report reads was written again."""
    return tuple((run.folder / name).stat().st_mtime_ns for name in ("forecast.npz", "backtest.parquet", "backtest.json", "explanation.npz") if (run.folder / name).exists())  # fmt: skip


@st.cache_data(max_entries=8, show_spinner="Writing the report ...")
def _html(run_id: str, version: tuple[int, ...], name: str, sections: tuple[str, ...], _material: Material) -> str:
    return html_report(_material, list(sections))


with page("Report"):
    main()
