"""Many processes on one store, some of them killed: nothing lost, mixed or doubled."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.campaign import ROOT, Tally
from tests.faults.writers import check_books
from tests.training.small import TINY
from trnn_core.runs.store import RunStore


def test_eight_writers_and_ten_kills_lose_mix_and_double_nothing(small_series, tmp_path):
    store = RunStore(tmp_path / "runs")
    store.create(TINY, small_series, run_id="shared", state="paused")
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.writers", str(store.root), "10", "0"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    tally = Tally()
    check_books(store, json.loads(done.stdout), tally)
    assert tally.failures == [] and tally.tried > 30
