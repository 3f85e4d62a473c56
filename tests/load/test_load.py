"""Several people on a real server, in short. The long forms, with their limits, are rows of `make stress`."""

from __future__ import annotations

from scripts.serve import Server
from tests.campaign import Tally
from tests.fuzz.upload import upload_campaign
from tests.jobs.ending import end_jobs
from tests.load.client import Session, run_alone
from tests.load.defaults import defaults_campaign
from tests.load.door import door_campaign
from tests.load.growth import come_and_go
from tests.load.isolation import isolation_campaign
from tests.load.visitors import MIX
from tests.trained_store import make_home
from trnn_core.runs.store import RunStore


def test_nobody_sees_the_data_of_another(tmp_path):
    assert isolation_campaign(tmp_path, n_sessions=3, n_actions=2).failures == []


def test_spoilt_uploads_are_answered_in_words(tmp_path):
    assert upload_campaign(tmp_path, 8, seed=5).failures == []


def test_the_server_is_safe_as_it_starts(tmp_path):
    assert defaults_campaign(tmp_path, browser=False).failures == []


def test_strangers_are_turned_away_at_the_door(tmp_path):
    assert door_campaign(tmp_path).failures == []


def test_a_report_is_kept_once_for_all_and_not_sent_with_every_look(tmp_path):
    home = make_home(tmp_path / "home")

    async def look(url: str) -> None:
        async with Session(url, "Report") as one, Session(url, "Report") as other:
            assert b"Largest expected changes" in one.content()
            assert list(one.frames) == list(other.frames), "every session has a copy of its own"
            begun = one.received
            await one.rerun()
            assert one.received - begun < 100_000, f"{one.received - begun:,} bytes for a look at the same page"

    with Server(home / "data", home / "runs", prefix="lab") as server:
        run_alone(look(server.url))


def test_a_fresh_server_takes_visitors_of_all_pages_at_once(tmp_path):
    home, tally = make_home(tmp_path / "home"), Tally()
    with Server(home / "data", home / "runs") as server:
        run_alone(come_and_go(server, range(len(MIX)), tally))
    end_jobs(RunStore(home / "runs"))
    assert tally.failures == []
