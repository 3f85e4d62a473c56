"""The Explain page without a browser: real tasks in a real process, links that open the same view, empty states."""

from __future__ import annotations

import os
import signal
import time

from tests.jobs.ending import slot_process
from tests.pages.conftest import silent_controls
from trnn_core.insight.library import list_scenarios, stored_influence
from trnn_core.jobs.requests import list_jobs
from trnn_core.runs.store import RunStore

EXPLAIN = "pages/5_Explain.py"


def answered(app, seconds: float = 120.0):
    """Look again, as the page does by itself, until no answer is waited for."""
    until = time.monotonic() + seconds
    while any(b.label == "Stop" for b in app.button):
        assert time.monotonic() < until
        app.run()
    return app


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
        app = answered(open_page(EXPLAIN, run="first", tab=tab, sender=actors[2], receiver=actors[4], shock=shock))
        assert not app.exception and not app.error, (tab, [e.value for e in app.error])
        assert words in text_of(app), (tab, text_of(app))
        assert "Association is not cause" in text_of(app)
        assert len(app.get("plotly_chart")) >= 1
        assert silent_controls(app) == []
    assert stored_influence(run) is not None and run.verify() == []  # kept with the run, for the report


def test_two_people_who_ask_the_same_share_one_answer(asked, open_page):
    question = {"run": "first", "tab": "Why this forecast"}
    first = answered(open_page(EXPLAIN, **question))
    begun = time.monotonic()
    other = open_page(EXPLAIN, **question)
    assert time.monotonic() - begun < 2 and not other.exception and text_of(other) == text_of(first)
    tasks = list_jobs(RunStore(asked / "runs"), "explain")
    assert [t.status().state for t in tasks] == ["done"]


def test_an_answer_that_takes_long_leaves_the_page_free_and_can_be_stopped(asked, open_page):
    question = {"run": "first", "tab": "Why this forecast"}
    actors = RunStore(asked / "runs").get("first").config["data"]["actors"]
    answered(open_page(EXPLAIN, **question))
    process = slot_process(RunStore(asked / "runs"), "explain")
    os.kill(process["pid"], signal.SIGSTOP)  # now every answer takes long
    try:
        begun = time.monotonic()
        app = open_page(EXPLAIN, **question, sender=actors[3], receiver=actors[1])
        assert time.monotonic() - begun < 10 and not app.exception and not app.error
        assert len(app.get("progress")) == 1 and app.selectbox(key="sender").value == actors[3]
        app.button(key="stop-question").click()
        app.run()
        assert any("This question was stopped" in i.value for i in app.info)
        app.run()  # looked at again, it is not asked behind the person's back
        task = list_jobs(RunStore(asked / "runs"), "explain", "first")[0]
        assert task.request["source"] == actors[3] and task.status().state == "stopped"
    finally:
        os.kill(process["pid"], signal.SIGCONT)
    next(b for b in app.button if b.label == "Ask again").click()
    answered(app.run())
    assert not app.error and "contributions add up to" in text_of(app)


def test_a_link_with_a_wrong_change_says_so_and_still_works(asked, open_page):
    app = open_page(EXPLAIN, run="first", tab="What if", shock="Atlantis|Japan|verbal conflict|+|3|")
    assert not app.exception and any("Atlantis" in w.value for w in app.warning)
    assert "What would follow" in text_of(app)
    assert list_scenarios(RunStore(asked / "runs").get("first")) == []
