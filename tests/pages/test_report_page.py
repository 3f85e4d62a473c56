"""The Report page as the server runs it: empty, full, with fewer sections, and making a file."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from trnn_core.training.store import RunStore

REPORT = "pages/6_Report.py"


def frame(app: AppTest) -> str:
    """The preview: what stands in the page's iframe."""
    found = [e.proto for e in app.main if getattr(e, "type", "") == "iframe"] or [e.proto for e in app.get("iframe")]
    return str(found[0])


def test_without_a_run_it_says_what_to_do(bare, open_page) -> None:
    app = open_page(REPORT)
    assert not app.exception and not app.error
    assert any("train a network" in m.value for m in app.markdown)


def test_it_previews_the_report_of_the_run_in_the_link(full, open_page) -> None:
    app = open_page(REPORT, run="first")
    assert not app.exception and not app.error
    assert app.selectbox(key="run").value == "first"
    assert any("Simulated data" in m.value for m in app.markdown)
    preview = frame(app)
    assert "Largest expected changes" in preview and "First run" in preview


def test_sections_left_out_are_left_out_and_limits_stay(full, open_page) -> None:
    app = open_page(REPORT)
    app.button_group(key="sections").set_value(["question", "changes"])
    app.run()
    assert not app.exception and not app.error
    preview = frame(app)
    assert 'id=\\"changes\\"' in preview and 'id=\\"limits\\"' in preview and 'id=\\"training\\"' not in preview


def test_every_control_explains_itself(full, open_page) -> None:
    app = open_page(REPORT)
    controls = [*app.selectbox, *app.button, *app.button_group]
    assert len(controls) >= 4 and [c.label for c in controls if not c.help] == []


def test_a_machine_without_browser_is_told_in_a_sentence(full, open_page, monkeypatch) -> None:
    monkeypatch.setenv("TRNN_BROWSER", "no-such-browser")
    app = open_page(REPORT)
    next(b for b in app.button if b.label == "Make PDF").click()
    app.run()
    assert not app.exception
    assert "need Chromium or Chrome" in app.error[0].value


@pytest.mark.browser
def test_a_file_is_made_with_progress_and_then_offered(full, open_page) -> None:
    app = open_page(REPORT)
    next(b for b in app.button if b.label == "Make PDF").click()
    app.run(timeout=120)
    assert not app.exception and not app.error
    assert app.session_state["made"][1].startswith(b"%PDF")
    assert any("Save PDF" in str(e.proto) for e in app.get("download_button"))


def test_a_run_that_went_into_the_trash_is_not_offered(full, open_page) -> None:
    RunStore(full / "runs").delete("first")
    app = open_page(REPORT)
    assert not app.exception and any("train a network" in m.value for m in app.markdown)
