"""How fast the pages answer, measured in a real browser while a training runs in the background.

    python benchmarks/pages/run.py            writes benchmarks/pages/results.md, in about six minutes
    python benchmarks/pages/run.py --quick    a look of about two minutes; prints only

A repaint is timed inside the browser: from the press of the mouse to the second frame after the server has finished
and the chart shows its new title. Two sets: 25 countries, 4 actions, 548 weeks; and 150 countries, 4 actions, 60 weeks.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import psutil

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser, Page, sync_playwright  # noqa: E402

from scripts.find_browser import installed  # noqa: E402
from scripts.serve import Server  # noqa: E402
from trnn_core.data.readers.npz import read_npz, write_npz  # noqa: E402
from trnn_core.data.simulation import simulate  # noqa: E402
from trnn_core.jobs import queue  # noqa: E402
from trnn_core.runs.execute import train_run  # noqa: E402
from trnn_core.runs.store import RunStore  # noqa: E402
from trnn_core.training.config import Recipe  # noqa: E402

ACTIONS = ["verbal conflict", "material cooperation", "material conflict", "verbal cooperation"]
CURVE = ".stVegaLiteChart svg .mark-line path"

# Notes when the mouse is pressed, when a script starts and when it ends; counts the ends.
WATCH = """() => {
  const app = document.querySelector('[data-testid=stApp]');
  window.seen = {ends: 0};
  addEventListener('pointerdown', () => { seen.press = performance.now(); seen.start = seen.end = null; }, true);
  new MutationObserver(() => {
    if (app.dataset.testScriptState === 'notRunning') { seen.ends += 1; if (seen.start) seen.end = performance.now(); }
    else if (!seen.start) { seen.start = performance.now(); seen.end = null; }
    else seen.end = null;
  }).observe(app, {attributes: true, attributeFilter: ['data-test-script-state']});
}"""

# Milliseconds from the press until the script has ended, the title is there, and two frames have been painted.
REPAINTED = """title => new Promise(done => {
  const shown = () => [...document.querySelectorAll('.stPlotlyChart .gtitle')].some(e => e.textContent.includes(title));
  const look = () => {
    if ((seen.end && shown()) || performance.now() - seen.press > 20000)
      requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - seen.press)));
    else setTimeout(look, 4);
  };
  look();
})"""

# Counts frames in which the loss chart has no line, for so many milliseconds.
BLANKS = """([ms, curve]) => new Promise(done => {
  const begin = performance.now(); let frames = 0, blank = 0;
  const look = () => {
    frames += 1;
    const line = document.querySelector(curve);
    if (!line || (line.getAttribute('d') || '').length < 10 || line.getBoundingClientRect().width < 1) blank += 1;
    performance.now() - begin < ms ? requestAnimationFrame(look) : done([blank, frames]);
  };
  requestAnimationFrame(look);
})"""


@dataclass(frozen=True)
class Plan:
    """How long to look."""

    changes: int
    blank_seconds: int
    updates: int
    sessions: int
    write: bool


FULL, QUICK = Plan(40, 30, 1000, 8, True), Plan(10, 8, 60, 3, False)


def prepare(home: Path) -> None:
    """Both sets with a trained run each, and a training in the background that outlasts the measurement."""
    (home / "data").mkdir(parents=True)
    shutil.copy(ROOT / "data" / "demo.npz", home / "data" / "demo.npz")
    store = RunStore(home / "runs")
    recipe = Recipe(model={"cell": "gru", "hidden_shape": (3, 3, 2)}, train={"epochs": 1})
    demo = read_npz(home / "data" / "demo.npz")
    train_run(store, store.create(recipe, demo, run_id="small"))
    large = simulate(seed=2, n_actors=150, n_periods=60)
    write_npz(large, home / "data" / "large.npz")
    train_run(store, store.create(recipe, large, run_id="large"))
    store.submit(Recipe(train={"epochs": 100_000}), demo, run_id="background")
    queue.ensure_worker(store)


def rest(page: Page) -> None:
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=60_000)
    page.wait_for_timeout(250)


def measure_changes(page: Page, url: str, run: str, view: str, changes: int) -> list[float]:
    """Change the action round and round on the forecast page, milliseconds each; the first two warm up."""
    page.goto(f"{url}/Forecast?run={run}&view={view}")
    page.locator(".stPlotlyChart .gtitle").first.wait_for(timeout=120_000)
    rest(page)
    page.evaluate(WATCH)
    times = []
    for i in range(changes + 2):
        name = ACTIONS[i % 4]
        button = page.get_by_role("radio", name=name).or_(page.get_by_role("button", name=name)).first
        rest(page)
        button.click()
        times.append(float(page.evaluate(REPAINTED, f"Expected {name}")))
    return times[2:]


def measure_live(page: Page, url: str, store: RunStore, seconds: int) -> tuple[list[int], float]:
    """Blank frames, and how far the epoch on the page is behind the run, at the worst of many looks."""
    page.goto(f"{url}/Train?run=background")
    page.locator(CURVE).first.wait_for(timeout=120_000)
    page.wait_for_timeout(3000)
    blank = page.evaluate(BLANKS, [seconds * 1000, CURVE])
    lags = []
    for _ in range(20):
        page.wait_for_timeout(430)
        shown = int(re.search(r"Epoch (\d+) of", page.locator("[data-testid=stProgress]").inner_text())[1])  # type: ignore[index]
        rows, now = store.get("background").history(), time.time()
        if len(rows) > shown:  # since when the next epoch could have been shown
            newest = (store.root / "background" / "history.jsonl").stat().st_mtime
            lags.append(now - (newest - sum(r["seconds"] for r in rows[shown + 1 :])))
    return blank, max(lags, default=0.0)


def measure_memory(browser: Browser, url: str, server: Server, plan: Plan) -> tuple[list[tuple[int, float]], float]:
    """Resident memory of the server (MB) after each tenth of the updates, seen by several browsers at once."""
    pages = [browser.new_context(viewport={"width": 1280, "height": 720}).new_page() for _ in range(plan.sessions)]
    for page in pages:
        page.goto(f"{url}/Train?run=background")
        page.locator(CURVE).first.wait_for(timeout=120_000)
        page.evaluate(WATCH)
    process, readings, begin = psutil.Process(server.process.pid), [], time.monotonic()
    while (done := sum(page.evaluate("seen.ends") for page in pages)) < plan.updates:
        if done >= plan.updates / 10 * (len(readings) + 1):
            readings.append((done, process.memory_info().rss / 1e6))
        if time.monotonic() - begin > 3 * plan.updates / plan.sessions + 30:
            break
        time.sleep(0.5)
    readings.append((done, process.memory_info().rss / 1e6))
    for page in pages:
        page.context.close()
    return readings, time.monotonic() - begin


def measure(home: Path, plan: Plan) -> list[str]:
    lines, store = [], RunStore(home / "runs")
    with Server(home / "data", home / "runs") as server, sync_playwright() as p:
        browser = p.chromium.launch(executable_path=installed(), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        for run, view, words, median, most in (
            ("small", "Network", "25 x 25 x 4 x 548, network", 500, 1500),
            ("small", "Heatmap", "25 x 25 x 4 x 548, heatmap", 500, 1500),
            ("large", "Network", "150 x 150 x 4 x 60, network", 2000, 2000),
            ("large", "Heatmap", "150 x 150 x 4 x 60, heatmap", 2000, 2000),
        ):
            times = measure_changes(page, server.url, run, view, plan.changes // (1 if run == "small" else 2))
            told = f"{np.median(times):.0f} ms (at most {median}) | {np.percentile(times, 95):.0f} ms (at most {most})"
            lines.append(f"| widget change, {words}, {len(times)} changes | {told} |")
        (blank, frames), lag = measure_live(page, server.url, store, plan.blank_seconds)
        lines.append(f"| blank frames in {plan.blank_seconds} s of live loss | {blank} of {frames} (0) | |")
        lines.append(f"| live loss behind the run, largest of 20 looks | {lag:.2f} s (at most 2) | |")
        page.close()
        readings, seconds = measure_memory(browser, server.url, server, plan)
        first, last = readings[0], readings[-1]
        lines.append(
            f"| server memory after {first[0]} and {last[0]} live updates ({plan.sessions} browsers, {seconds:.0f} s) | "
            f"{first[1]:.0f} MB, {last[1]:.0f} MB ({last[1] - first[1]:+.0f} MB; flat) | |"
        )
        lines.append(f"| on the way | {', '.join(f'{mb:.0f}' for _, mb in readings)} MB | |")
        browser.close()
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer of everything; prints the table, writes nothing")
    plan = QUICK if parser.parse_args().quick else FULL
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        prepare(home)
        try:
            lines = measure(home, plan)
        finally:
            store = RunStore(home / "runs")
            store.get("background").ask("cancel")
            store.get("background").wait(60)
    about = f"{date.today()}, {platform.machine()}, {os.cpu_count()} cores (load {os.getloadavg()[0]:.1f}), Python {platform.python_version()}, one training in the background"
    text = f"# Latency of the pages\n\n`python benchmarks/pages/run.py{'' if plan.write else ' --quick'}` ({about})\n\n"
    text += "| what | median | 95th percentile |\n|---|---|---|\n" + "\n".join(lines) + "\n"
    if plan.write:
        (Path(__file__).parent / "results.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
