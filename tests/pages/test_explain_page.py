"""The Explain page without a browser: real tasks in a real process, links that open the same view, empty states."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.pages.conftest import silent_controls
from trnn_core.insight.library import list_scenarios, stored_influence
from trnn_core.training.processes import read_beat
from trnn_core.training.store import RunStore

EXPLAIN = "pages/5_Explain.py"


@pytest.fixture
def asked(full: Path) -> Iterator[Path]:
    """A trained store whose task processes are ended afterwards."""
    yield full
    for path in (full / "runs" / ".tasks" / ".process").glob("*/*/process.json"):
        process = read_beat(path)
        if process:
            with suppress(ProcessLookupError):
                os.kill(process["pid"], signal.SIGTERM)


def text_of(app) -> str:
    return " ".join(e.value for e in [*app.markdown, *app.caption, *app.info, *app.success, *app.warning])


def test_nothing_trained_says_where_to_go(bare, open_page):
    app = open_page(EXPLAIN)
    assert not app.exception and "nothing to explain yet" in text_of(app)


def test_every_question_is_answered_and_warned_about(asked, open_page):
    run = RunStore(asked / "runs").get("first")
    actors = run.config["data"]["actors"]
    shock = f"{actors[2]}|{actors[4]}|material conflict|+|20|"
    wanted = {
        "Why this forecast": "contributions add up to",
        "What if": "the largest difference is",
        "After a shock": "After 10 more from",
        "Unusual weeks": "was furthest from what was expected",
        "Influence": "standard errors or more from zero",
    }
    for tab, words in wanted.items():
        app = open_page(EXPLAIN, run="first", tab=tab, sender=actors[2], receiver=actors[4], shock=shock)
        assert not app.exception and not app.error, (tab, [e.value for e in app.error])
        assert words in text_of(app), (tab, text_of(app))
        assert "Association is not cause" in text_of(app)
        assert len(app.get("plotly_chart")) >= 1
        assert silent_controls(app) == []
    assert stored_influence(run) is not None and run.verify() == []  # kept with the run, for the report


def test_a_link_with_a_wrong_change_says_so_and_still_works(asked, open_page):
    app = open_page(EXPLAIN, run="first", tab="What if", shock="Atlantis|Japan|verbal conflict|+|3|")
    assert not app.exception and any("Atlantis" in w.value for w in app.warning)
    assert "What would follow" in text_of(app)
    assert list_scenarios(RunStore(asked / "runs").get("first")) == []
