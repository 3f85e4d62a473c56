"""A run becomes something to pass on: choose sections, look at the preview, save the report, make and save the PDF."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from lxml import html as lxml_html
from playwright.sync_api import Page, expect
from pypdf import PdfReader

from scripts.serve import Server
from tests.browser.conftest import WAIT
from trnn_core.jobs.requests import list_jobs
from trnn_core.runs.store import RunStore


def save(page: Page, button: str, path: Path) -> bytes:
    with page.expect_download(timeout=WAIT) as caught:
        page.get_by_role("button", name=button).click()
    caught.value.save_as(path)
    return path.read_bytes()


def test_preview_choose_sections_and_take_the_report_away(page: Page, server: Server, tmp_path: Path) -> None:
    page.goto(f"{server.url}/Report?run=first")
    preview = page.frame_locator("iframe[title='Preview of the report']")
    expect(preview.locator("#training h2")).to_be_visible(timeout=WAIT)
    expect(preview.locator("#training .main-svg").first).to_be_visible()
    page.get_by_role("button", name="How it was trained").click()
    expect(preview.locator("#training")).to_have_count(0, timeout=WAIT)
    expect(preview.locator("#limits h2")).to_have_count(1)

    tree = lxml_html.document_fromstring(save(page, "Report (HTML)", tmp_path / "r.html").decode())
    assert "training" not in tree.xpath("//section/@id") and "forecast" in tree.xpath("//section/@id")

    page.get_by_role("button", name="Make PDF").click()
    page.get_by_role("button", name="Save PDF").wait_for(timeout=2 * WAIT)
    reader = PdfReader(io.BytesIO(save(page, "Save PDF", tmp_path / "r.pdf")))
    texts = [p.extract_text() for p in reader.pages]
    assert all("SIMULATED DATA" in text for text in texts) and not any("How it was trained" in text for text in texts)


@pytest.mark.slow
def test_a_file_at_work_is_found_again_after_a_reload_and_can_be_stopped(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/Report?run=first&form=Everything+%28ZIP%29")
    page.get_by_role("button", name="Make Everything (ZIP)").click()
    stop = page.get_by_role("button", name="Stop")
    stop.wait_for()
    page.reload()
    stop.click()
    page.get_by_text("Making Everything (ZIP) was stopped; nothing was kept.").wait_for()
    assert list_jobs(RunStore(server.runs), "export", "first")[0].status().state == "stopped"
    page.get_by_role("button", name="Make Everything (ZIP)").wait_for()
    expect(page.frame_locator("iframe[title='Preview of the report']").locator("#limits h2")).to_have_count(1)
