"""An import at work and what became of it: progress, report, names to set right, and a saved set out.

The import runs in a process of its own and is in the link, so that a reload or another browser finds it again.
"""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import streamlit as st

from trnn_core.data.corrections import add_corrections
from trnn_core.data.import_report import summary
from trnn_core.data.options import ImportOptions
from trnn_core.data.readers import write_npz
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.jobs.job import Job, JobStatus
from trnn_core.jobs.requests import find_job
from trnn_core.verbs.as_job import start
from trnn_core.verbs.import_ import RESULT, request_of, series_of
from ui.data_access import data_folder, data_sets, run_store
from ui.job_panel import job_panel, progress_bar, stop_button
from ui.page import simulated_badge
from ui.phrases import about_series, escape

LINK = "import"
REFRESH_SECONDS = 0.5


def begin(paths: list[Path], form: str, options: ImportOptions) -> None:
    """Ask for the import; the page goes on."""
    job = start(run_store(), "import", request_of(paths, form, options))
    st.query_params[LINK] = job.job_id


def asked_for(paths: list[Path]) -> Job | None:
    """The import in the link, unless other files have been chosen since."""
    job_id = st.query_params.get(LINK)
    if not job_id:
        return None
    try:
        job = find_job(run_store(), job_id)
    except TRNNError as e:
        st.warning(str(e), icon=":material/link_off:")
        del st.query_params[LINK]
        return None
    return job if job.verb == "import" and (not paths or job.request["files"] == [str(p) for p in paths]) else None


def show_import(job: Job) -> None:
    """Looks twice a second while it is at work; nothing else of the page waits for it."""
    job_panel(job, _draw, key="import-panel", seconds=REFRESH_SECONDS)


def _draw(job: Job, status: JobStatus) -> None:
    if status.is_live:
        progress_bar(status)
        stop_button(job, "Nothing is kept of it.", key="stop-import", label="Stop the import")
    elif status.state == "done":
        result(job)
    elif status.state == "stopped":
        words = "The import was stopped; nothing was kept. Press Import to begin again."
        st.info(words, icon=":material/stop_circle:")
    else:
        st.error(status.message, icon=":material/error:")


@st.cache_resource(max_entries=4, show_spinner="Opening what was read ...")
def _series(job_id: str, created: str, _job: Job) -> RelationalSeries:
    return series_of(_job.read(RESULT))


def result(job: Job) -> None:
    series = _series(job.job_id, job.created, job)
    st.markdown(f"#### {escape(series.source.title)}: {about_series(series)}")
    simulated_badge(series.source.simulated)
    report = series.source.report
    if "rows_read" in report:
        with st.expander("What was read, used and left out", expanded=True):
            st.markdown("\n".join(f"- {escape(sentence)}" for sentence in summary(report)))
        reconcile(job, report.get("unrecognised", []))
    save(series)


def reconcile(job: Job, unknown: list[dict]) -> None:
    """Names that no country answers to, to be set right once; the decisions are kept for the next import."""
    if not unknown:
        return
    st.markdown("**Names that were not recognised.** Write what each should count as, or leave it to stand for itself.")
    table = pd.DataFrame(
        {
            "name": [u["name"] for u in unknown],
            "where": [f"{u['file']}, line {u['line']}" for u in unknown],
            "perhaps": [", ".join(u["suggestions"]) for u in unknown],
            "count as": ["" for _ in unknown],
        }
    )
    edited = st.data_editor(
        table,
        hide_index=True,
        disabled=["name", "where", "perhaps"],
        key=f"reconcile-{job.job_id}",
        column_config={
            "name": "Name in the file",
            "where": "First seen",
            "perhaps": "Perhaps",
            "count as": st.column_config.TextColumn(
                "Count as", help="A country, or any name of your own; empty leaves it as it is."
            ),
        },
    )
    decisions = {
        r["name"]: str(r["count as"]).strip() for _, r in edited.iterrows() if str(r["count as"] or "").strip()
    }
    if st.button(
        "Apply and import again",
        icon=":material/sync:",
        disabled=not decisions,
        help="Remembers the names for later imports too.",
    ):
        corrections = add_corrections(data_folder() / "corrections.json", decisions)
        options = ImportOptions(**job.request["options"]).model_copy(update={"corrections": corrections})
        begin([Path(f) for f in job.request["files"]], job.request["format"], options)
        st.rerun()


def save(series: RelationalSeries) -> None:
    with st.container(horizontal=True):
        train = st.button(
            "Save and train on it",
            type="primary",
            icon=":material/model_training:",
            help="Saves the set for all pages and goes on to Train.",
        )
        explore = st.button(
            "Save and explore it",
            icon=":material/table_chart:",
            help="Saves the set for all pages and shows it week by week.",
        )
    if not (train or explore):
        return
    key = f"saved-{series.fingerprint}-{series.source.title}"
    name = st.session_state.get(key)
    if name not in data_sets():  # pressing twice makes no copy
        name = st.session_state[key] = free_name(series.source.title)
        write_npz(series, data_folder() / f"{name}.npz")
    st.switch_page("pages/2_Train.py" if train else "pages/1_Data.py", query_params={"data": name})


def free_name(title: str) -> str:
    """A file name for a set that takes nobody else's place."""
    base = re.sub(r"[^\w -]", "", title).strip()[:60] or "data"
    if not any(c.isalnum() for c in base):
        raise TRNNError(f"The name of a set needs at least one letter or digit. Got {title!r} instead.")
    taken, name, n = {s.casefold() for s in data_sets()}, base, 1
    while name.casefold() in taken:
        n += 1
        name = f"{base} {n}"
    return name
