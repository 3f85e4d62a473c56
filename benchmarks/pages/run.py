"""How fast the pages answer, measured in a real browser while a training runs in the background.

    python benchmarks/pages/run.py            writes benchmarks/pages/results.md, in about 20 minutes
    CHANGES=6 BLANK_SECONDS=6 UPDATES=10 python benchmarks/pages/run.py     a quick look

A repaint is timed inside the browser: from the click to the first frame after the server has finished and the chart
has been drawn again. Two sets: 25 countries, 4 actions, 548 weeks; and 150 countries, 4 actions, 60 weeks.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import numpy as np
import psutil

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Page, sync_playwright  # noqa: E402

from scripts.find_browser import installed  # noqa: E402
from scripts.serve import Server  # noqa: E402
from trnn_core.data.readers.npz import read_npz, write_npz  # noqa: E402
from trnn_core.data.simulate import simulate  # noqa: E402
from trnn_core.training import jobs  # noqa: E402
from trnn_core.training.config import Recipe  # noqa: E402
from trnn_core.training.execute import train_run  # noqa: E402
from trnn_core.training.store import RunStore  # noqa: E402

CHANGES = int(os.environ.get("CHANGES", "40"))
BLANK_SECONDS = int(os.environ.get("BLANK_SECONDS", "30"))

# Waits until the script has run and two frames have been painted after it; returns milliseconds since `begin`.
REPAINTED = """begin => new Promise(done => {
  const app = document.querySelector('[data-testid=stApp]');
  let started = false;
  const look = () => {
    const running = app.dataset.testScriptState !== 'notRunning';
    started = started || running;
    if ((started && !running) || performance.now() - begin > 15000)
      requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begin)));
    else setTimeout(look, 4);
  };
  look();
})"""

# Counts frames in which the loss chart has no line, for so many milliseconds.
BLANKS = """ms => new Promise(done => {
  const begin = performance.now(); let frames = 0, blank = 0;
  const look = () => {
    frames += 1;
    if (!document.querySelector('.stPlotlyChart .scatterlayer path.js-line')) blank += 1;
    performance.now() - begin < ms ? requestAnimationFrame(look) : done([blank, frames]);
  };
  requestAnimationFrame(look);
})"""


def prepare(home: Path) -> None:
    (home / "data").mkdir(parents=True)
    shutil.copy(ROOT / "data" / "demo.npz", home / "data" / "demo.npz")
    store = RunStore(home / "runs")
    recipe = Recipe(model={"cell": "gru", "hidden_shape": (3, 3, 2)}, train={"epochs": 1})
    train_run(store, store.create(recipe, read_npz(home / "data" / "demo.npz"), run_id="small"))
    large = simulate(seed=2, n_actors=150, n_periods=60)
    write_npz(large, home / "data" / "large.npz")
    train_run(store, store.create(recipe, large, run_id="large"))
    long = Recipe(train={"epochs": 100_000})
    jobs.submit(store, long, read_npz(home / "data" / "demo.npz"), run_id="background")
    jobs.ensure_worker(store)


def repaint(page: Page, click) -> float:
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=60_000)
    page.wait_for_timeout(150)
    begin = page.evaluate("() => performance.now()")
    click()
    return float(page.evaluate(REPAINTED, begin))


def measure_changes(page: Page, url: str, run: str) -> list[float]:
    """Change the action back and forth on the forecast page."""
    page.goto(f"{url}/Forecast?run={run}")
    page.locator(".stPlotlyChart .scatterlayer").first.wait_for(timeout=120_000)
    names = ["verbal conflict", "material cooperation", "material conflict", "verbal cooperation"]
    times = []
    for i in range(CHANGES + 2):
        button = page.get_by_role("radio", name=names[i % 4]).or_(page.get_by_role("button", name=names[i % 4])).first
        times.append(repaint(page, button.click))
    return times[2:]


def measure_live(page: Page, url: str, store: RunStore) -> tuple[list[int], float]:
    page.goto(f"{url}/Train?run=background")
    page.locator(".stPlotlyChart .scatterlayer path.js-line").first.wait_for(timeout=120_000)
    page.wait_for_timeout(3000)
    blank = page.evaluate(BLANKS, BLANK_SECONDS * 1000)
    lags = []
    for _ in range(20):
        page.wait_for_timeout(500)
        shown = int(re.search(r"Epoch (\d+) of", page.locator("[data-testid=stProgress]").inner_text())[1])  # type: ignore[index]
        rows, now = store.get("background").history(), time.time()
        if len(rows) > shown:
            written = (store.root / "background" / "history.jsonl").stat().st_mtime - sum(
                r["seconds"] for r in rows[shown + 1 :]
            )
            lags.append(now - written)
    return blank, max(lags, default=0.0)


def measure_memory(page: Page, url: str, server: Server, updates: int = 1000) -> tuple[float, float]:
    """Resident memory of the server after a tenth of the updates and after all of them, in MB."""
    page.goto(f"{url}/Train?run=background")
    page.locator(".stPlotlyChart").first.wait_for(timeout=60_000)
    process, readings = psutil.Process(server.process.pid), []
    for share in (updates // 10, updates - updates // 10):
        page.wait_for_timeout(share * 1000)
        readings.append(process.memory_info().rss / 1e6)
    return readings[0], readings[1]


def main() -> None:
    updates = int(os.environ.get("UPDATES", "1000"))
    lines, chromium = [], installed()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        prepare(home)
        store = RunStore(home / "runs")
        with Server(home / "data", home / "runs") as server, sync_playwright() as p:
            browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            for run, words, median, most in (
                ("small", "25 x 25 x 4 x 548", 500, 1500),
                ("large", "150 x 150 x 4 x 60", 2000, None),
            ):
                times = measure_changes(page, server.url, run)
                told = f"{np.median(times):.0f} ms (at most {median}) | {np.percentile(times, 95):.0f} ms{f' (at most {most})' if most else ''}"
                lines.append(f"| widget change, {words}, {len(times)} changes | {told} |")
            (blank, frames), lag = measure_live(page, server.url, store)
            lines.append(f"| blank frames in {BLANK_SECONDS} s of live loss | {blank} of {frames} (0) | |")
            lines.append(f"| live loss behind the run, largest of 20 looks | {lag:.2f} s (at most 2) | |")
            early, late = measure_memory(page, server.url, server, updates)
            lines.append(
                f"| server memory after {updates // 10} and {updates} live updates | {early:.0f} MB, {late:.0f} MB | |"
            )
            browser.close()
        jobs.ask(store, "background", "cancel")
        jobs.wait(store, "background", 60)
    about = f"{date.today()}, {platform.machine()}, {os.cpu_count()} cores (load {os.getloadavg()[0]:.1f}), Python {platform.python_version()}, one training in the background"
    text = (
        f"# Latency of the pages\n\n`python benchmarks/pages/run.py` ({about})\n\n| what | median | 95th percentile |\n|---|---|---|\n"
        + "\n".join(lines)
        + "\n"
    )
    (Path(__file__).parent / "results.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
