"""Several people on a real server, in short. The long forms, with their limits, are rows of `make stress`."""

from __future__ import annotations

from tests.fuzz.upload import upload_campaign
from tests.load.defaults import defaults_campaign
from tests.load.isolation import isolation_campaign


def test_nobody_sees_the_data_of_another(tmp_path):
    assert isolation_campaign(tmp_path, n_sessions=3, n_actions=2).failures == []


def test_spoilt_uploads_are_answered_in_words(tmp_path):
    assert upload_campaign(tmp_path, 8, seed=5).failures == []


def test_the_server_is_safe_as_it_starts(tmp_path):
    assert defaults_campaign(tmp_path, browser=False).failures == []
