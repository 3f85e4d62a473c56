"""Whether a 250 x 250 heatmap stays smooth, in a real Chromium: first drawing, another action, and
the pointer's way.

    python benchmarks/scale/smooth.py [--actors 250] [--changes 20]

The page is Data, on a simulated set of twenty CAMEO roots. A change is timed as in `benchmarks/pages`: from the press of
the mouse to the second frame after the server has finished and the chart shows its new title. While the pointer goes
across the matrix every frame is noted: at 60 frames a second one lasts 17 ms, and a hand feels one of 100.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT)]

from playwright.sync_api import Page, sync_playwright  # noqa: E402
from sets import large_set  # noqa: E402

from benchmarks.pages.run import REPAINTED, WATCH, rest  # noqa: E402
from scripts.find_browser import installed  # noqa: E402
from scripts.serve import Server  # noqa: E402
from trnn_core.data.readers.npz import write_npz  # noqa: E402

CHART = ".stPlotlyChart:has(.heatmaplayer)"
# Milliseconds: the limit of the pages' benchmark for many actors, and what a hand feels.
LIMITS = {"another action": 2000, "frames while the pointer moves": 100, "pointer on a cell until its label": 100}

# Notes the length of every frame, and how long after a movement of the pointer the label of a cell is there.
FRAMES = """chart => {
  window.frames = []; window.labels = [];
  let last = performance.now(), moved = null, on = true;
  const look = () => { const now = performance.now(); frames.push(now - last); last = now; if (on) requestAnimationFrame(look); };
  requestAnimationFrame(look);
  addEventListener('mousemove', () => { moved = performance.now(); }, true);
  const layer = document.querySelector(chart + ' .hoverlayer');
  new MutationObserver(() => { if (moved && layer.childElementCount) { labels.push(performance.now() - moved); moved = null; } })
    .observe(layer, {childList: true, subtree: true});
  window.enough = () => { on = false; return [frames.slice(2), labels]; };
}"""


def across(page: Page, steps: int) -> tuple[list[float], list[float]]:
    """The pointer goes along diagonals of the matrix: length of each frame, and the wait for each label."""
    box = page.locator(f"{CHART} .heatmaplayer").first.bounding_box()
    assert box is not None
    page.evaluate(FRAMES, CHART)
    for n in range(steps):
        share = (n * 7 % steps) / steps if n % 40 == 0 else n / steps  # mostly to a neighbour, now and then far away
        page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] * (share**1.2))
        page.wait_for_timeout(16)
    frames, labels = page.evaluate("enough()")
    return frames, labels


def changes(page: Page, actions: list[str], n: int) -> list[float]:
    """Choose other actions, milliseconds each; the first two warm up."""
    page.evaluate(WATCH)
    times = []
    for i in range(n + 2):
        name = actions[(7 * i + 3) % len(actions)]
        button = page.get_by_role("radio", name=name).or_(page.get_by_role("button", name=name)).first
        rest(page)
        button.click()
        times.append(float(page.evaluate(REPAINTED, f"Observed {name}")))
    return times[2:]


def smooth(actors: int, n_changes: int) -> list[dict[str, object]]:
    """One row per thing measured: what, how often, median, 95th percentile and largest, milliseconds."""
    series = large_set(actors, 60)
    rows: list[dict[str, object]] = []

    def add(what: str, times: list[float]) -> None:
        rows.append(
            {
                "what": what,
                "n": len(times),
                "median": float(np.median(times)),
                "p95": float(np.percentile(times, 95)),
                "largest": max(times),
            }
        )
        print({k: round(v) if isinstance(v, float) else v for k, v in rows[-1].items()}, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        data, runs = Path(folder) / "data", Path(folder) / "runs"
        data.mkdir()
        write_npz(series, data / "large.npz")
        with Server(data, runs) as server, sync_playwright() as p:
            browser = p.chromium.launch(executable_path=installed(), args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            for _ in range(2):  # the second time the server has read the set
                began = time.perf_counter()
                page.goto(f"{server.url}/Data?data=large&data_view=Heatmap")
                page.locator(f"{CHART} .heatmaplayer image").first.wait_for(timeout=120_000)
                first = 1000 * (time.perf_counter() - began)
            add("page opened until the matrix is there", [first])
            add("another action", changes(page, list(series.actions), n_changes))
            rest(page)
            frames, labels = across(page, 300)
            add("frames while the pointer moves", frames)
            add("pointer on a cell until its label", labels)
            browser.close()
    return rows


def words(rows: list[dict[str, object]]) -> list[str]:
    lines = ["Simulated, 20 actions, page Data; milliseconds, server and browser on the same machine.", ""]
    lines += ["| what | how often | median | 95 % below | largest | at most |", "|---|---|---|---|---|---|"]
    return lines + [
        f"| {r['what']} | {r['n']} | {r['median']:.0f} | {r['p95']:.0f} | {r['largest']:.0f} | {LIMITS.get(str(r['what']), '')} |"
        for r in rows
    ]


def is_smooth(rows: list[dict[str, object]]) -> bool:
    """Whether 95 of 100 keep their limit."""
    return all(float(r["p95"]) <= LIMITS.get(str(r["what"]), float("inf")) for r in rows)  # type: ignore[arg-type]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actors", type=int, default=250)
    parser.add_argument("--changes", type=int, default=20)
    args = parser.parse_args()
    smooth(args.actors, args.changes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
