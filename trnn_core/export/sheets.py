"""Tables for the tools they go to: Excel, Parquet (R, Python), Stata and LaTeX. Each file says where it came from.

Names stay exactly as they are, as text: nothing in a cell can become a formula or a command.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from datetime import date

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import xlsxwriter

from trnn_core.errors import TRNNError
from trnn_core.export.blocks import Table
from trnn_core.export.citation import licence_note, provenance
from trnn_core.export.forecasts import forecast_rows
from trnn_core.export.material import Material

EXCEL_ROWS = 1_048_575  # below the header
EXCEL_TEXT = 32_767
SHEET_NAME = re.compile(r"[\[\]:*?/\\']")
LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "→": r"$\rightarrow$",
    "\n": " ",
    "\r": " ",
    "\t": " ",
}


def forecast_table(material: Material) -> pd.DataFrame:
    """The whole forecast, tidy, with its interval; every row knows its data set, run and licence."""
    table = forecast_rows(material.forecast)
    table["data"] = "simulated" if material.simulated else "observed"
    return table.assign(dataset=material.title, run=material.run.run_id, licence=licence_note(material))


def to_excel(sheets: dict[str, pd.DataFrame], material: Material) -> bytes:
    """A workbook with a sheet per table and one on where it came from; dates are dates, names are text."""
    return workbook(sheets, provenance(material), material.simulated)


def workbook(sheets: dict[str, pd.DataFrame], facts: Sequence[str], simulated: bool) -> bytes:
    """The same for what is not one run's: `facts` say where it came from."""
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True, "nan_inf_to_errors": False}) as book:
        names = [SHEET_NAME.sub(" ", name)[:31] for name in sheets]
        for name, table in zip(names, sheets.values(), strict=True):
            _write_sheet(book, name, table, simulated)
        _write_sheet(book, "About", pd.DataFrame({"About this file": list(facts)}), simulated, 120)
    return out.getvalue()


def _write_sheet(
    book: xlsxwriter.Workbook, name: str, table: pd.DataFrame, simulated: bool, width: int | None = None
) -> None:
    if len(table) > EXCEL_ROWS:
        raise TRNNError(
            f"An Excel sheet holds at most {EXCEL_ROWS:,} rows. '{name}' has {len(table):,}; save it as CSV or Parquet"
            " instead."
        )
    sheet = book.add_worksheet(name)
    bold, day = book.add_format({"bold": True}), book.add_format({"num_format": "yyyy-mm-dd"})
    for i, column in enumerate(table.columns):
        values = table[column].tolist()
        sheet.write_string(0, i, str(column), bold)
        if column == "date":
            for row, value in enumerate(values, start=1):
                sheet.write_datetime(row, i, date.fromisoformat(str(value)[:10]), day)
        elif pd.api.types.is_numeric_dtype(table[column]):
            for row, value in enumerate(values, start=1):
                if math.isfinite(value):  # else an empty cell: Excel knows no missing number
                    sheet.write_number(row, i, value)
        else:
            for row, value in enumerate(values, start=1):
                sheet.write_string(row, i, str(value)[:EXCEL_TEXT])
        longest = max([len(str(column)), *(len(str(v)) for v in values[:200])])
        sheet.set_column(i, i, width or min(max(longest + 2, 9), 40))
    sheet.freeze_panes(1, 0)
    if len(table) and width is None:
        sheet.autofilter(0, 0, len(table), len(table.columns) - 1)
    if simulated:
        sheet.set_header("&RSIMULATED DATA")


def to_parquet(table: pd.DataFrame, material: Material) -> bytes:
    """Typed columns; provenance and licence in the file's own metadata."""
    typed = table.assign(date=pd.to_datetime(table["date"]).dt.date) if "date" in table.columns else table
    arrow = pa.Table.from_pandas(typed, preserve_index=False)
    notes = {
        b"provenance": " ".join(provenance(material)).encode(),
        b"simulated": str(material.simulated).lower().encode(),
    }
    out = io.BytesIO()
    pq.write_table(arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), **notes}), out, compression="zstd")
    return out.getvalue()


def to_stata(table: pd.DataFrame, material: Material) -> bytes:
    """A .dta file (Stata 14 and later), dates as Stata dates, repeated texts stored once."""
    shown = table.assign(date=pd.to_datetime(table["date"])) if "date" in table.columns else table.copy()
    texts = [c for c in shown.columns if not pd.api.types.is_numeric_dtype(shown[c]) and c != "date"]
    shown[texts] = shown[texts].astype(object)
    label = ("SIMULATED data: " if material.simulated else "") + material.title
    out = io.BytesIO()
    shown.to_stata(
        out,
        write_index=False,
        version=118,
        convert_dates={"date": "td"} if "date" in shown.columns else None,
        data_label=label[:80],
        convert_strl=[c for c in texts if shown[c].str.len().max() > 100],
    )
    return out.getvalue()


def latex_text(text: object) -> str:
    """Text as LaTeX prints it, letter for letter.

    >>> print(latex_text("50 % of A_1 & <b>"))
    50 \\% of A\\_1 \\& \\textless{}b\\textgreater{}
    """
    return "".join(LATEX.get(c, c if c.isprintable() else "?") for c in str(text))


def to_latex(table: Table, material: Material, label: str) -> str:
    """A floating table with booktabs rules, figures to the right, caption with the simulated mark, source below."""
    source = f"Source: {material.title}. {licence_note(material)}"
    return latex_table(table, provenance(material), source, material.simulated, label)


def latex_table(table: Table, facts: Sequence[str], source: str, simulated: bool, label: str) -> str:
    """The same for what is not one run's."""
    rows = table.cells()
    figures = [rows[0][i][1] if rows else False for i in range(len(table.frame.columns))]
    mark = "SIMULATED data. " if simulated else ""
    lines = [
        *(f"% {latex_text(fact)}" for fact in facts),
        r"% Needs \usepackage{booktabs} and, for quotation marks, \usepackage[T1]{fontenc}.",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{mark}{latex_text(table.caption)}}}",
        rf"\label{{tab:{re.sub(r'[^a-z0-9-]', '-', label.lower())}}}",
        rf"\begin{{tabular}}{{{''.join('r' if f else 'l' for f in figures)}}}",
        r"\toprule",
        " & ".join(latex_text(c) for c in table.frame.columns) + r" \\",
        r"\midrule",
        *(" & ".join(_latex_figure(t) if f else latex_text(t) for t, f in row) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\par\footnotesize {latex_text(mark + source)}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex_figure(text: str) -> str:
    return text.replace("-", "$-$").replace(",", "{,}") if re.fullmatch(r"[-+0-9.,e]*", text) else latex_text(text)
