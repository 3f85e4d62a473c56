"""Long tables in every container, under any header."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.event_files import accounted, cell, write
from trnn_core.data.readers import ImportOptions, read_series
from trnn_core.errors import TRNNError

CSV = """date,source,target,action,value
2004-01-01,France,Japan,talks,3
2004-01-01,Japan,France,talks,1
2004-01-08,France,Japan,threats,2
2004-01-15,"Korea, South",Japan,talks,5
"""
ALL = ImportOptions(actors="all")


def frame() -> pd.DataFrame:
    from io import StringIO

    return pd.read_csv(StringIO(CSV))


def test_a_csv_keeps_its_own_weeks_and_counts(tmp_path: Path) -> None:
    series = read_series(write(tmp_path / "a.csv", CSV), options=ALL)
    assert series.shape == (3, 3, 3, 2) and series.period == "week" and series.source.kind == "count"
    assert series.actors == ("France", "Japan", "South Korea")
    assert cell(series, "2004-01-15", "South Korea", "Japan", "talks") == 5
    assert series.values.sum() == 11 and series.observed.all()
    assert "absent dyad is zero" in series.source.report["values"]


@pytest.mark.parametrize("kind", ["tsv", "semicolon", "bar", "gz", "zip", "parquet", "xlsx", "parquet_dates"])
def test_every_container_gives_the_same_series(tmp_path: Path, kind: str) -> None:
    wanted = read_series(write(tmp_path / "a.csv", CSV), options=ALL)
    data = frame()
    path = tmp_path / "b"
    if kind in ("tsv", "semicolon", "bar"):
        data.to_csv(path, sep={"tsv": "\t", "semicolon": ";", "bar": "|"}[kind], index=False)
    elif kind in ("gz", "zip"):
        path = write(tmp_path / f"b.csv.{kind}", CSV)
    elif kind == "parquet":
        data.to_parquet(path)
    elif kind == "parquet_dates":
        data.assign(date=pd.to_datetime(data["date"]), source=data["source"].astype("category")).to_parquet(path)
    else:
        path = tmp_path / "b.xlsx"
        data.assign(date=pd.to_datetime(data["date"])).to_excel(path, index=False)
    assert read_series(path, options=ALL).fingerprint == wanted.fingerprint


def test_rows_without_a_value_are_events(tmp_path: Path) -> None:
    text = "Day;Sender;Receiver\n" + "".join(f"{d:02}.03.2014;USA;IRN\n" for d in (14, 15, 15, 16))
    series = read_series(write(tmp_path / "a.txt", text), options=ALL)
    assert series.period == "day" and series.actions == ("all actions",)
    assert cell(series, "2014-03-15", "United States", "Iran", "all actions") == 2
    assert accounted(series.source.report)


def test_two_letter_na_is_namibia_and_otherwise_missing(tmp_path: Path) -> None:
    codes = "date,source,target\n2014-01-01,NA,ZA\n2014-01-02,DE,NA\n2014-01-02,FR,US\n"
    series = read_series(write(tmp_path / "a.csv", codes), options=ALL)
    assert "Namibia" in series.actors and series.values.sum() == 3
    names = "date,source,target\n2014-01-01,Namibia,France\n2014-01-02,NA,Namibia\n2014-01-02,France,Namibia\n"
    series = read_series(write(tmp_path / "b.csv", names), options=ALL)
    assert series.values.sum() == 2
    assert [(d["reason"], d["example"]["line"]) for d in series.source.report["dropped"]] == [("no source country", 3)]


def test_fractions_are_values_and_absent_dyads_missing(tmp_path: Path) -> None:
    series = read_series(write(tmp_path / "a.csv", CSV.replace(",3\n", ",-2.5\n")), options=ALL)
    assert series.source.kind == "value"
    assert cell(series, "2004-01-01", "France", "Japan", "talks") == -2.5
    assert np.isnan(cell(series, "2004-01-08", "France", "Japan", "talks"))
    assert series.observed.sum() == 4


def test_columns_are_chosen_where_the_header_does_not_tell(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", CSV.replace("date,source,target,action,value", "wann,wer,wen,was,wieviel"))
    with pytest.raises(
        TRNNError, match=r"a.csv, line 1: .*No column looks like date or source or target; the header has: 'wann'"
    ):
        read_series(path)
    chosen = {"date": "wann", "source": "wer", "target": "wen", "action": "was", "value": "wieviel"}
    series = read_series(path, options=ImportOptions(actors="all", columns=chosen))
    assert series.values.sum() == 11


def test_a_longer_period_sums_counts_and_asks_about_values(tmp_path: Path) -> None:
    rows = "".join(f"2014-{m:02}-{d:02},USA,IRN,x,{{}}\n" for m in (1, 2) for d in range(1, 29))
    counts = write(tmp_path / "a.csv", "date,source,target,action,value\n" + rows.replace("{}", "2"))
    series = read_series(counts, options=ImportOptions(actors="all", period="month", keep_partial=True))
    assert series.values.max() == 56
    values = write(tmp_path / "b.csv", "date,source,target,action,value\n" + rows.replace("{}", "0.5"))
    with pytest.raises(TRNNError, match="several dates fall into one month"):
        read_series(values, options=ImportOptions(actors="all", period="month", keep_partial=True))
    mean = read_series(values, options=ImportOptions(actors="all", period="month", keep_partial=True, value="mean"))
    assert np.nanmax(mean.values) == 0.5


def test_actors_that_are_no_countries_keep_their_names(tmp_path: Path) -> None:
    text = "year,source,target,n\n2001,alpha,beta,1\n2002,beta,gamma,4\n"
    series = read_series(write(tmp_path / "a.csv", text), options=ALL)
    assert series.actors == ("alpha", "beta", "gamma") and series.period == "year"
    assert series.source.report["unrecognised"] == []


def test_corrections_of_the_user_are_applied(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", CSV.replace("France", "Frankreich an der Seine"))
    options = ImportOptions(actors="all", corrections={"Frankreich an der Seine": "France"})
    assert read_series(path, options=options).actors == ("France", "Japan", "South Korea")


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ("quad", {"verbal cooperation": 2, "material conflict": 1}),
        ("root", {"04 consult": 2, "19 fight": 1}),
        ({"04": "talk", "19": "fight", "07": "aid"}, {"talk": 2, "fight": 1}),
        ("own", {"040": 2, "190": 1}),
    ],
)
def test_actions_of_a_table_are_grouped_as_asked(tmp_path: Path, actions: object, expected: dict[str, int]) -> None:
    text = "date,source,target,cameo\n2014-01-01,USA,IRN,040\n2014-01-02,IRN,USA,040\n2014-01-02,IRN,USA,190\n"
    series = read_series(write(tmp_path / "a.csv", text), options=ImportOptions(actors="all", actions=actions))
    totals = {a: int(series.values[..., k].sum()) for k, a in enumerate(series.actions)}
    assert {a: n for a, n in totals.items() if n} == expected


def test_many_actors_and_values_are_read_quickly(tmp_path: Path) -> None:
    """A survey of a block takes one pass, not one per distinct text."""
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 3000, (40_000, 2))
    rows = [
        f"200{n % 2}-01-01,firm {a},firm {b},{v:.6f}"
        for n, ((a, b), v) in enumerate(zip(pairs.tolist(), rng.random(40_000), strict=True))
    ]
    unique = list({tuple(r.split(",")[:3]): r for r in rows}.values())
    path = write(tmp_path / "a.csv", "year,source,target,value\n" + "\n".join(unique) + "\n")
    series = read_series(path, options=ImportOptions(actors=50))
    assert series.shape == (2, 50, 50, 1) and series.source.kind == "value"
