"""The pictures of this folder, taken from a real server in a real Chromium: `make screenshots`.

Every page that is there, and a few views, light and dark, at laptop size; the first screen also at the other sizes it
is meant for.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Page, sync_playwright  # noqa: E402

from scripts.find_browser import installed  # noqa: E402
from scripts.serve import Server  # noqa: E402

HERE = Path(__file__).parent
VIEWS = {  # besides each page as it opens
    "forecast-change": "/Forecast?view=Heatmap&show=Expected+change&order=Bloc",
    "forecast-map": "/Forecast?layout=By+geography&colours=By+bloc",
    "data-add": "/Data?do=Add+data",
}
DRAWN = """() => !document.querySelector('[data-testid=stSkeleton]')
  && [...document.querySelectorAll('.stPlotlyChart')].every(chart => chart.querySelector('.main-svg'))"""
SIZES = {"1440": (1440, 900), "1280": (1280, 720), "1920": (1920, 1080), "phone": (390, 844)}


def pages() -> dict[str, str]:
    """Name and address of every page that is there."""
    names = [p.stem.partition("_")[2] for p in sorted((ROOT / "pages").glob("[0-9]_*.py"))]
    return {"home": "/"} | {name.lower(): f"/{name}" for name in names} | VIEWS


def main() -> None:
    browser_path = installed()
    with tempfile.TemporaryDirectory() as runs, Server(ROOT / "data", Path(runs)) as server, sync_playwright() as p:
        backtest_demo(Path(runs))
        browser = p.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"])
        for scheme in ("light", "dark"):
            for size, (width, height) in SIZES.items():
                context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
                for name, path in pages().items():
                    if size == "1440" or (name == "home" and scheme == "light"):
                        take(context.new_page(), server.url + path, HERE / f"{name}-{scheme}-{size}.png")
                context.close()
        browser.close()


def backtest_demo(runs: Path) -> None:
    """The demo run with the backtest that the Evaluate page offers, so that the page has something to show."""
    from trnn_core.cli import main as command
    from trnn_core.runs.demo import ensure_demo

    ensure_demo(runs)
    command(["backtest", "--run", "demo", "--runs", str(runs), "--models", "network,persistence,ewma,relational_ar"])


def take(page: Page, url: str, target: Path) -> None:
    page.goto(url)
    page.locator("[data-testid=stMainBlockContainer] [data-testid=stVerticalBlock]").first.wait_for(timeout=60_000)
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=60_000)
    page.wait_for_function(DRAWN, timeout=60_000)  # charts are drawn after the script has ended
    page.wait_for_timeout(2000)
    page.screenshot(path=target)
    print(target.relative_to(ROOT), target.stat().st_size // 1024, "KiB")
    page.close()


if __name__ == "__main__":
    main()
