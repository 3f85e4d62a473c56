"""Tables as CSV files that every program reads. Text that a spreadsheet would take for a formula is led by an
apostrophe, as spreadsheets themselves do."""

from __future__ import annotations

import io

import pandas as pd

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def to_csv(table: pd.DataFrame) -> bytes:
    """UTF-8 with a byte-order mark (Excel then shows accents), no formula can hide in a name."""
    safe = table.copy()
    for column in safe.columns:
        if not pd.api.types.is_numeric_dtype(safe[column]):
            safe[column] = safe[column].map(_harmless)
    buffer = io.StringIO()
    safe.to_csv(buffer, index=False, lineterminator="\r\n")
    return buffer.getvalue().encode("utf-8-sig")


def _harmless(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
