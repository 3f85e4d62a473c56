"""Words can be read on both sides of the theme: WCAG's 4.5 to 1 for words, 3 to 1 for frames and marks."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
THEME = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]


def rgb(colour: str) -> tuple[float, ...]:
    return tuple(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))


def brightness(colour: tuple[float, ...]) -> float:
    r, g, b = (x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in colour)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    """
    >>> round(contrast(rgb("#000000"), rgb("#FFFFFF")), 6)
    21.0
    """
    dim, bright = sorted((brightness(a), brightness(b)))
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("side", ["light", "dark"])
def test_words_and_marks_stand_out_from_their_ground(side) -> None:
    theme = {name: rgb(colour) for name, colour in THEME[side].items()}
    primary, ink = theme["primaryColor"], theme["textColor"]
    for ground in (theme["backgroundColor"], theme["secondaryBackgroundColor"]):
        pressed = tuple(0.1 * p + 0.9 * g for p, g in zip(primary, ground, strict=True))  # as Streamlit tints it
        assert contrast(ink, ground) >= 4.5 and contrast(ink, pressed) >= 4.5
        assert contrast(theme.get("linkColor", primary), ground) >= 4.5
        assert contrast(primary, ground) >= 3
    assert contrast(rgb("#FFFFFF"), primary) >= 4.5  # primary buttons


def test_a_pressed_segment_is_written_in_ink() -> None:
    rule = re.search(r'aria-checked="true"\] \{([^}]*)\}', (ROOT / "ui" / "style.css").read_text(encoding="utf-8"))
    assert rule and "color: inherit !important" in rule[1]
