"""The first rows of a file, and which column is what."""

from __future__ import annotations

import csv
import io

import pandas as pd
import streamlit as st

from trnn_core.data.options import ImportOptions
from trnn_core.data.readers.columns import ROLES, match_columns
from trnn_core.data.readers.inputs import Input, read_head
from trnn_core.data.readers.rows import header_of, rows_of
from trnn_core.errors import TRNNError

ROWS = 50
WORDS = {
    "date": "Date: the day of the event, or the first day of its period",
    "source": "Sender: who acts",
    "target": "Receiver: who is acted upon",
    "action": "Action: what kind of act; without one there is a single kind",
    "value": "Value: how much; without one, rows are counted",
}
NONE = "(none)"
NAMES = {"date": "Date", "source": "Sender", "target": "Receiver", "action": "Action", "value": "Value"}


def preview(source: Input, form: str, options: ImportOptions) -> None:
    """At most 50 rows, as they stand in the file."""
    if form == "npz":
        return
    with st.expander(f"First {ROWS} rows"):
        head = read_head(source, options)
        table = _table(source, head, options) if form == "table" else _text(head)
        st.dataframe(table.head(ROWS), hide_index=True, height=260)


def _table(source: Input, head: bytes, options: ImportOptions) -> pd.DataFrame:
    header = header_of(source, head, options)
    first = next(iter(rows_of(source, head, header, list(dict.fromkeys(header)), options)), None)
    if first is None:
        return pd.DataFrame(columns=header)
    columns = first.table.slice(0, ROWS).to_pydict()
    return pd.DataFrame(
        {k: [v.decode(errors="replace") if isinstance(v, bytes) else v for v in vs] for k, vs in columns.items()}
    )


def _text(head: bytes) -> pd.DataFrame:
    lines = head.decode("utf-8", errors="replace").splitlines()[: ROWS + 1]
    separator = "\t" if lines and "\t" in lines[0] else " "
    rows = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=separator, quoting=csv.QUOTE_NONE))
    width = max((len(r) for r in rows), default=0)
    return pd.DataFrame(
        [[cell[:80] for cell in r] + [""] * (width - len(r)) for r in rows], columns=[str(i + 1) for i in range(width)]
    )


def pick_columns(source: Input, options: ImportOptions) -> dict[str, str]:
    """Role -> header, only where the user decided; the reader recognises the rest."""
    header = header_of(source, read_head(source, options), options)
    try:
        found = match_columns(header, source.name, {})
    except TRNNError as e:
        st.warning(str(e), icon=":material/help:")
        found = {}
    chosen: dict[str, str] = {}
    st.markdown("Which column is what")
    for column, role in zip(st.columns(len(ROLES)), ROLES, strict=True):
        first = f"{found[role]} (found)" if role in found else NONE
        picked = column.selectbox(NAMES[role], [first, *header], key=f"column-{role}", help=f"{WORDS[role]}.")
        if picked != first:
            chosen[role] = picked
    return chosen
