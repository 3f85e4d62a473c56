"""Every row of the long tests can fail: its planted defect turns it red.

The defects are listed, in words and code, in tests/plants/defects.py.
"""

from __future__ import annotations

import pytest

from scripts.licences import incompatible, licence_of, pinned
from tests.plants.defects import DEFECTS, complains
from tests.rows import ROWS, run_row


def test_every_row_has_a_planted_defect():
    assert set(ROWS) == set(DEFECTS) - {"crash", "lookups"}
    assert all(DEFECTS[key].words and DEFECTS[key].sign for key in ROWS)


def test_a_planted_defect_turns_its_row_red(tmp_path):
    assert complains("licences", run_row("licences", False, tmp_path / "red.json", plant=True, limit=200).failures)


def test_all_pinned_packages_go_with_our_licence():
    assert incompatible([(p, licence_of(p.name)) for p in pinned()]) == []


@pytest.mark.slow
@pytest.mark.stress
@pytest.mark.parametrize("key", [k for k in ROWS if k != "licences"])
def test_any_planted_defect_turns_its_row_red(key, tmp_path):
    tally = run_row(key, False, tmp_path / "report.json", plant=True, limit=900)
    if tally.skipped:
        pytest.skip(tally.skipped)
    assert complains(key, tally.failures), (
        f"{key} says nothing of it although {DEFECTS[key].words}: {tally.failures[:2]}"
    )
