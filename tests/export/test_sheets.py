"""Tables read back by other readers: figures to the last digit, names letter for letter, nothing that a cell could run."""

from __future__ import annotations

import csv
import io
import re

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import polars
import pytest

from tests.export.conftest import NASTY, TITLE
from trnn_core.errors import TRNNError
from trnn_core.export.blocks import Table
from trnn_core.export.forecasts import largest_changes
from trnn_core.export.material import Material
from trnn_core.export.sheets import forecast_table, latex_text, to_excel, to_latex, to_parquet, to_stata
from trnn_core.export.tables import FORMULA_STARTS, to_csv


@pytest.fixture(scope="module")
def table(material: Material) -> pd.DataFrame:
    return forecast_table(material)


def test_the_table_is_the_forecast_with_its_interval_and_source(table: pd.DataFrame, material: Material) -> None:
    h, n = len(material.forecast.dates), len(NASTY)
    assert len(table) == h * n * (n - 1) * 4
    assert set(table["data"]) == {"simulated"} and set(table["dataset"]) == {TITLE} and set(table["run"]) == {"nasty"}
    row = table[
        (table["source"] == NASTY[4]) & (table["target"] == NASTY[3]) & (table["action"] == "verbal conflict")
    ].iloc[0]
    assert row["forecast"] == material.forecast.mean[0, 4, 3, 1] and row["lower"] <= row["upper"]


def test_csv_opens_elsewhere_and_holds_no_formula(table: pd.DataFrame) -> None:
    content = to_csv(table)
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
    assert len(rows) == len(table)
    for row in rows:
        assert not [
            v
            for k, v in row.items()
            if k in ("source", "target", "action", "dataset", "run", "licence") and v.startswith(FORMULA_STARTS)
        ]
    names = {re.sub(r"^'(?=[=+\-@\t\r])", "", row["source"]) for row in rows}
    assert names == set(NASTY)
    assert np.array_equal([float(r["forecast"]) for r in rows], table["forecast"])


def test_excel_keeps_names_as_text_and_figures_as_figures(table: pd.DataFrame, material: Material) -> None:
    some = table.head(2000)
    book = openpyxl.load_workbook(io.BytesIO(to_excel({"fore/cast": some}, material)))
    sheet = book["fore cast"]
    cells = list(sheet.iter_rows(min_row=2))
    assert [c.value for c in sheet[1]] == list(some.columns)
    assert not [c for row in cells for c in row if c.data_type == "f" or c.hyperlink]
    assert [row[1].value for row in cells] == some["source"].tolist()
    # Excel's format keeps 16 digits, one less than a double may need; the forecast is stored in single precision.
    assert np.array_equal(np.float32([row[4].value for row in cells]), np.float32(some["forecast"]))
    assert str(cells[0][0].value)[:10] == some["date"][0] and cells[0][0].is_date
    about = [c.value for c in book["About"]["A"]]
    assert any("SIMULATED" in a for a in about) and "SIMULATED DATA" in (sheet.oddHeader.right.text or "")


def test_an_excel_sheet_that_would_overflow_is_refused(material: Material) -> None:
    long = pd.DataFrame({"x": np.zeros(1_048_576)})
    with pytest.raises(TRNNError, match="at most 1,048,575 rows"):
        to_excel({"long": long}, material)


def test_missing_figures_are_empty_cells(material: Material, table: pd.DataFrame) -> None:
    missing = table[table["last_observed"].isna()]
    assert len(missing) == len(material.forecast.dates)  # the pair not observed in the last period
    book = openpyxl.load_workbook(io.BytesIO(to_excel({"x": missing}, material)))
    assert {row[7].value for row in book["x"].iter_rows(min_row=2)} == {None}


def test_parquet_is_read_alike_by_polars_and_duckdb(table: pd.DataFrame, material: Material, tmp_path) -> None:
    path = tmp_path / "forecast.parquet"
    path.write_bytes(to_parquet(table, material))
    frame = polars.read_parquet(path)
    assert frame["source"].to_list() == table["source"].tolist() and frame["date"].dtype == polars.Date
    assert np.array_equal(frame["upper"].to_numpy(), table["upper"])
    total = duckdb.sql(f"select sum(forecast), count(distinct source) from '{path}'").fetchall()[0]
    assert total[1] == len(NASTY) and abs(total[0] - table["forecast"].sum()) < 1e-6
    keys = duckdb.sql(f"select decode(key), decode(value) from parquet_kv_metadata('{path}')").fetchall()
    notes = dict(keys)
    assert notes["simulated"] == "true" and "SIMULATED" in notes["provenance"]


def test_stata_keeps_names_dates_and_figures(table: pd.DataFrame, material: Material) -> None:
    found = pd.read_stata(io.BytesIO(to_stata(table, material)))
    assert found["source"].tolist() == table["source"].tolist()
    assert np.array_equal(found["lower"], table["lower"]) and str(found["date"][0])[:10] == table["date"][0]
    with pd.io.stata.StataReader(io.BytesIO(to_stata(table, material))) as reader:
        assert reader.data_label.startswith("SIMULATED data")


def unlatex(text: str) -> str:
    """What LaTeX prints: an independent reading of the few commands we write."""
    for command, sign in (
        ("textbackslash", "\\"),
        ("textasciitilde", "~"),
        ("textasciicircum", "^"),
        ("textless", "<"),
        ("textgreater", ">"),
        ("textbar", "|"),
        ("textquotedbl", '"'),
    ):
        text = text.replace(f"\\{command}{{}}", f"\0{ord(sign)};")
    text = re.sub(r"\\([&%$#_{}])", lambda m: f"\0{ord(m[1])};", text)
    assert not re.search(r"[\\&%$#_{}~^]", text), f"a bare special sign is left in {text!r}"
    return re.sub("\0(\\d+);", lambda m: chr(int(m[1])), text)


@pytest.mark.parametrize("name", [*NASTY, TITLE])
def test_latex_prints_every_name_letter_for_letter(name: str) -> None:
    assert unlatex(latex_text(name)) == name


def test_a_latex_table_is_whole_and_says_simulated(material: Material) -> None:
    rows = largest_changes(material.forecast, 0, 5)[["source", "target", "change"]]
    text = to_latex(Table(rows, "Rises & 10 %", signed=("change",)), material, "Rises 1")
    body = text.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
    assert len(body) == 5
    for line, row in zip(body, rows.itertuples(), strict=True):
        cells = re.split(r"(?<!\\)&", line.removesuffix(r" \\"))
        assert [unlatex(c.strip()) for c in cells[:2]] == [row.source, row.target]
    assert r"\caption{SIMULATED data. Rises \& 10 \%}" in text and r"\label{tab:rises-1}" in text
    assert text.count(r"\begin{") == text.count(r"\end{") == 2
    stripped = re.sub(r"\\[{}]", "", text)
    assert stripped.count("{") == stripped.count("}")
