"""The Report page as the server runs it: empty, full, with fewer sections, and making a file."""

from __future__ import annotations

import io
import re
import time
import zipfile
from pathlib import PurePosixPath

import pytest
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.testing.v1 import AppTest

from trnn_core.jobs.requests import list_jobs
from trnn_core.runs.store import RunStore

REPORT = "pages/6_Report.py"


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """What the page has browsers fetch, by the names in the addresses."""
    found: dict[str, bytes] = {}
    keep = MemoryMediaFileStorage.load_and_get_id

    def noted(storage, content, *about) -> str:
        name = keep(storage, content, *about)
        found[name] = content
        return name

    monkeypatch.setattr(MemoryMediaFileStorage, "load_and_get_id", noted)
    return found


def frame(app: AppTest, served: dict[str, bytes]) -> str:
    """The preview: what stands in the page's iframe."""
    (shown,) = (e.proto for e in app.get("iframe"))
    return served[PurePosixPath(shown.src).stem].decode()


def test_without_a_run_it_says_what_to_do(bare, open_page) -> None:
    app = open_page(REPORT)
    assert not app.exception and not app.error
    assert any("train a network" in m.value for m in app.markdown)


def test_it_previews_the_report_of_the_run_in_the_link(full, open_page, served) -> None:
    app = open_page(REPORT, run="first")
    assert not app.exception and not app.error
    assert app.selectbox(key="run").value == "first"
    assert any("Simulated data" in m.value for m in app.markdown)
    preview = frame(app, served)
    assert "Largest expected changes" in preview and "First run" in preview


def test_the_preview_fetches_the_chart_library_from_beside_it(full, open_page, served) -> None:
    preview = frame(open_page(REPORT), served)
    (library,) = re.findall(r'<script src="(\w+)[.\w]*"></script>', preview)
    assert b"plotly.js v" in served[library][:200] and len(preview) < 1_000_000


def test_sections_left_out_are_left_out_and_limits_stay(full, open_page, served) -> None:
    app = open_page(REPORT)
    app.button_group(key="sections").set_value(["question", "changes"])
    app.run()
    assert not app.exception and not app.error
    preview = frame(app, served)
    assert 'id="changes"' in preview and 'id="limits"' in preview and 'id="training"' not in preview


def test_every_control_explains_itself(full, open_page) -> None:
    app = open_page(REPORT)
    controls = [*app.selectbox, *app.button, *app.button_group]
    assert len(controls) >= 4 and [c.label for c in controls if not c.help] == []


def press(app: AppTest, label: str) -> AppTest:
    next(b for b in app.button if b.label == label).click()
    return app.run()


def wait(app: AppTest, seconds: float = 120.0) -> AppTest:
    """Look again, as the page does by itself, until nothing is being made."""
    until = time.monotonic() + seconds
    while any(b.label.startswith("Stop") for b in app.button):
        assert time.monotonic() < until
        time.sleep(0.2)
        app.run()
    return app


def test_a_machine_without_browser_is_told_in_a_sentence(asked, open_page, monkeypatch) -> None:
    monkeypatch.setenv("TRNN_BROWSER", "no-such-browser")
    app = wait(press(open_page(REPORT), "Make PDF"))
    assert not app.exception
    assert "need Chromium or Chrome" in app.error[0].value
    assert any(b.label == "Make PDF" for b in app.button)  # the way on


@pytest.mark.browser
def test_a_file_is_made_beside_the_page_found_by_another_and_offered(asked, open_page) -> None:
    app = press(open_page(REPORT, run="first"), "Make PDF")
    assert any(b.label == "Stop" for b in app.button) and len(app.get("progress")) == 1
    assert any(b.label == "Stop" for b in open_page(REPORT, run="first").button)  # somebody else sees it too
    wait(app)
    assert not app.exception and not app.error
    (task,) = list_jobs(RunStore(asked / "runs"), "export")
    assert task.read("file").startswith(b"%PDF")
    assert any("Save PDF" in str(e.proto) for e in app.get("download_button"))


@pytest.mark.slow
@pytest.mark.browser
def test_what_is_being_made_can_be_stopped_and_made_after_all(asked, open_page) -> None:
    app = press(open_page(REPORT, form="Everything (ZIP)"), "Make Everything (ZIP)")
    store = RunStore(asked / "runs")
    (task,) = list_jobs(store, "export")
    while task.status().done < 0.2:  # a browser prints the PDF
        assert task.status().is_live
        time.sleep(0.05)
    press(app, "Stop")
    begun = time.monotonic()
    wait(app, 25)
    assert time.monotonic() - begun < 15 and task.status().state == "stopped" and task.files() == []
    assert any("was stopped" in i.value for i in app.info) and not app.exception and not app.error
    wait(press(app, "Make Everything (ZIP)"))
    assert zipfile.is_zipfile(io.BytesIO(task.read("file")))


def test_a_run_that_went_into_the_trash_is_not_offered(full, open_page) -> None:
    RunStore(full / "runs").delete("first")
    app = open_page(REPORT)
    assert not app.exception and any("train a network" in m.value for m in app.markdown)
