"""kill -9 at any moment: the store opens, nothing is torn, at most the running epoch is lost, resuming is exact."""

from __future__ import annotations

from tests.faults.killing import kill_campaign
from trnn_core.runs.store import RunStore


def test_kill_9_at_random_moments_loses_nothing_and_resumes_exactly(small_series, tmp_path):
    tally = kill_campaign(RunStore(tmp_path), small_series, n_kills=4, seed=0)
    assert tally.failures == [] and tally.tried == 4
