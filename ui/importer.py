"""Bringing one's own data: files in, a form of choices, a report, names to set right, and a saved set out."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pandas as pd
import streamlit as st

from trnn_core.data.corrections import add_corrections, load_corrections
from trnn_core.data.options import WEEKDAYS, ImportOptions
from trnn_core.data.readers import FORMATS, read_series, recognise, write_npz
from trnn_core.data.readers.inputs import find_inputs
from trnn_core.data.report import summary
from trnn_core.data.series import PERIODS, RelationalSeries
from trnn_core.errors import TRNNError
from ui.import_preview import pick_columns, preview
from ui.page import simulated_badge
from ui.store import data_folder, data_sets
from ui.words import about_series, escape

TYPES = ["csv", "tsv", "txt", "tab", "parquet", "xlsx", "npz", "tns", "zip", "gz"]
MAX_CELLS = 2**26  # half a gigabyte of figures; larger sets go through the command line
AUTO = "as the file has it"


def importer() -> None:
    """Each part appears when the one before it is done."""
    paths = pick_files()
    if not paths:
        st.caption(f"Understood: {'; '.join(FORMATS.values())}; plain, gzip or zip. Nothing leaves this computer.")
        return
    base = ImportOptions(allowed_root=paths[0].parent, max_cells=MAX_CELLS)
    inputs = find_inputs(paths, base)
    form = recognise(inputs, base)
    st.success(f"{', '.join(escape(p.name) for p in paths)}: {FORMATS[form]}.", icon=":material/check:")
    preview(inputs[0], form, base)
    with st.form("import", border=True):
        title = st.text_input("Name of the set", Path(paths[0].name.partition(".")[0]).name[:60], key="set_name", max_chars=60, help="Under which it is saved and shown.")  # fmt: skip
        options = choices(form, inputs[0], base, title)
        go = st.form_submit_button("Import", type="primary", icon=":material/login:", help="Reads everything and reports what it found; nothing is saved yet.")  # fmt: skip
    chosen = tuple(str(p) for p in paths)
    if go:
        st.session_state["imported"] = (chosen, options, run_import(paths, form, options))
    done = st.session_state.get("imported")
    if done and done[0] == chosen:
        result(paths, form, done[1], done[2])


def pick_files() -> list[Path]:
    """Uploaded files, put into a folder that goes when the session does; or files in the server's data folder."""
    files = st.file_uploader(
        "Your files", TYPES, accept_multiple_files=True, key="upload",
        help="Event files as delivered, a table with date, sender, receiver, action and value, or a saved set. Several files of one kind are joined.",
    )  # fmt: skip
    there = sorted(
        p.name for p in data_folder().iterdir() if p.suffix.lstrip(".").lower() in TYPES and p.suffix != ".npz"
    )
    named = st.multiselect("Or files in the data folder of the server", there, key="server_files", placeholder="none chosen", help=f"For files too large to upload: put them into {data_folder().name}/ first.") if there else []  # fmt: skip
    if named:
        return [data_folder() / name for name in named]
    if not files:
        return []
    if "upload_folder" not in st.session_state:
        st.session_state["upload_folder"] = tempfile.TemporaryDirectory(prefix="trnn-upload-")
    folder = Path(st.session_state["upload_folder"].name)
    paths = []
    for file in files:
        path = folder / safe_name(file.name)
        if (
            not path.exists()
            or path.stat().st_size != file.size
            or st.session_state.get(f"upload-{path.name}") != file.file_id
        ):
            path.write_bytes(file.getbuffer())
            st.session_state[f"upload-{path.name}"] = file.file_id
        paths.append(path)
    return paths


def safe_name(name: str) -> str:
    """The last part of a file's name, without anything that could lead elsewhere.

    >>> safe_name("../../etc/passwd"), safe_name("week 1.csv"), safe_name("\\x00")
    ('passwd', 'week 1.csv', 'file')
    """
    last = re.split(r"[/\\]", name)[-1]
    return re.sub(r"[^\w .()-]", "", last).strip(" .")[-100:] or "file"


