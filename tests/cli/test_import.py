"""`import` and `info` as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.event_files import icews_row, icews_text, write
from trnn_core.cli import main
from trnn_core.data.readers import read_npz

DAYS = [f"2004-01-{d:02}" for d in range(1, 29)]
ROWS = [icews_row(d, a, "040", b) for d in DAYS for a, b in (("France", "Japan"), ("Iran", '"Moldova, Republic of"'))]


def files(tmp_path: Path) -> list[str]:
    half = len(ROWS) // 2
    return [str(write(tmp_path / n, icews_text(r))) for n, r in (("a.tab", ROWS[:half]), ("b.tab.zip", ROWS[half:]))]


def test_import_then_info(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "x.npz")
    arguments = ["--actors", "all", "--period", "week", "--week-start", "thursday", "--actions", "quad", "--out", out]
    assert main(["import", "icews", *files(tmp_path), *arguments]) == 0
    told = capsys.readouterr()
    assert "56 rows read from 2 icews files, 2004-01-01 to 2004-01-28; 56 used." in told.out and told.err == ""
    series = read_npz(out)
    assert series.shape == (4, 4, 4, 4) and series.values.sum() == 56
    assert main(["info", out]) == 0
    assert "4 weeks, 2004-01-01 to 2004-01-22" in capsys.readouterr().out


def test_json_for_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "x.npz")
    assert (
        main(
            [
                "import",
                *files(tmp_path),
                "--actors",
                '"Moldova, Republic of",Iran',
                "--period",
                "day",
                "--out",
                out,
                "--json",
            ]
        )
        == 0
    )
    imported = json.loads(capsys.readouterr().out)
    assert imported["actors"] == ["Moldova", "Iran"] and imported["report"]["format"] == "icews"
    assert main(["info", out, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["total"] == 28 and facts["period"] == "day" and facts["fingerprint"] == read_npz(out).fingerprint


def test_a_grouping_and_corrections_come_from_files(tmp_path: Path) -> None:
    (tmp_path / "groups.json").write_text('{"04": "talks"}')
    (tmp_path / "names.json").write_text('{"Iran": "Persia"}')
    out = tmp_path / "x.npz"
    more = [
        "--actions",
        str(tmp_path / "groups.json"),
        "--corrections",
        str(tmp_path / "names.json"),
        "--actors",
        "all",
    ]
    assert main(["import", *files(tmp_path), *more, "--out", str(out)]) == 0
    series = read_npz(out)
    assert series.actions == ("talks",) and "Persia" in series.actors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["import", "icews", "nowhere.tab", "--out", "x.npz"], "There must be a file or folder nowhere.tab"),
        (["import", "icews", "--out", "x.npz"], "There must be at least one file to read"),
        (["import", "a", "--out", "x.csv"], "--out must be a name ending in .npz"),
        (["import", "a", "--actors", "1", "--out", "x.npz"], "Import option 'actors'"),
        (["import", "a", "--column", "date", "--out", "x.npz"], "--column must be ROLE=HEADER"),
        (
            ["import", "a", "--actions", "none.json", "--out", "x.npz"],
            "--actions must be quad, root, own or a JSON file",
        ),
        (["info", "nowhere.npz"], "There must be a file nowhere.npz"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    tmp_path: Path,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    told = capsys.readouterr()
    assert message in told.err and told.err.count("\n") == 1 and told.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_bad_row_leaves_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "a.tab", icews_text([*ROWS, "broken"]))
    assert main(["import", str(path), "--out", str(tmp_path / "x.npz")]) == 2
    assert "a.tab, line 58: must have 20 tab-separated fields" in capsys.readouterr().err
    assert not (tmp_path / "x.npz").exists()
