"""How good would it have been? Start a backtest, watch it, stop it, go on, read the leaderboard, come back, take it away."""

from __future__ import annotations

import io
import re
from urllib.parse import parse_qs, urlparse

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from scripts.serve import Server
from tests.browser.conftest import WAIT
from tests.browser.test_stories import settled, until
from tests.jobs.ending import end_jobs
from trnn_core.jobs.requests import list_jobs
from trnn_core.runs.store import RunStore
from trnn_core.verbs.backtest import KIND


@pytest.mark.slow
def test_start_watch_stop_go_on_and_come_back(page: Page, server: Server) -> None:
    store = RunStore(server.runs)
    try:
        page.goto(f"{server.url}/Evaluate?run=set:demo")
        page.get_by_role("button", name="New backtest").click()
        again = page.get_by_role("spinbutton", name="Train again every")
        again.fill("1")  # as long as it gets: there must be time to stop it
        again.press("Tab")
        settled(page)
        page.get_by_role("button", name="Start backtest").click()
        page.keyboard.press("Escape")
        expect(page.get_by_role("heading", name=re.compile("Testing"))).to_be_visible(timeout=WAIT)
        (task,) = list_jobs(store, KIND)
        until(lambda: task.status().done > 0)
        expect(page.get_by_text(re.compile(r"[1-9]\d*\s%.*weeks scored|[1-9]\d*\s%.*fitted"))).to_be_visible(
            timeout=WAIT
        )
        page.get_by_role("button", name="Stop", exact=True).click()
        expect(page.get_by_text("The last backtest was stopped")).to_be_visible(timeout=WAIT)
        assert task.status().state == "stopped"

        page.get_by_role("button", name="Test 3 simple methods").click()
        expect(page.get_by_text("past weeks, one week ahead").first).to_be_visible(timeout=2 * WAIT)
        board = page.locator(".stPlotlyChart", has_text="Error of each model")
        expect(board.get_by_text("relational autoregression")).to_be_visible(timeout=WAIT)
        expect(page.get_by_text("SIMULATED data").first).to_be_visible()
        settled(page)
        sentence = page.get_by_text("past weeks, one week ahead").first.inner_text()

        # The link alone brings it back: after a reload, and for somebody else.
        shown = parse_qs(urlparse(page.url).query)
        assert shown["backtest"][0].startswith("backtest-") and shown["run"] == ["set:demo"]
        page.reload()
        expect(page.get_by_text(sentence)).to_be_visible(timeout=WAIT)
        page.get_by_role("radio", name="Misses").or_(page.get_by_role("button", name="Misses")).first.click()
        expect(page.get_by_text("There came")).to_be_visible(timeout=WAIT)
        assert parse_qs(urlparse(page.url).query)["part"] == ["Misses"]
        with page.expect_download(timeout=WAIT) as caught:
            page.get_by_role("button", name="Leaderboard (CSV)").click()
        table = pd.read_csv(io.BytesIO(caught.value.path().read_bytes()))
        assert set(table["model"]) == {"persistence", "ewma", "relational_ar"} and set(table["data"]) == {"simulated"}
    finally:
        end_jobs(store)