def choices(form: str, source, base: ImportOptions, title: str) -> ImportOptions:
    settings: dict[str, object] = {"title": title, "corrections": load_corrections(data_folder() / "corrections.json")}
    if form == "npz":
        return base.model_copy(update=settings)
    a, b, c = st.columns(3)
    period = a.selectbox("Period", [AUTO if form == "table" else "week", *(p for p in PERIODS if p != "week" or form == "table")], key="import_period", help="How much time one slice of the data covers.")  # fmt: skip
    settings["period"] = None if period == AUTO else period
    settings["week_start"] = b.selectbox(
        "Weeks start on", WEEKDAYS, key="import_week", help="Hoff (2015) and the paper use Thursday."
    )
    actors = c.text_input("Countries", "25", key="import_actors", help="25 keeps the 25 most active; or all; or names separated by commas (semicolons where a name has a comma).")  # fmt: skip
    settings["actors"] = actors
    if form in ("icews", "polecat", "gdelt"):
        settings["actions"] = a.selectbox("Actions", ["quad", "root"], key="import_actions", format_func={"quad": "four: cooperation and conflict, in words and deeds", "root": "all root codes"}.__getitem__, help="How acts are grouped: the third mode of the tensor.")  # fmt: skip
        settings["value"] = b.selectbox("Count", ["events", "rows"], key="import_value", format_func={"events": "each event once", "rows": "every row"}.__getitem__, help="Whether repeats of the same event in the file count.")  # fmt: skip
    if form == "table":
        value = a.selectbox("Several rows of one cell", [AUTO, "sum", "mean", "rows"], key="import_combine", format_func={AUTO: "refuse them", "sum": "add their values", "mean": "take their mean", "rows": "count the rows"}.__getitem__, help="What to do when date, sender, receiver and action stand in more than one row.")  # fmt: skip
        settings["value"] = None if value == AUTO else value
        settings["columns"] = pick_columns(source, base)
    settings["gaps"] = c.selectbox("Periods without any row", ["zero", "missing"], key="import_gaps", help="Nothing happened, or nothing was recorded? Missing cells are not learnt from.")  # fmt: skip
    settings["keep_partial"] = st.toggle("Keep a first and last period that are covered only in part", key="import_partial", help="A week with two recorded days looks quiet without having been so.")  # fmt: skip
    settings["diagonal"] = st.toggle("Keep what a country does to itself", key="import_diagonal", help="Domestic events, the diagonal of the matrix.")  # fmt: skip
    return ImportOptions(**{**base.model_dump(), **settings})


def run_import(paths: list[Path], form: str, options: ImportOptions) -> RelationalSeries:
    """With a bar; leaving or pressing stop ends it at the next step."""
    bar = st.progress(0.0, "Reading ...")

    def progress(done: int, total: int) -> None:
        bar.progress(min(done / max(total, 1), 1.0), "Reading ...")

    try:
        return read_series(paths, format=form, options=options, progress=progress)
    finally:
        bar.empty()


def result(paths: list[Path], form: str, options: ImportOptions, series: RelationalSeries) -> None:
    st.markdown(f"#### {escape(series.source.title)}: {about_series(series)}")
    simulated_badge(series.source.simulated)
    report = series.source.report
    if "rows_read" in report:
        with st.expander("What was read, used and left out", expanded=True):
            st.markdown("\n".join(f"- {escape(sentence)}" for sentence in summary(report)))
        reconcile(paths, form, options, report.get("unrecognised", []))
    save(series)


def reconcile(paths: list[Path], form: str, options: ImportOptions, unknown: list[dict]) -> None:
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
        table, hide_index=True, disabled=["name", "where", "perhaps"], key="reconcile",
        column_config={"name": "Name in the file", "where": "First seen", "perhaps": "Perhaps", "count as": st.column_config.TextColumn("Count as", help="A country, or any name of your own; empty leaves it as it is.")},
    )  # fmt: skip
    decisions = {
        r["name"]: str(r["count as"]).strip() for _, r in edited.iterrows() if str(r["count as"] or "").strip()
    }
    if st.button("Apply and import again", icon=":material/sync:", disabled=not decisions, help="Remembers the names for later imports too."):  # fmt: skip
        corrections = add_corrections(data_folder() / "corrections.json", decisions)
        again = options.model_copy(update={"corrections": corrections})
        st.session_state["imported"] = (tuple(str(p) for p in paths), again, run_import(paths, form, again))
        st.rerun()


def save(series: RelationalSeries) -> None:
    if st.button("Save this set", type="primary", icon=":material/save:", help="Then every page can use it."):
        name = free_name(series.source.title)
        write_npz(series, data_folder() / f"{name}.npz")
        st.session_state["saved"] = name
    saved = st.session_state.get("saved")
    if saved and saved in data_sets():
        st.success(f"Saved as {escape(saved)}.", icon=":material/check:")
        with st.container(horizontal=True):
            st.page_link(
                "pages/1_Data.py", label="Explore it", icon=":material/table_chart:", query_params={"data": saved}
            )
            st.page_link(
                "pages/2_Train.py", label="Train on it", icon=":material/model_training:", query_params={"data": saved}
            )


def free_name(title: str) -> str:
    """A file name for a set that takes nobody else's place."""
    base = re.sub(r"[^\w -]", "", title).strip()[:60] or "data"
    if not any(c.isalnum() for c in base):
        raise TRNNError(f"The name of a set needs at least one letter or digit. Got {title!r} instead.")
    taken, name, n = set(data_sets()), base, 1
    while name in taken:
        n += 1
        name = f"{base} {n}"
    return name
