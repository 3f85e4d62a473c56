"""Columns of the tables on the pages: a label, how figures are written, and what they mean."""

from __future__ import annotations

import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

RELATION = {"source": "Sender", "target": "Receiver", "action": "Action"}
SHORT, SIGNED = "%.3g", "%+.3g"


def number(label: str, form: str | None = SHORT, words: str | None = None) -> ColumnConfig:
    return st.column_config.NumberColumn(label, format=form, help=words)


def share(label: str, words: str | None = None, *, signed: bool = False) -> ColumnConfig:
    """Of figures from 0 to 100."""
    return number(label, "%+.1f\u00a0%%" if signed else "%.1f\u00a0%%", words)


def text(label: str, words: str | None = None) -> ColumnConfig:
    return st.column_config.TextColumn(label, help=words)
