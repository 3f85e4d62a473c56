"""Sparse tensor text, with and without header."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.event_files import cell, write
from trnn_core.data.readers import ImportOptions, read_series
from trnn_core.data.readers.tnslabels import HOFF_ACTORS, HOFF_TOTALS
from trnn_core.data.series import QUAD_ACTIONS
from trnn_core.errors import TRNNError

SMALL = "sptensor\n4\n3 3 2 4\n3\n1 2 1 1 5\n2 1 2 3 1\n3 3 1 2 7\n"
START = ImportOptions(actors="all", start="2004-01-01", diagonal=True)


def test_header_form_with_typed_labels(tmp_path: Path) -> None:
    series = read_series(write(tmp_path / "a.tns", SMALL), options=START)
    assert series.shape == (4, 3, 3, 2) and series.source.kind == "count"
    assert cell(series, "2004-01-01", "actor 1", "actor 2", "action 1") == 5
    assert cell(series, "2004-01-15", "actor 2", "actor 1", "action 2") == 1
    assert series.values.sum() == 13 and str(series.dates[-1]) == "2004-01-22"
    typed = ImportOptions(
        actors=("USA", "Iran", "Ruritania"), actions={"1": "talks", "2": "threats"}, start="2004-01-01"
    )
    named = read_series(tmp_path / "a.tns", options=typed)
    assert named.actors == ("USA", "Iran", "Ruritania") and named.actions == ("talks", "threats")


def test_plain_form_and_side_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tns.gz", "# FROSTT\n1 2 1 1 5\n2 1 2 3 1.0\n3 3 1 2 7\n")
    side = tmp_path / "labels.json"
    side.write_text(
        json.dumps(
            {"actors": ["France", "Japan", "Iran"], "actions": ["a", "b"], "start": "2001-01-01", "period": "month"}
        )
    )
    series = read_series(path, options=ImportOptions(actors="all", labels=str(side), diagonal=True))
    assert series.period == "month" and series.actors == ("France", "Iran", "Japan")
    assert cell(series, "2001-02-01", "Iran", "Iran", "a") == 7
    assert len(series) == 3


def test_three_modes_are_one_action(tmp_path: Path) -> None:
    series = read_series(write(tmp_path / "a.tns", "1 2 1 5\n2 1 3 1\n"), options=START)
    assert series.shape == (3, 2, 2, 1)


def test_hoffs_own_data_is_recognised_by_its_totals(tmp_path: Path) -> None:
    """A tensor of the same form and the documented totals of the first ten weeks."""
    lines = [f"1 2 1 {t + 1} {n - 1}\n2 1 4 {t + 1} 1" for t, n in enumerate(HOFF_TOTALS)]
    lines += [f"{i + 1} {(i + 1) % 25 + 1} 2 548 1" for i in range(25)]
    text = f"sptensor\n4\n25 25 4 548\n{len(lines) + len(HOFF_TOTALS)}\n" + "\n".join(lines) + "\n"
    series = read_series(
        write(tmp_path / "icews_tensor_data.tns", text), options=ImportOptions(actors=HOFF_ACTORS, diagonal=True)
    )
    assert series.actors == HOFF_ACTORS and series.actions == QUAD_ACTIONS
    assert series.shape == (548, 25, 25, 4) and str(series.dates[0]) == "2004-01-01"
    assert series.values[:10].sum(axis=(1, 2, 3)).tolist() == list(HOFF_TOTALS)
    assert any("Hoff (2015)" in n for n in series.source.report["notes"])


def test_values_that_are_no_counts_leave_the_rest_missing(tmp_path: Path) -> None:
    series = read_series(write(tmp_path / "a.tns", SMALL.replace(" 5\n", " -0.5\n")), options=START)
    assert series.source.kind == "value" and series.observed.sum() == 3
    assert np.nansum(series.values) == 7.5


BAD = {
    "position beyond the sizes": (
        SMALL.replace("3 3 1 2 7", "3 4 1 2 7"),
        r"a.tns, line 7: positions must lie within the sizes 3 3 2 4.*Got 4 where 3",
    ),
    "more entries than promised": (SMALL + "1 1 1 1 1\n", r"a.tns, line 8: there must be 3 entries"),
    "fewer entries than promised": (
        SMALL.replace("\n3\n1", "\n30\n1"),
        r"a.tns, line 7: there must be 30 entries.*ends after 3",
    ),
    "sizes that would fill the memory": (
        SMALL.replace("3 3 2 4", "900000 900000 99 99999"),
        r"a.tns: The tensor may have at most",
    ),
    "sizes that are no numbers": (SMALL.replace("3 3 2 4", "3 3 x 4"), r"a.tns, line 3: must give 4 sizes"),
    "order five": (SMALL.replace("\n4\n", "\n5\n"), r"line 2: the tensor must have order 4"),
    "position zero": (SMALL.replace("1 2 1 1 5", "0 2 1 1 5"), r"line 5: positions are counted from 1"),
    "an entry twice": (SMALL.replace("2 1 2 3 1", "1 2 1 1 1"), r"line 6: each entry must appear once.*line 5"),
    "nan": (SMALL.replace(" 5\n", " nan\n"), r"line 5: the value must be a finite number. Got 'nan'"),
    "a short line": (SMALL.replace("1 2 1 1 5", "1 2 1 5"), r"line 5: an entry must be"),
    "no start": (SMALL, r"a.tns: a tensor has no dates"),
    "not square": (SMALL.replace("3 3 2 4", "3 4 2 4"), r"the same actors. Got 3 and 4"),
}


@pytest.mark.parametrize("case", BAD)
def test_lies_are_refused(tmp_path: Path, case: str) -> None:
    text, message = BAD[case]
    options = ImportOptions(actors="all") if case == "no start" else START
    with pytest.raises(TRNNError, match=message):
        read_series(write(tmp_path / "a.tns", text), options=options)
