"""The server may be killed at any time: what it started goes on."""

from __future__ import annotations

from tests.faults.servers import kill_servers


def test_a_killed_server_takes_no_training_with_it(small_series, tmp_path):
    assert kill_servers(tmp_path, small_series, n_kills=1, seed=0).failures == []
