"""Bad input: one clear sentence with file and line, and nothing half-imported."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.event_files import gdelt_row, icews_row, icews_text, polecat_row, polecat_text, write
from trnn_core.data.readers import ImportOptions, read_series
from trnn_core.data.series import Provenance, RelationalSeries
from trnn_core.errors import TRNNError

DAYS = ImportOptions(period="day", actors="all")
ROWS = [icews_row("2014-01-01", "France", "040", "Japan"), icews_row("2014-01-02", "Japan", "112", "France")]
ICEWS = icews_text(ROWS)
TABLE = "date,source,target,action,value\n2004-01-01,France,Japan,x,3\n2004-01-08,Japan,France,x,2\n"
LATIN = ICEWS.replace("Citizen (Japan)", "José").encode("latin-1")

CASES: dict[str, tuple[str | bytes, str]] = {
    "empty file": ("", r"^f: the file is empty"),
    "blank file": ("\n\n  \n", r"^f, line 1: the file must hold rows"),
    "icews header only": (icews_text([]), r"^f: must hold at least one row below the header"),
    "table header only": ("date,source,target\n", r"^f, line 2: a table must hold at least one row"),
    "icews with commas": (ICEWS.replace("\t", ","), r"^f, line 1: ICEWS files must be tab separated"),
    "polecat with commas": (
        polecat_text([polecat_row("2018-01-01", "USA", "1", "RUS")]).replace("\t", ";"),
        r"^f, line 1: POLECAT files must be tab separated",
    ),
    "table without separator": (
        TABLE.replace(",", " "),
        r"^f, line 1: a table's header must name columns separated by comma",
    ),
    "utf-16": (ICEWS.encode("utf-16"), r"^f, line 1: must be UTF-8 text. It is UTF-16"),
    "utf-16 without mark": (TABLE.encode("utf-16-le"), r"^f, line 1: must be UTF-8 text. It is UTF-16"),
    "latin-1": (LATIN, r"^f, line 2: must be UTF-8 text. Byte 0xe9 is not.*latin-1"),
    "latin-1 table": (TABLE.replace("Japan", "Côte").encode("latin-1"), r"^f, line 2: must be UTF-8 text. Byte 0xf4"),
    "nul byte": (ICEWS.replace("text of 112", "a\0b"), r"^f, line 3: must be text. It holds (a NUL byte|NUL bytes)"),
    "ragged icews, short": (ICEWS + "1\t2014-01-03\tx\n", r"^f, line 4: must have 20 tab-separated fields.*Got 3"),
    "ragged icews, long": (
        ICEWS.replace("\n", "\textra\n").replace("\textra", "", 1),
        r"^f, line 2: must have 20 tab-separated fields.*Got 21",
    ),
    "ragged table": (
        TABLE + "2004-01-15,Korea, South,Japan,x,1\n",
        r"^f, line 4: must have 5 fields separated by comma.*Got 6",
    ),
    "ragged gdelt": (
        gdelt_row(1, "20150218", "USA", "010", "1", "IRN") + "\n1\t2\n",
        r"^f, line 2: must have 58 tab-separated fields.*Got 2",
    ),
    "quoted newline in a table": (
        TABLE.replace("Japan,x,3", '"Ja\npan",x,3'),
        r"^f, line 2: a quoted field must end on its line",
    ),
    "quoted newline in icews": (
        ICEWS.replace("text of 112", '"text\nof 112"'),
        r"^f, line 3: must have 20 tab-separated fields",
    ),
    "only bad dates in icews": (
        ICEWS.replace("2014-01-0", "2014-13-0"),
        r"^f: at least one row must be usable.*unparseable date \(first: f, line 2, '2014-13-01'",
    ),
    "bad date in a table": (
        TABLE.replace("2004-01-08", "2014-13-01"),
        r"^f, line 3: must have a date such as.*Got '2014-13-01'",
    ),
    "mixed date formats": (
        TABLE.replace("2004-01-08", "08/01/2004"),
        r"^f, line 3: dates must be written in one way. Got '08/01/2004' after '2004-01-01' in f, line 2",
    ),
    "dates that could be either": (
        TABLE.replace("2004-01-01", "01/02/2004").replace("2004-01-08", "08/02/2004"),
        r"^f, line 2: the date '01/02/2004' must be certain. It could be DD/MM/YYYY or MM/DD/YYYY",
    ),
    "nan": (TABLE.replace(",2\n", ",nan\n"), r"^f, line 3: 'value' must be a finite number. Got 'nan'"),
    "inf": (TABLE.replace(",2\n", ",-inf\n"), r"^f, line 3: 'value' must be a finite number. Got '-inf'"),
    "text for a number": (TABLE.replace(",2\n", ",two\n"), r"^f, line 3: 'value' must be a finite number. Got 'two'"),
    "empty count": (TABLE.replace(",2\n", ",\n"), r"^f, line 3: a count must be a number. Got ''"),
    "negative count": (TABLE.replace(",2\n", ",-2\n"), r"^f, line 3: counts must not be negative. Got '-2'"),
    "duplicate key": (
        TABLE + "2004-01-08,Japan,France,x,9\n",
        r"^f, line 4: each date, source, target and action must have one row. Japan to France, x",
    ),
    "duplicate header": ("date,source,source,target\n2004-01-01,a,b,c\n", r"^f, line 1: one column must be the source"),
    "one actor": (
        icews_text([icews_row(f"2014-01-0{d}", "France", "040", "France") for d in (1, 2)]),
        r"^f: a relation needs at least two actors.*Found 1 \(France\)",
    ),
    "one day": (
        icews_text(ROWS[:1]),
        r"^f: a series needs at least two days. The files cover 2014-01-01 to 2014-01-01",
    ),
    "a column missing": (
        ICEWS.replace("CAMEO Code", "CAMEO").replace("Event Text", "CAMEO Code"),
        r"^f, line 1: the header must name the columns.*Missing: Event Text",
    ),
    "icews header twice the same": (
        ICEWS.replace("Publisher", "Event Date"),
        r"^f, line 1: each column must be named once. Got 'Event Date' 2 times",
    ),
    "damaged gzip": (
        gzip.compress(ICEWS.encode())[:-30],
        r"^f: must unpack without errors. It is damaged or cut short",
    ),
    "damaged zip": (b"PK\x03\x04" + b"x" * 50, r"^f: must be a whole zip file"),
    "damaged parquet": (b"PAR1" + b"x" * 50, r"^f: must be a whole Parquet file"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_refused_with_file_and_line(tmp_path: Path, case: str) -> None:
    content, message = CASES[case]
    path = write(tmp_path / "f", content)
    options = DAYS if "icews" in case or "day" in case or case == "one actor" else ImportOptions(actors="all")
    with pytest.raises(TRNNError, match=message) as caught:
        read_series(path, options=options)
    assert "\n" not in str(caught.value)


def test_a_byte_order_mark_is_no_harm(tmp_path: Path) -> None:
    for name, text in (("a.tab", ICEWS), ("b.csv", TABLE)):
        plain = read_series(
            write(tmp_path / name, text), options=ImportOptions(actors="all", keep_partial=True, period="day")
        )
        marked = read_series(
            write(tmp_path / f"bom-{name}", b"\xef\xbb\xbf" + text.encode()),
            options=ImportOptions(actors="all", keep_partial=True, period="day"),
        )
        assert marked.fingerprint == plain.fingerprint


def test_latin_1_is_read_when_the_user_says_so(tmp_path: Path) -> None:
    series = read_series(
        write(tmp_path / "a.tab", LATIN), options=ImportOptions(period="day", actors="all", encoding="latin-1")
    )
    assert series.values.sum() == 2


def test_windows_line_ends_and_a_missing_last_one_are_no_harm(tmp_path: Path) -> None:
    wanted = read_series(write(tmp_path / "a.tab", ICEWS), options=DAYS).fingerprint
    for n, text in enumerate((ICEWS.replace("\n", "\r\n"), ICEWS.rstrip("\n"), ICEWS + "\n\n")):
        assert read_series(write(tmp_path / f"{n}.tab", text), options=DAYS).fingerprint == wanted


def test_one_bad_file_among_good_ones_imports_nothing(tmp_path: Path) -> None:
    write(tmp_path / "a.tab", ICEWS)
    write(tmp_path / "b.tab", ICEWS + "broken\n")
    with pytest.raises(TRNNError, match=r"^b.tab, line 4: must have 20"):
        read_series(tmp_path, options=DAYS)


def test_two_formats_in_one_folder_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.tab", ICEWS)
    write(tmp_path / "b.csv", TABLE)
    with pytest.raises(TRNNError, match=r"a.tab looks like icews, b.csv like table"):
        read_series(tmp_path)


@pytest.mark.parametrize("kind", ["gzip", "zip"])
def test_a_bomb_is_stopped(tmp_path: Path, kind: str) -> None:
    header, row = ICEWS.encode().split(b"\n")[:2]
    bomb = header + b"\n" + (row + b"\n") * (80 * 2**20 // len(row))
    path = tmp_path / "bomb"
    if kind == "gzip":
        path.write_bytes(gzip.compress(bomb, 6))
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.tab", bomb)
    assert path.stat().st_size < 2**20
    with pytest.raises(TRNNError, match=r"bomb.*looks like a zip bomb"):
        read_series(path)


def test_a_zip_that_lies_about_its_size_is_stopped(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tab.zip", ICEWS * 50)
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = (10).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(TRNNError, match=r"a.tab"):
        read_series(path, options=DAYS)


def test_a_parquet_file_of_endless_rows_is_refused(tmp_path: Path) -> None:
    n = 20_000_000
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int8)), pa.array(["2004-01-01"]))
    pq.write_table(pa.table({"date": column, "source": column, "target": column}), tmp_path / "p.parquet")
    with pytest.raises(TRNNError, match=r"p.parquet: 20,000,000 rows in .* look like a bomb"):
        read_series(tmp_path / "p.parquet")


def test_a_path_outside_the_allowed_folder_is_refused(tmp_path: Path) -> None:
    inside = tmp_path / "store"
    inside.mkdir()
    secret = write(tmp_path / "secret.tab", ICEWS)
    write(inside / "fine.tab", ICEWS)
    (inside / "link.tab").symlink_to(secret)
    options = ImportOptions(period="day", actors="all", allowed_root=inside)
    assert read_series(inside / "fine.tab", options=options).values.sum() == 2
    for path in (secret, inside / ".." / "secret.tab", inside / "link.tab", inside, "/etc/passwd"):
        with pytest.raises(TRNNError, match="must lie inside the allowed folder"):
            read_series(path, options=options)


@pytest.mark.parametrize("path", ["nowhere.tab", "a\0b", "x" * 5000, ""])
def test_paths_that_are_no_files(tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TRNNError, match=r"There must be a file|must be the name of a file|must hold at least one file"):
        read_series(path)


def test_a_tensor_too_large_for_its_events_is_refused(tmp_path: Path) -> None:
    rows = [
        icews_row(d, f"state {n}", "040", f"state {n + 1}") for n in range(300) for d in ("1900-01-01", "2020-01-01")
    ]
    with pytest.raises(
        TRNNError, match=r"43830 periods, 301 by 301 actors and 4 actions.*take fewer actors or longer periods"
    ):
        read_series(write(tmp_path / "a.tab", icews_text(rows)), options=DAYS)


def test_a_count_beyond_counting_is_refused_where_it_stands():
    values = np.zeros((3, 2, 2, 1))
    values[1, 0, 1, 0] = 1e300
    dates = np.array(["2020-01-02", "2020-01-09", "2020-01-16"], dtype="datetime64[D]")
    with pytest.raises(TRNNError, match=r"^A count must be at most .* Got 1e\+300 for A to B, x, 2020-01-09; correct"):
        RelationalSeries(values, dates, ("A", "B"), ("x",))
    assert RelationalSeries(values, dates, ("A", "B"), ("x",), source=Provenance(kind="value")).values.max() == 1e300
