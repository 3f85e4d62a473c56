"""The stories people live through, in a real browser on a real server."""

from __future__ import annotations

import csv
import io
import re
import time
from pathlib import Path
from urllib.parse import parse_qs, urlparse
from xml.etree import ElementTree

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from scripts.serve import Server
from tests.browser.conftest import WAIT
from trnn_core.runs.run import Run
from trnn_core.runs.store import RunStore

EVERY_PAGE = ("/", "/Data", "/Train", "/Forecast", "/Evaluate", "/Explain", "/Report")
SOMETHING = (
    ".stPlotlyChart, .stVegaLiteChart, iframe, [data-testid=stFileUploader], [data-testid=stMain] [kind=primary]"
)
# Words of a chart that reach beyond its picture, and names of figures that end in dots.
CUT = """() => [
  ...[...document.querySelectorAll('.stPlotlyChart')].flatMap(chart => {
    const frame = chart.querySelector('.main-svg')?.getBoundingClientRect();
    return !frame ? [] : [...chart.querySelectorAll('svg text')].filter(text => {
      const box = text.getBoundingClientRect();
      return box.width > 0 && (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1);
    });
  }),
  ...[...document.querySelectorAll('[data-testid=stMetricLabel] p')].filter(label => label.scrollWidth > label.clientWidth + 1),
].map(found => found.textContent)"""


def settled(page: Page) -> None:
    """The server has nothing more to draw."""
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=WAIT)
    page.wait_for_timeout(300)


def start_training(page: Page, server: Server, epochs: int, name: str) -> Run:
    page.goto(f"{server.url}/Train?quick.train.epochs={epochs}")
    page.get_by_placeholder("name of the run").fill(name)
    page.get_by_placeholder("name of the run").press("Tab")
    settled(page)
    page.get_by_role("button", name="Start training").click()
    page.get_by_role("heading", name=re.compile(name)).wait_for()
    return next(run for run in RunStore(server.runs).runs() if run.name == name)


def pair_in(url: str) -> tuple[str, str]:
    link = parse_qs(urlparse(url).query)
    return link.get("sender", [""])[0], link.get("receiver", [""])[0]


def train_and_see(page: Page) -> None:
    """Press start, watch it live, and follow the link to its forecast."""
    page.get_by_role("button", name="Start training").click()
    page.get_by_role("button", name="Stop and keep").wait_for()
    page.get_by_role("link", name="See the forecast").click()


def until(true, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)


def test_the_first_screen_shows_a_forecast_network_and_how_far_to_trust_it(page: Page, server: Server) -> None:
    page.goto(server.url)
    chart = page.locator(".stPlotlyChart").first
    chart.locator("text=Expected verbal cooperation").wait_for()
    assert chart.locator(".scatterlayer .trace").count() > 3
    expect(page.get_by_text("SIMULATED data").first).to_be_visible()
    expect(page.get_by_text("repeating the last week").first).to_be_visible()
    expect(page.get_by_text("Largest expected rise").first).to_be_visible()


def test_from_the_demo_to_a_forecast_in_few_clicks(page: Page, server: Server) -> None:
    page.goto(server.url)
    page.get_by_role("link", name="Train a network").click()
    page.get_by_role("button", name="Start training").wait_for()
    settled(page)
    train_and_see(page)
    page.locator(".stPlotlyChart", has_text="Expected verbal cooperation").wait_for()
    run_id = parse_qs(urlparse(page.url).query)["run"][0]
    run = RunStore(server.runs).get(run_id)
    assert run_id != "first" and run.status().state == "finished"


