"""Ending things in the middle, and what is said when something breaks: in a real browser on a real server."""

from __future__ import annotations

import re
import shutil

import pytest
from playwright.sync_api import BrowserContext, Page

from scripts.serve import Server
from tests.browser.test_import import own_csv, upload
from tests.browser.test_stories import settled, start_training, until
from trnn_core.files import write_sealed
from trnn_core.jobs.requests import list_jobs
from trnn_core.runs.store import RunStore


@pytest.mark.slow
def test_an_import_can_be_stopped_and_begun_again(page: Page, server: Server) -> None:
    upload(page, server, "far too many rows.csv", own_csv(weeks=4000))
    again = page.get_by_role("button", name="Import", exact=True)
    again.click()
    page.get_by_role("button", name="Stop the import").click()
    page.get_by_text("The import was stopped; nothing was kept.").wait_for()
    settled(page)
    assert list_jobs(RunStore(server.runs), "import")[0].status().state == "stopped"
    assert not (server.data / "far too many rows.npz").exists()
    assert again.is_enabled()


def test_a_recommended_training_can_be_paused_resumed_and_cancelled(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/Train?preset=recommended")
    page.get_by_role("button", name="Start training").wait_for()
    settled(page)
    page.get_by_role("button", name="Start training").click()
    page.get_by_role("button", name="Pause").click()
    run = RunStore(server.runs).runs()[0]
    until(lambda: run.status().state == "paused")
    page.get_by_role("button", name="Resume").click()
    until(lambda: run.status().is_live)
    page.get_by_role("button", name="Cancel").click()
    until(lambda: run.status().state == "cancelled")
    page.get_by_role("button", name="Resume").wait_for()
    assert run.forecast() is None and run.verify() == []


def test_after_resume_every_tab_sees_the_run_go_on(page: Page, context: BrowserContext, server: Server) -> None:
    run = start_training(page, server, 5000, "Resumed run")
    page.get_by_role("button", name="Pause").click()
    until(lambda: run.status().state == "paused")
    other = context.new_page()  # opened while it rests
    other.goto(f"{server.url}/Train?run={run.run_id}")
    other.get_by_role("heading", name="Resumed run: paused").wait_for()
    before = run.status().epoch
    page.get_by_role("button", name="Resume").click()
    until(lambda: run.status().state == "running" and run.status().epoch > before + 3)
    for tab in (page, other):
        tab.get_by_role("heading", name="Resumed run: training").wait_for(timeout=20_000)
        epochs = lambda tab=tab: int(tab.get_by_text(re.compile("Epoch .* of 5000")).inner_text().split()[1])  # noqa: E731
        seen = epochs()
        until(lambda epochs=epochs, seen=seen: epochs() > max(seen, before), 20)
    page.get_by_role("button", name="Cancel").click()
    until(lambda: run.status().state == "cancelled")
    other.get_by_role("heading", name="Resumed run: cancelled").wait_for(timeout=20_000)


def test_a_failure_inside_a_page_is_a_sentence_with_a_reference_that_is_in_the_log(page: Page, server: Server) -> None:
    runs = server.runs
    shutil.copytree(runs / "first", runs / "odd")
    write_sealed(runs / "odd" / "summary.json", {"test": {"skill": "not a number", "n_origins": 1}})
    page.goto(f"{server.url}/Forecast?run=odd")
    page.get_by_text("Something went wrong on this page. Reload the page to try again").wait_for()
    page.get_by_text("Details", exact=True).click()
    told = page.get_by_text("Reference").inner_text()
    shutil.rmtree(runs / "odd")
    assert "Traceback" not in page.locator("[data-testid=stMain]").inner_text()
    found = re.search(r"Reference (\w{8})", told)
    assert found and f"reference {found[1]}" in server.log()
    page.get_by_role("link", name="Home").click()  # the way on is still there
    page.locator(".stPlotlyChart").first.wait_for()


@pytest.mark.slow
def test_a_file_that_cannot_be_made_is_told_on_the_page_and_the_others_still_come(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/Report?run=first&form=Presentation+%28HTML%29")
    page.get_by_role("button", name="Make Presentation (HTML)").click()
    save = page.get_by_role("button", name="Save Presentation (HTML)")
    save.wait_for()
    settled(page)
    (made,) = list_jobs(RunStore(server.runs), "export", "first")[0].folder.glob("files/*")
    made.write_bytes(b"not what it was")
    save.click()
    page.get_by_text("Failed to generate file for download").wait_for()  # at once, under the button
    page.get_by_role("button", name="How it was trained").click()  # the page is drawn again, and says why
    page.get_by_text("is damaged: its content does not match its checksum").wait_for()
    settled(page)
    assert "Traceback" not in page.locator("[data-testid=stMain]").inner_text()
    page.get_by_role("button", name="How it was trained").click()
    page.get_by_role("button", name="Make Presentation (HTML) again").click()  # the way on
    page.get_by_role("button", name="Stop").wait_for()
    save.wait_for()
    settled(page)
    with page.expect_download() as caught:
        save.click()
    assert b"<html" in caught.value.path().read_bytes()
    assert page.get_by_text("is damaged").count() == 0
