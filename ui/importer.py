"""Bringing one's own data: files in, a form of choices, then the import (ui/import_result.py)."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from trnn_core.data.corrections import load_corrections
from trnn_core.data.options import WEEKDAYS, ImportOptions
from trnn_core.data.readers import FORMATS, recognise
from trnn_core.data.readers.inputs import Input, find_inputs
from trnn_core.data.series import PERIODS
from ui.data_access import data_folder
from ui.import_preview import pick_columns, preview
from ui.import_result import asked_for, begin, show_import
from ui.phrases import escape
from ui.uploads import pick_files

MAX_CELLS = 2**26  # half a gigabyte of figures; larger sets go through the command line
AUTO = "as the file has it"
EXAMPLE = """
| week | sender | receiver | action | events |
|---|---|---|---|---:|
| 2024-01-04 | France | Germany | verbal cooperation | 12 |
| 2024-01-04 | Germany | France | material conflict | 1 |
"""


def importer() -> None:
    """Each part appears when the one before it is done."""
    paths = pick_files()
    if paths:
        choose(paths)
    job = asked_for(paths)
    if job is not None:
        show_import(job)
    elif not paths:
        st.caption(
            f"Understood: {'; '.join(FORMATS.values())}; plain, gzip or zip. Files that are too large to upload, or a"
            f" whole folder of them: put them into the server's folder *{escape(data_folder().name)}*, and they are"
            " offered here. Nothing leaves this computer."
        )
        st.markdown(
            "A table needs a row per week, sender, receiver and action; its columns may have any names and order:"
        )
        st.markdown(EXAMPLE)


def choose(paths: list[Path]) -> None:
    """What the files are, their first rows, and the form."""
    base = ImportOptions(allowed_root=paths[0].parent, max_cells=MAX_CELLS)
    inputs = find_inputs(paths, base)
    form = recognise(inputs, base)
    st.success(f"{', '.join(escape(p.name) for p in paths)}: recognised as {FORMATS[form]}.", icon=":material/check:")
    preview(inputs[0], form, base)
    with st.form("import", border=True):
        title = st.text_input(
            "Name of the set",
            Path(paths[0].name.partition(".")[0]).name[:60],
            key="set_name",
            max_chars=60,
            help="Under which it is saved and shown.",
        )
        options = choices(form, inputs[0], base, title)
        go = st.form_submit_button(
            "Import",
            type="primary",
            icon=":material/login:",
            help="Reads everything in the background and reports what it found; nothing is saved yet.",
        )
    if go:
        begin(paths, form, options)


def choices(form: str, source: Input, base: ImportOptions, title: str) -> ImportOptions:
    settings: dict[str, object] = {"title": title, "corrections": load_corrections(data_folder() / "corrections.json")}
    if form == "npz":
        return base.model_copy(update=settings)
    a, b, c = st.columns(3)
    period = a.selectbox(
        "Period",
        [AUTO if form == "table" else "week", *(p for p in PERIODS if p != "week" or form == "table")],
        key="import_period",
        help="How much time one slice of the data covers.",
    )
    settings["period"] = None if period == AUTO else period
    settings["week_start"] = b.selectbox(
        "Weeks start on",
        WEEKDAYS,
        key="import_week",
        format_func=str.capitalize,
        help="Hoff (2015) and the paper use Thursday.",
    )
    settings["actors"] = c.text_input(
        "Countries",
        "25",
        key="import_actors",
        help="25 keeps the 25 most active; or all; or names separated by commas (semicolons where a name has a comma).",
    )
    if form in ("icews", "polecat", "gdelt"):
        settings |= event_choices(a, b)
    if form == "table":
        settings["value"] = repeated_rows(a)
        settings["columns"] = pick_columns(source, base)
    settings["gaps"] = worded(
        b if form == "table" else c,
        "Periods without any row",
        {"zero": "nothing happened: zero", "missing": "not recorded: missing"},
        "import_gaps",
        "Nothing happened, or nothing was recorded? Missing cells are not learnt from.",
    )
    settings["keep_partial"] = st.toggle(
        "Keep a first and last period that are covered only in part",
        key="import_partial",
        help="A week with two recorded days looks quiet without having been so.",
    )
    settings["diagonal"] = st.toggle(
        "Keep what a country does to itself", key="import_diagonal", help="Domestic events, the diagonal of the matrix."
    )
    return ImportOptions(**{**base.model_dump(), **settings})


def event_choices(left: DeltaGenerator, right: DeltaGenerator) -> dict[str, str]:
    """Of event files: how acts are grouped, and what is counted."""
    actions = worded(
        left,
        "Actions",
        {"quad": "four: cooperation and conflict, in words and deeds", "root": "all root codes"},
        "import_actions",
        "How acts are grouped: the third mode of the tensor.",
    )
    value = worded(
        right,
        "Count",
        {"events": "each event once", "rows": "every row"},
        "import_value",
        "Whether repeats of the same event in the file count.",
    )
    return {"actions": actions, "value": value}


def repeated_rows(place: DeltaGenerator) -> str | None:
    """Of a table: what is made of several rows of one cell; None refuses them."""
    value = worded(
        place,
        "Several rows of one cell",
        {AUTO: "refuse them", "sum": "add their values", "mean": "take their mean", "rows": "count the rows"},
        "import_combine",
        "What to do when date, sender, receiver and action stand in more than one row.",
    )
    return None if value == AUTO else value


def worded(place: DeltaGenerator, label: str, options: dict[str, str], key: str, words: str) -> str:
    """A list to choose from that shows what each option means."""
    return place.selectbox(label, list(options), key=key, format_func=options.__getitem__, help=words)
