"""ICEWS, POLECAT and GDELT in their documented layouts, quirk by quirk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.event_files import accounted, cell, gdelt_row, icews_row, icews_text, polecat_row, polecat_text, write
from trnn_core.data.readers import ImportOptions, read_series
from trnn_core.errors import TRNNError

DAYS = ImportOptions(period="day", actors="all")
TWO_DAYS = [icews_row("2014-01-01", "France", "040", "Japan"), icews_row("2014-01-02", "Japan", "112", "France")]


def dropped(series) -> dict[str, int]:  # type: ignore[no-untyped-def]
    return {d["reason"]: d["rows"] for d in series.source.report["dropped"]}


def test_cameo_codes_are_text_with_leading_zeros(tmp_path: Path) -> None:
    rows = [icews_row("2014-01-01", "France", c, "Japan") for c in ("010", "10", "0311", "1823", "20")]
    series = read_series(
        write(tmp_path / "a.tab", icews_text([*rows, *TWO_DAYS])),
        options=ImportOptions(period="day", actors="all", actions="root"),
    )
    of = {
        a: cell(series, "2014-01-01", "France", "Japan", a)
        for a in series.actions
        if series.values[..., series.actions.index(a)].any()
    }
    assert of == {
        "01 make public statement": 1,
        "03 express intent to cooperate": 1,
        "04 consult": 1,
        "10 demand": 1,
        "11 disapprove": 0,
        "18 assault": 1,
        "20 use unconventional mass violence": 1,
    }
    assert len(series.actions) == 20


def test_odd_codes_and_missing_countries_are_skipped_and_told(tmp_path: Path) -> None:
    odd = [
        icews_row("2014-01-01", "France", "13y", "Japan"),
        icews_row("2014-01-01", "", "040", "Japan"),
        icews_row("2014-01-01", "France", "040", "NA"),
        icews_row("2014-13-01", "France", "040", "Japan"),
    ]
    series = read_series(write(tmp_path / "a.tab", icews_text([*TWO_DAYS, *odd])), options=DAYS)
    assert dropped(series) == {
        "not a CAMEO code": 1,
        "no source country": 1,
        "no target country": 1,
        "unparseable date": 1,
    }
    examples = {d["reason"]: d["example"] for d in series.source.report["dropped"]}
    assert examples["not a CAMEO code"] == {"file": "a.tab", "line": 4, "text": "13y"}
    assert examples["unparseable date"] == {"file": "a.tab", "line": 7, "text": "2014-13-01"}
    assert accounted(series.source.report)


def test_quoted_country_names_are_the_same_country(tmp_path: Path) -> None:
    rows = [
        icews_row("2014-01-01", '"Korea, South" ', "040", "Japan", Source_Name="x"),
        icews_row("2014-01-02", "South Korea", "040", "Japan"),
    ]
    series = read_series(write(tmp_path / "a.tab", icews_text(rows)), options=DAYS)
    assert series.actors == ("Japan", "South Korea")
    assert cell(series, "2014-01-01", "South Korea", "Japan", "verbal cooperation") == 1


def test_a_repeated_event_counts_once_and_its_rows_all(tmp_path: Path) -> None:
    again = [icews_row("2014-01-01", "France", "040", "Japan", Event_ID=str(n), Story_ID=str(n)) for n in (5, 6, 7)]
    path = write(tmp_path / "a.tab", icews_text([*TWO_DAYS, *again]))
    events = read_series(path, options=DAYS)
    rows = read_series(path, options=ImportOptions(period="day", actors="all", value="rows"))
    where = ("2014-01-01", "France", "Japan", "verbal cooperation")
    assert (cell(events, *where), cell(rows, *where)) == (1, 4)
    assert events.source.report["duplicates"] == 3
    assert events.source.report["first_duplicate"]["line"] == 4


def test_event_ids_repeat_across_dates_but_not_within_one(tmp_path: Path) -> None:
    """Before 2014 an ID alone is not unique; with the date it is, so the same row in two files is one record."""
    first = [icews_row(d, "France", "040", "Japan", Event_ID="9") for d in ("2013-05-01", "2013-05-02")]
    write(tmp_path / "a.tab", icews_text(first))
    write(
        tmp_path / "b.tab", icews_text([*first[1:], icews_row("2013-05-02", "France", "040", "Japan", Event_ID="10")])
    )
    series = read_series(tmp_path, options=ImportOptions(period="day", actors="all", value="rows"))
    assert cell(series, "2013-05-01", "France", "Japan", "verbal cooperation") == 1
    assert cell(series, "2013-05-02", "France", "Japan", "verbal cooperation") == 2
    assert series.source.report["duplicates"] == 1


def test_rows_without_an_id_are_not_repeats_of_each_other(tmp_path: Path) -> None:
    rows = [icews_row("2014-01-01", "France", "040", "Japan", Event_ID="") for _ in range(3)]
    for name in ("a.tab", "b.tab"):
        write(tmp_path / name, icews_text([*rows, *TWO_DAYS[1:]]))
    series = read_series(tmp_path, options=ImportOptions(period="day", actors="all", value="rows"))
    assert cell(series, "2014-01-01", "France", "Japan", "verbal cooperation") == 6
    assert series.source.report["duplicates"] == 1


def test_the_same_day_in_two_files_is_counted_once(tmp_path: Path) -> None:
    for name in ("events.2014.20140101000000.tab", "20140103-icews-events.tab"):
        write(tmp_path / name, icews_text(TWO_DAYS))
    assert read_series(tmp_path, options=DAYS).values.sum() == 2


@pytest.mark.parametrize("name", ["a.tab", "a.tab.gz", "a.tab.zip"])
def test_plain_gzip_and_zip_are_the_same(tmp_path: Path, name: str) -> None:
    series = read_series(write(tmp_path / name, icews_text(TWO_DAYS)), options=DAYS)
    assert cell(series, "2014-01-02", "Japan", "France", "verbal conflict") == 1
    assert series.source.report["format"] == "icews"


def test_values_are_summed_or_averaged_and_absent_dyads_are_missing(tmp_path: Path) -> None:
    rows = [
        icews_row("2014-01-01", "France", "040", "Japan", Source_Name=str(n), Intensity=v)
        for n, v in enumerate(["1", "-4.5", "x"])
    ]
    path = write(tmp_path / "a.tab", icews_text([*rows, *TWO_DAYS[1:]]))
    found = {}
    for value in ("sum", "mean"):
        series = read_series(path, options=ImportOptions(period="day", actors="all", value=value))
        found[value] = cell(series, "2014-01-01", "France", "Japan", "verbal cooperation")
        assert np.isnan(cell(series, "2014-01-01", "Japan", "France", "verbal cooperation"))
        assert series.source.kind == "value" and dropped(series) == {"no number in Intensity": 1}
        assert "missing" in series.source.report["values"]
    assert found == {"sum": -3.5, "mean": -1.75}


def test_a_users_grouping_takes_the_longest_code(tmp_path: Path) -> None:
    rows = [
        icews_row(d, "France", c, "Japan")
        for d, c in (("2014-01-01", "190"), ("2014-01-01", "195"), ("2014-01-02", "040"))
    ]
    grouping = {"19": "fighting", "195": "air strikes", "04": "talks"}
    path = write(tmp_path / "a.tab", icews_text([*rows, icews_row("2014-01-02", "France", "070", "Japan")]))
    series = read_series(path, options=ImportOptions(period="day", actors="all", actions=grouping))
    assert series.actions == ("fighting", "air strikes", "talks")
    assert series.values[0, series.actors.index("France"), series.actors.index("Japan")].tolist() == [1, 1, 0]
    assert dropped(series) == {"not in the grouping of actions": 1}


def test_diagonal_is_dropped_or_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tab", icews_text([*TWO_DAYS, icews_row("2014-01-02", "France", "14", "France")]))
    assert dropped(read_series(path, options=DAYS)) == {"an actor's acts towards itself": 1}
    kept = read_series(path, options=ImportOptions(period="day", actors="all", diagonal=True))
    assert cell(kept, "2014-01-02", "France", "France", "material conflict") == 1
    assert kept.source.diagonal


def test_actors_the_most_active_a_list_or_all(tmp_path: Path) -> None:
    busy = [
        icews_row("2014-01-01", "Iran", "040", t, Source_Name=str(n))
        for n, t in enumerate(["Iraq", "Iraq", "Iraq", "Oman"])
    ]
    path = write(tmp_path / "a.tab", icews_text([*TWO_DAYS, *busy]))
    assert read_series(path, options=ImportOptions(period="day", actors=2)).actors == ("Iran", "Iraq")
    named = read_series(path, options=ImportOptions(period="day", actors=("JPN", "France")))
    assert named.actors == ("Japan", "France")
    assert dropped(named)["not among the chosen actors"] == 4
    with pytest.raises(TRNNError, match=r"actor 'Irann' must occur in the files.*perhaps Iran"):
        read_series(path, options=ImportOptions(period="day", actors=("Irann", "Japan")))


def test_gaps_thin_periods_and_unknown_actors_are_reported(tmp_path: Path) -> None:
    days = [f"2014-01-{d:02}" for d in range(1, 21) if d not in (5, 6)]
    rows = [
        icews_row(d, "France", "040", "Japan", Source_Name=str(n))
        for d in days
        for n in range(1 if d.endswith("12") else 8)
    ]
    path = write(tmp_path / "a.tab", icews_text([*rows, icews_row("2014-01-20", "Wakandaa", "040", "Japan")]))
    report = read_series(path, options=DAYS).source.report
    assert report["gaps"] == [{"first": "2014-01-05", "last": "2014-01-06", "periods": 2}]
    assert [t["period"] for t in report["thin_periods"]] == ["2014-01-12"]
    assert [(u["name"], u["line"]) for u in report["unrecognised"]] == [("Wakandaa", len(rows) + 2)]
    missing = read_series(path, options=ImportOptions(period="day", actors="all", gaps="missing"))
    assert not missing.observed[4:6].any() and missing.observed[6:].all()


def test_leading_zeros_lost_in_a_spreadsheet_are_refused(tmp_path: Path) -> None:
    rows = [icews_row("2014-01-01", "France", c, "Japan") for c in ("40", "10", "112", "42")]
    with pytest.raises(TRNNError, match=r"a.tab, line 4: CAMEO codes must keep their leading zeros.*'40'"):
        read_series(write(tmp_path / "a.tab", icews_text([*TWO_DAYS, *rows])), options=DAYS)


def test_weeks_start_on_any_day(tmp_path: Path) -> None:
    days = [f"2004-01-{d:02}" for d in range(1, 29)]
    path = write(tmp_path / "a.tab", icews_text([icews_row(d, "France", "040", "Japan") for d in days]))
    hoff = read_series(path, options=ImportOptions(week_start="thursday"))
    assert [str(d) for d in hoff.dates] == ["2004-01-01", "2004-01-08", "2004-01-15", "2004-01-22"]
    assert hoff.values.sum() == 28
    monday = read_series(path, options=ImportOptions())
    assert [str(d) for d in monday.dates] == ["2004-01-05", "2004-01-12", "2004-01-19"]
    assert monday.values.sum() == 21


def test_polecat_several_countries_make_all_pairs(tmp_path: Path) -> None:
    rows = [
        polecat_row("2018-01-01", "USA;CAN", "VERBAL COOPERATION", "RUS;CHN"),
        polecat_row("2018-01-02", "RUS", "4", "USA"),
        polecat_row("2018-01-02", "None", "4", "USA"),
        polecat_row("2018-01-02", "RUS", "None", "USA"),
    ]
    series = read_series(write(tmp_path / "ngecEvents.DV.2018.txt", polecat_text(rows)), options=DAYS)
    assert series.source.report["format"] == "polecat" and accounted(series.source.report)
    for source in ("United States", "Canada"):
        for target in ("Russian Federation", "China"):
            assert cell(series, "2018-01-01", source, target, "verbal cooperation") == 1
    assert cell(series, "2018-01-02", "Russian Federation", "United States", "material conflict") == 1
    assert series.values.sum() == 5 and series.source.report["extra_dyads"] == 3
    assert dropped(series) == {"no source country": 1, "not a quad code": 1}


@pytest.mark.parametrize(
    ("code", "label"),
    [
        ("1", "verbal cooperation"),
        ("2", "material cooperation"),
        ("3", "verbal conflict"),
        ("MATERIAL CONFLICT", "material conflict"),
    ],
)
def test_polecat_quad_codes_as_text_or_number(tmp_path: Path, code: str, label: str) -> None:
    rows = [polecat_row(d, "USA", code, "RUS") for d in ("2018-01-01", "2018-01-02")]
    series = read_series(write(tmp_path / "p.txt.zip", polecat_text(rows)), options=DAYS)
    assert series.values[..., series.actions.index(label)].sum() == 2


def test_polecat_repeats_newer_header_types_and_latin_1(tmp_path: Path) -> None:
    rows = [
        polecat_row("2018-01-01", "USA", "1", "RUS", Event_ID=str(n), Event_Type="SANCTION", Actor_Name="José")
        for n in range(3)
    ]
    rows.append(polecat_row("2018-01-02", "USA", "1", "RUS", Event_Type="NONSENSE"))
    rows.append(polecat_row("2018-01-02", "USA", "1", "RUS", Event_Type="AID"))
    path = write(tmp_path / "p.txt", polecat_text(rows, "Event Intensity").encode("latin-1"))
    series = read_series(path, options=ImportOptions(period="day", actors="all", actions="root"))
    assert cell(series, "2018-01-01", "United States", "Russian Federation", "SANCTION") == 1
    assert len(series.actions) == 16 and series.source.report["duplicates"] == 2
    assert any("Latin-1" in n for n in series.source.report["notes"])
    total = read_series(path, options=ImportOptions(period="day", actors="all", value="sum"))
    assert cell(total, "2018-01-01", "United States", "Russian Federation", "verbal cooperation") == 2.0


@pytest.mark.parametrize("width", [57, 58, 61])
def test_gdelt_versions_are_told_by_their_columns(tmp_path: Path, width: int) -> None:
    rows = [
        gdelt_row(1, "20150218", "USA", "010", "1", "IRN", width),
        gdelt_row(2, "20150219", "IRN", "112", "3", "USA", width),
        gdelt_row(2, "20150219", "IRN", "112", "3", "USA", width),
        gdelt_row(3, "20150219", "", "112", "3", "USA", width),
        gdelt_row(4, "20150219", "NAM", "190", "4", "USA", width),
    ]
    path = write(tmp_path / "20150218.export.CSV.zip", "\n".join(rows) + "\n")
    series = read_series(path, options=DAYS)
    assert series.source.report["format"] == "gdelt" and series.source.report["duplicates"] == 1
    assert cell(series, "2015-02-18", "United States", "Iran", "verbal cooperation") == 1
    assert cell(series, "2015-02-19", "Iran", "United States", "verbal conflict") == 1
    assert cell(series, "2015-02-19", "Namibia", "United States", "material conflict") == 1
    roots = read_series(path, options=ImportOptions(period="day", actors="all", actions="root"))
    assert cell(roots, "2015-02-18", "United States", "Iran", "01 make public statement") == 1


def test_gdelt_of_an_unknown_width_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "x.CSV", gdelt_row(1, "20150218", "USA", "010", "1", "IRN", 60) + "\n")
    with pytest.raises(TRNNError, match=r"x.CSV, line 1: .*57 .*58 .*61 .*Got 60"):
        read_series(path)


def test_progress_ends_at_the_whole(tmp_path: Path) -> None:
    seen: list[tuple[float, str]] = []
    path = write(tmp_path / "a.tab", icews_text(TWO_DAYS * 500))
    read_series(path, options=DAYS, progress=lambda done, words: seen.append((done, words)))
    size = f"{path.stat().st_size / 1e6:,.1f}"
    assert seen[-1] == (1.0, f"Reading: {size} of {size} MB")
    assert [d for d, _ in seen] == sorted(d for d, _ in seen)
