"""Dates and heartbeats whatever the clock does."""

from __future__ import annotations

import time

from tests.campaign import until
from tests.faults.clock import calendar_campaign, summer_time
from trnn_core.jobs.processes import Heartbeat, Watcher


def test_periods_agree_with_the_calendar():
    assert calendar_campaign(2003, 2028).failures == []


def test_runs_are_listed_by_instant_when_the_clocks_are_set_back(small_series, tmp_path):
    assert summer_time(tmp_path, small_series).failures == []


def test_a_heart_is_judged_without_a_wall_clock(tmp_path, monkeypatch):
    watcher, path, wall = Watcher(silence=0.01), tmp_path / "heartbeat.json", time.time
    with Heartbeat(path, seconds=0.02):
        until(path.exists, "the first beat", 10)
        for jump in (4e7, -4e7, 3600, -3600):
            monkeypatch.setattr(time, "time", lambda jump=jump: wall() + jump)
            time.sleep(0.05)
            assert watcher.judge(path) == "alive"
