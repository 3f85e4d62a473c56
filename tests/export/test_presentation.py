"""Presentation mode in a real browser: large, moved by keyboard, a link that opens the same view, nothing else in sight."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.export.conftest import NASTY
from trnn_core.charts.theme import short
from trnn_core.errors import TRNNError
from trnn_core.export.material import Material
from trnn_core.export.presentation import presentation

# Where the nodes stand: the points of the last trace.
PLACES = "[...document.querySelectorAll('#network .scatterlayer .trace:last-child .points path')].map(p => p.getAttribute('transform'))"


def test_too_many_periods_are_refused(material: Material) -> None:
    with pytest.raises(TRNNError, match=r"from 1 to 200 observed periods\. Got 0 instead"):
        presentation(material, last=0)


@pytest.mark.browser
def test_the_keyboard_moves_through_weeks_and_actions_and_a_link_opens_the_same(
    chromium: Browser, material: Material, tmp_path: Path
) -> None:
    path = tmp_path / "p.html"
    path.write_text(presentation(material, last=3), encoding="utf-8")
    dates, actions = material.forecast.dates, material.forecast.actions
    window = chromium.new_page(viewport={"width": 1920, "height": 1080})
    errors: list[str] = []
    window.on("pageerror", lambda e: errors.append(str(e)))
    window.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    window.goto(path.as_uri())
    assert window.inner_text("#when") == f"expected, week of {dates[0]}"
    assert window.inner_text("#what").lower() == actions[0] and window.inner_text(".mark") == "SIMULATED DATA"
    before = window.evaluate(PLACES)
    window.keyboard.press("ArrowRight")
    window.keyboard.press("ArrowDown")
    assert window.inner_text("#when") == f"expected, week of {dates[1]}"
    assert window.inner_text("#what").lower() == actions[1]
    assert window.evaluate(PLACES) == before and len(before) == len(NASTY)  # every country stays where it is
    window.keyboard.press("Home")
    window.keyboard.press("ArrowLeft")  # at the first week there is no earlier one
    assert window.inner_text("#when") == f"observed, week of {material.series.dates[-3]}"
    link = window.url
    other = chromium.new_page(viewport={"width": 1280, "height": 720})
    other.goto(link)
    assert other.inner_text("#when") == window.inner_text("#when")
    assert other.inner_text("#what") == window.inner_text("#what")
    size = other.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    assert size == [1280, 720]  # nothing to scroll
    assert other.locator("button, input, select, .modebar").count() == 0
    shown = [t.replace("\xa0", " ") for t in other.locator("#network text").all_text_contents()]
    assert {short(name) for name in NASTY} <= set(shown) and other.evaluate("window.hacked") is None
    window.close()
    assert errors == []