def test_clicking_a_cell_shows_that_pairs_history(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/Forecast?run=first&view=Heatmap&order=Name")
    chart = page.locator(".stPlotlyChart", has_text="sender")
    chart.locator(".heatmaplayer image").wait_for(state="attached")
    settled(page)
    actors = sorted(RunStore(server.runs).get("first").config["data"]["actors"], key=str.casefold)
    box, n = chart.locator(".nsewdrag").bounding_box(), len(actors)
    assert box is not None
    x, y = box["x"] + box["width"] * 5.2 / n, box["y"] + box["height"] * 2.8 / n  # row 2, column 5, near a corner
    page.mouse.move(x, y)
    chart.locator(".hoverlayer", has_text=f"{actors[2]} → {actors[5]}").wait_for()
    page.mouse.click(x, y)
    page.locator(".gtitle", has_text=f"{actors[2]} → {actors[5]}").wait_for(state="attached")
    until(lambda: pair_in(page.evaluate("location.href")) == (actors[2], actors[5]))


def test_clicking_an_arrow_shows_that_pairs_history(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/Forecast?run=first")
    handles = page.locator(".stPlotlyChart").first.locator(".scatterlayer .trace").nth(-2).locator(".points path")
    handles.first.wait_for(state="attached")
    settled(page)
    before = page.url
    box = handles.nth(handles.count() // 2).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    title = page.locator(".stPlotlyChart").nth(1).locator(".gtitle")
    until(
        lambda: (
            page.evaluate("location.href") != before
            and " → ".join(pair_in(page.evaluate("location.href"))) in (title.text_content() or "")
        )
    )


def test_downloads_open_again(page: Page, server: Server, tmp_path: Path) -> None:
    page.goto(f"{server.url}/Forecast?run=first&show=Expected+change")
    page.get_by_role("button", name="Whole forecast (CSV)").wait_for()
    settled(page)
    files = {}
    for label in (
        "Whole forecast (CSV)",
        "Data shown (CSV)",
        "Network (GraphML)",
        "Network (GEXF)",
        "Image (PNG)",
        "Image (SVG)",
    ):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=label).click()
        target = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(target)
        files[label] = target.read_bytes()
    rows = list(csv.DictReader(io.StringIO(files["Whole forecast (CSV)"].decode("utf-8-sig"))))
    assert len(rows) == 8 * 8 * 7 * 4 and {r["data"] for r in rows} == {"simulated"}
    shown = list(csv.DictReader(io.StringIO(files["Data shown (CSV)"].decode("utf-8-sig"))))
    assert len(shown) == 8 * 7 and all(float(r["shown"]) == float(r["change"]) for r in shown)
    for label in ("Network (GraphML)", "Network (GEXF)"):
        names = [e.tag for e in ElementTree.fromstring(files[label]).iter() if e.tag.endswith("}node")]
        assert len(names) == 8
    assert Image.open(io.BytesIO(files["Image (PNG)"])).size[0] > 2000
    assert "Expected change" in "".join(ElementTree.fromstring(files["Image (SVG)"]).itertext())


def test_stop_and_keep_leaves_a_forecast(page: Page, server: Server) -> None:
    run = start_training(page, server, 100_000, "Stopped early")
    until(lambda: run.status().epoch >= 2)
    page.get_by_role("button", name="Stop and keep").click()
    page.get_by_role("link", name="See the forecast").wait_for()
    assert run.status().state == "stopped"
    assert run.forecast() is not None


@pytest.mark.slow
def test_reload_second_browser_and_killed_server_lose_nothing(page: Page, chromium: Browser, server: Server) -> None:
    run = start_training(page, server, 100_000, "Long lived")
    until(lambda: run.status().epoch >= 1)
    page.reload()
    page.get_by_role("heading", name=re.compile("Long lived")).wait_for()
    with chromium.new_context() as other:
        second = other.new_page()
        second.goto(f"{server.url}/Train")
        second.get_by_role("heading", name=re.compile("Long lived")).wait_for(timeout=WAIT)
    server.kill()
    before = run.status().epoch
    until(lambda: run.status().epoch > before)
    assert run.status().state == "running"
    server.start()
    page.goto(f"{server.url}/Train?run={run.run_id}")
    page.get_by_role("button", name="Cancel").click()
    until(lambda: run.status().state == "cancelled")
    page.get_by_role("button", name="Resume").wait_for()


@pytest.mark.slow
def test_the_live_loss_is_at_most_two_seconds_behind(page: Page, server: Server) -> None:
    run = start_training(page, server, 100_000, "Watched")
    until(lambda: run.status().epoch >= 2)
    label = page.locator("[data-testid=stProgress]")
    lags = []
    for _ in range(8):
        page.wait_for_timeout(700)
        shown = re.search(r"Epoch (\d+) of", label.inner_text())
        now = time.time()
        assert shown
        at = written_at(run, int(shown[1]) + 1)
        lags.append(now - at if at else 0.0)
    page.get_by_role("button", name="Cancel").click()
    until(lambda: run.status().state == "cancelled")
    assert max(lags) <= 2.0, lags


def written_at(run: Run, epoch: int) -> float | None:
    """About when an epoch was done, by the times of the epochs counted back from the newest."""
    rows = run.history()
    if len(rows) < epoch:
        return None
    newest = (run.folder / "history.jsonl").stat().st_mtime
    return newest - sum(row["seconds"] for row in rows[epoch:])


@pytest.mark.parametrize(
    "size",
    [(390, 844), *(pytest.param(s, marks=pytest.mark.slow) for s in [(1280, 720), (1440, 900), (1920, 1080)])],
    ids=str,
)
def test_nothing_is_cut_off_or_fetched_from_anywhere_else(page: Page, server: Server, size: tuple[int, int]) -> None:
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(urlparse(request.url).hostname or ""))
    page.set_viewport_size({"width": size[0], "height": size[1]})
    for path in (*EVERY_PAGE, "/Data?do=Add+data", "/Forecast?view=Chord", "/Forecast?layout=By+geography"):
        page.goto(f"{server.url}{path}")
        page.locator(SOMETHING).filter(visible=True).first.wait_for()
        settled(page)
        beyond = page.evaluate(
            "() => { const main = document.querySelector('[data-testid=stMain]');"
            " return [main.scrollWidth - main.clientWidth, document.documentElement.scrollWidth - innerWidth]; }"
        )
        assert max(beyond) <= 1, (path, beyond)
        assert page.evaluate(CUT) == [], path
        assert page.locator("[data-testid=stException]").count() == 0
    assert hosts and hosts <= {"localhost", "127.0.0.1", ""}


def test_errors_reach_the_browser_without_details(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/Forecast?run=../../etc/passwd&sender=%3Cscript%3Ealert(1)%3C/script%3E")
    page.locator(".stPlotlyChart").first.wait_for()
    text = page.locator("[data-testid=stMain]").inner_text()
    assert "Traceback" not in text and "File " not in text
    assert "Traceback" not in server.log()
