"""A link is the view: set everything, hand the address to somebody else, and they see the same."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Browser, Page

from scripts.serve import Server
from tests.browser.conftest import WAIT
from tests.browser.test_stories import settled, until
from trnn_core.runs.store import RunStore


def choose(page: Page, label: str, option: str) -> None:
    """Type a choice into a list, as a person would."""
    box = page.get_by_role("combobox", name=re.compile(rf"(^|Selected .*\. ){label}")).first
    box.click()
    page.keyboard.type(option, delay=5)
    page.get_by_role("option", name=re.compile(re.escape(option))).first.click()
    settled(page)


def picture(page: Page) -> tuple[list[str], list[str]]:
    """What every chart says of itself, and what every list is set to."""
    titles = page.locator(".stPlotlyChart").locator(".gtitle, .gtitle-subtitle")
    values = page.locator("[data-testid=stSelectbox]")
    return titles.all_text_contents(), [v.inner_text() for v in values.all()]


def same_elsewhere(chromium: Browser, page: Page, ready: Callable[[Page], None]) -> None:
    """Open the address in a browser that has never been here."""
    settled(page)
    here = picture(page)
    assert len(here[0]) >= 4
    with chromium.new_context(viewport={"width": 1440, "height": 900}) as other:
        other.set_default_timeout(WAIT)
        second = other.new_page()
        second.goto(page.evaluate("location.href"))
        ready(second)
        settled(second)
        until(lambda: picture(second) == here, 20)
        assert second.get_by_text("This link asks for").count() == 0


@pytest.mark.slow
def test_a_forecast_set_up_by_hand_opens_the_same_for_somebody_else(
    page: Page, chromium: Browser, server: Server
) -> None:
    run = RunStore(server.runs).get("first")
    actors, past = run.config["data"]["actors"], run.hindcast()
    assert past is not None
    week = str(past.origins[-6])
    page.goto(f"{server.url}/Forecast")
    page.locator(".stPlotlyChart .gtitle").first.wait_for()
    settled(page)
    choose(page, "Week", week)
    choose(page, "Horizon", "3 ahead")
    choose(page, "Show", "Forecast error")
    page.get_by_role("radio", name="material conflict").or_(
        page.get_by_role("button", name="material conflict")
    ).first.click()
    settled(page)
    choose(page, "Sender", actors[2])
    choose(page, "Receiver", actors[4])
    page.get_by_role("button", name="Options").click()
    choose(page, "Places of the countries", "By geography")
    choose(page, "Relations of one country", actors[1])
    page.keyboard.press("Escape")
    asked = parse_qs(urlparse(page.evaluate("location.href")).query)
    assert asked["run"] == ["first"] and asked["week"] == [week] and asked["horizon"] == ["3"]
    assert asked["show"] == ["Forecast error"] and asked["action"] == ["material conflict"]
    assert asked["layout"] == ["By geography"] and asked["ego"] == [actors[1]]
    assert (asked["sender"], asked["receiver"]) == ([actors[2]], [actors[4]])
    titles, _ = picture(page)
    assert any("Expected minus what happened, material conflict" in t for t in titles)
    assert any(f"of {actors[1]}" in t for t in titles) and any(f"{actors[2]} → {actors[4]}" in t for t in titles)
    same_elsewhere(chromium, page, lambda p: p.locator(".stPlotlyChart .gtitle").nth(1).wait_for())


@pytest.mark.slow
def test_a_week_of_the_data_opens_the_same_for_somebody_else(page: Page, chromium: Browser, server: Server) -> None:
    page.goto(f"{server.url}/Data?week=2005-03-03")
    page.locator(".stPlotlyChart .gtitle").nth(3).wait_for()
    page.get_by_role("radio", name="Network").or_(page.get_by_role("button", name="Network")).first.click()
    settled(page)
    page.get_by_role("slider").first.focus()
    page.keyboard.press("ArrowRight")
    settled(page)
    until(lambda: "week=2005-03-10" in page.evaluate("location.href"), 20)
    same_elsewhere(chromium, page, lambda p: p.locator(".stPlotlyChart .gtitle").nth(3).wait_for())


@pytest.mark.slow
def test_the_run_in_hand_goes_along_from_page_to_page(page: Page, server: Server) -> None:
    shutil.copytree(server.runs / "first", server.runs / "second")
    newest, older = [run.run_id for run in RunStore(server.runs).runs() if run.forecast() is not None][:2]

    def shown(run: str, path: str) -> None:
        until(lambda: re.search(rf"/{path}\?(.*&)?run={run}(&|$)", page.evaluate("location.href")), 20)
        settled(page)

    try:
        page.goto(f"{server.url}/Forecast?run={older}")
        shown(older, "Forecast")
        for name in ("Report", "Explain", "Evaluate", "Train", "Forecast"):
            page.get_by_test_id("stSidebar").get_by_role("link", name=name).click()
            shown(older, name)
        page.get_by_test_id("stSidebar").get_by_role("link", name="Home").click()
        page.get_by_role("link", name="Explore the forecast").click()  # a link that names a run has the first word
        shown(newest, "Forecast")
        page.get_by_test_id("stSidebar").get_by_role("link", name="Report").click()
        shown(newest, "Report")
        page.goto(f"{server.url}/Train?run={older}")
        page.get_by_role("link", name="See the forecast").click()
        shown(older, "Forecast")
        page.goto(f"{server.url}/Report?run={older}")
        shown(older, "Report")
        page.goto(f"{server.url}/Report")  # nothing in hand, nothing in the link
        shown(newest, "Report")
    finally:
        shutil.rmtree(server.runs / "second")
