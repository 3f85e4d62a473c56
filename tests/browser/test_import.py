"""Bringing one's own data, and what happens to files that are none."""

from __future__ import annotations

import io
import random
import re
import time
import zipfile
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from scripts.serve import Server
from tests.browser.test_stories import settled, train_and_see
from trnn_core.data.readers.npz import read_npz
from trnn_core.runs.store import RunStore

NAMES = ["France", "Germany", "Untied States", "Korea, South", "Ruritania"]


def own_csv(weeks: int = 60) -> bytes:
    rng = random.Random(1)
    rows = ["Week,Sender,Receiver,action,n"]
    for t in range(weeks):
        day = date(2020, 1, 6) + timedelta(days=7 * t)
        for a in NAMES:
            rows += [f'{day},"{a}","{b}",{k},{rng.randint(0, 5)}' for b in NAMES if b != a for k in ("talk", "fight")]
    return "\n".join(rows).encode()


def upload(page: Page, server: Server, name: str, content: bytes) -> None:
    page.goto(server.url)
    page.get_by_role("link", name="bring your own").click()
    page.locator("input[type=file]").set_input_files(
        {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    )


def test_own_table_with_unknown_countries_reconciled_trained_and_forecast(page: Page, server: Server) -> None:
    upload(page, server, "my events.csv", own_csv())
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_text("Actor not recognised").first.wait_for()
    write_in_table(page, row=0, text="United States")
    page.get_by_role("button", name="Apply and import again").click()
    page.wait_for_timeout(500)
    settled(page)
    expect(page.get_by_text("'Ruritania'")).to_have_count(1)
    expect(page.get_by_text("'Untied States'")).to_have_count(0)
    page.get_by_role("button", name="Save and train on it").click()
    page.get_by_role("button", name="Start training").wait_for()
    series = read_npz(server.data / "my events.npz")
    assert set(series.actors) == {"France", "Germany", "United States", "South Korea", "Ruritania"}
    settled(page)
    assert "data=my+events" in page.url or "data=my%20events" in page.url
    train_and_see(page)
    page.locator(".stPlotlyChart", has_text="Expected fight").wait_for()
    newest = RunStore(server.runs).runs()[0]
    assert newest.config["data"]["fingerprint"] == series.fingerprint


def test_six_clicks_and_two_minutes_from_ones_own_file_to_its_forecast(
    page: Page, server: Server, tmp_path: Path
) -> None:
    file, begun, clicks = tmp_path / "six clicks.csv", time.monotonic(), 0
    file.write_bytes(own_csv().replace(b"Ruritania", b"Brazil").replace(b"Untied States", b"Japan"))
    page.goto(server.url)
    for role, name in (
        ("link", "bring your own"),
        ("button", "Upload"),
        ("button", "Import"),
        ("button", "Save and train on it"),
        ("button", "Start training"),
        ("link", "See the forecast"),
    ):
        target = page.get_by_role(role, name=name, exact=name in ("Import", "Upload")).first  # type: ignore[arg-type]
        target.wait_for()
        clicks += 1
        if name == "Upload":
            with page.expect_file_chooser() as chooser:
                target.click()
            chooser.value.set_files(file)
        elif name == "See the forecast":  # of the run just started, not of one that stood there before
            page.get_by_role("heading", name=re.compile("finished")).wait_for()
            settled(page)
            target.click()
        elif name == "Start training":
            settled(page)
            target.click()
            page.get_by_role("button", name="Stop and keep").wait_for()
        else:
            target.click()
    page.locator(".stPlotlyChart", has_text="Expected fight").wait_for()
    assert clicks <= 6 and time.monotonic() - begun < 120
    newest = RunStore(server.runs).runs()[0]
    assert newest.config["data"]["fingerprint"] == read_npz(server.data / "six clicks.npz").fingerprint


def test_an_import_is_there_again_after_a_reload(page: Page, server: Server) -> None:
    upload(page, server, "many rows.csv", own_csv(weeks=1500))
    page.get_by_role("button", name="Import", exact=True).click()
    stop = page.get_by_role("button", name="Stop the import")
    done = page.get_by_role("button", name="Save and train on it")
    stop.or_(done).first.wait_for()
    settled(page)
    assert "import=import-" in page.evaluate("location.href")
    page.reload()  # the files are gone from the form, the import is not
    stop.or_(done).first.wait_for()
    done.wait_for()
    expect(page.get_by_text("1,500 weeks").first).to_be_visible()


def write_in_table(page: Page, row: int, text: str) -> None:
    """Type into the last column of the table of names, as a person would."""
    grid = page.get_by_test_id("stDataFrame").filter(has=page.locator("canvas")).last
    grid.scroll_into_view_if_needed()
    box = grid.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] - 40, box["y"] + 35 * (row + 1) + 17)
    page.keyboard.press("Enter")
    page.wait_for_timeout(400)
    page.keyboard.type(text, delay=15)
    page.keyboard.press("Enter")
    settled(page)


def bomb() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("events.csv", b"0" * (256 * 2**20))
    return buffer.getvalue()


def pickled() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, values=np.array([{"a": 1}], dtype=object))
    return buffer.getvalue()


BAD = {
    "empty.csv": b"",
    "no-header.csv": b"hello world\nnothing here\n",
    "short-row.csv": b"date,source,target,value\n2020-01-06,France,Germany,1\n2020-01-13,France\n",
    "bad-date.csv": b"date,source,target,value\n2020-13-45,France,Germany,1\n",
    "noise.parquet": b"PAR1" + bytes(range(256)) * 4,
    "noise.npz": b"PK\x03\x04" + bytes(range(256)) * 4,
    "objects.npz": pickled(),
    "bomb.zip": bomb(),
}


MORE = ("no-header.csv", "short-row.csv", "noise.parquet", "noise.npz")  # the readers' own tests have them too


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in MORE else n for n in BAD])
def test_a_malformed_file_gets_a_sentence(name: str, page: Page, server: Server, tmp_path: Path) -> None:
    upload(page, server, name, BAD[name])
    button = page.get_by_role("button", name="Import", exact=True)
    alert = page.locator("[data-testid=stAlertContentError]")
    button.or_(alert).first.wait_for()
    settled(page)
    if not alert.count():
        button.click()
    alert.first.wait_for()
    text = alert.first.inner_text()
    assert len(text) > 20 and "Traceback" not in text and "Something went wrong" not in text, text
    assert page.locator("[data-testid=stException]").count() == 0
