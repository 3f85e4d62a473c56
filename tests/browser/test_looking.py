"""Looking around: the week that plays by itself, a pair chosen in the data or by a ribbon, runs laid over each other, the queue."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

from scripts.serve import Server
from tests.browser.conftest import WAIT
from tests.browser.test_links import choose
from tests.browser.test_stories import pair_in, settled, start_training, until
from trnn_core.runs.store import RunStore


@pytest.mark.slow
def test_the_weeks_play_by_themselves_until_told_to_rest(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/Data?week=2005-03-03")
    title = page.locator(".stPlotlyChart", has_text="Observed").locator(".gtitle-subtitle").first
    expect(title).to_contain_text("week of 2005-03-03", timeout=WAIT)
    settled(page)
    play = page.locator("[data-testid=stCheckbox]", has_text="Play").locator("label").first
    play.click()
    expect(title).to_contain_text(re.compile("week of 2005-03-(17|24|31)|week of 2005-04"), timeout=WAIT)
    play.click()
    settled(page)
    rested = title.text_content()
    page.wait_for_timeout(3000)
    assert title.text_content() == rested
    assert f"week={(rested or '').partition('week of ')[2][:10]}" in page.evaluate("location.href")


def test_clicking_a_cell_of_the_data_shows_that_pair_and_the_week_can_be_taken_away(
    page: Page, server: Server, tmp_path: Path
) -> None:
    page.goto(f"{server.url}/Data?order=Name")
    chart = page.locator(".stPlotlyChart", has_text="Observed").first
    chart.locator(".heatmaplayer image").wait_for(state="attached")
    settled(page)
    actors = sorted(RunStore(server.runs).get("first").config["data"]["actors"], key=str.casefold)
    box = chart.locator(".nsewdrag").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 6.5 / len(actors), box["y"] + box["height"] * 1.5 / len(actors))
    page.locator(".gtitle", has_text=f"{actors[1]} → {actors[6]}").wait_for(state="attached")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Network (GraphML)").click()
    waiting.value.save_as(tmp_path / "week.graphml")
    nodes = [e for e in ElementTree.parse(tmp_path / "week.graphml").iter() if e.tag.endswith("}node")]
    assert len(nodes) == len(actors)


@pytest.mark.slow
def test_clicking_a_ribbon_shows_that_pair(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/Forecast?run=first&view=Chord")
    handles = page.locator(".stPlotlyChart").first.locator(".scatterlayer .points path")
    handles.first.wait_for(state="attached")
    settled(page)
    before = pair_in(page.evaluate("location.href"))
    box = handles.nth(handles.count() // 2).bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    until(lambda: pair_in(page.evaluate("location.href")) != before)
    pair = " → ".join(pair_in(page.evaluate("location.href")))
    page.locator(".gtitle", has_text=pair).wait_for(state="attached")


@pytest.mark.slow
def test_a_second_run_waits_in_the_queue_and_an_earlier_one_is_laid_behind(page: Page, server: Server) -> None:
    long = start_training(page, server, 100_000, "Goes first")
    until(lambda: long.status().epoch >= 2)
    waiting = start_training(page, server, 5, "Comes second")
    expect(page.get_by_text(re.compile("In the queue: 1. Comes second"))).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    until(lambda: waiting.status().state == "cancelled")

    page.goto(f"{server.url}/Train?run={long.run_id}")
    curve = page.locator(".stVegaLiteChart").first
    curve.locator("text", has_text="best epoch").first.wait_for(state="attached")
    expect(curve.locator("text", has_text="log scale").first).to_be_attached()
    choose(page, "Compare with", "First run")
    page.keyboard.press("Escape")
    expect(curve.locator("text", has_text="First run").first).to_be_attached()
    page.locator("[data-testid=stCheckbox]", has_text="Log scale").locator("label").first.click()
    expect(curve.locator("text", has_text="log scale")).to_have_count(0)
    link = page.evaluate("location.href")
    assert "others=first" in link and "log_loss=false" in link
    page.get_by_role("button", name="Cancel").click()
    until(lambda: long.status().state == "cancelled")
