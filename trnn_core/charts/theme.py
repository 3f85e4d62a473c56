"""Colours that colour-blind readers can tell apart, and names and numbers as labels.

Changes use one symmetric scale, blue for less and vermilion for more, with the page's own background in the middle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

FONT = '"Source Sans", "Source Sans 3", "Source Sans Pro", "Segoe UI", Helvetica, Arial, sans-serif'

# Okabe and Ito's palette, in an order that keeps neighbours apart.
LINES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A7A7A", "#A6761D")
LINES_DARK = ("#6CB4EE", "#FF8A4C", "#35C79A", "#E7A3CC", "#F4BF4F", "#A5D8F7", "#B8C0C8", "#D9B26A")

MORE, LESS = "#D55E00", "#0072B2"


@dataclass(frozen=True)
class Palette:
    """The colours of one side of the theme."""

    ink: str
    faint: str
    grid: str
    ground: str
    node: str
    lines: tuple[str, ...]
    counts: tuple[str, ...]  # from nothing to much
    changes: tuple[str, ...]  # from less to more, the middle is the ground


LIGHT = Palette(
    ink="#1C2733",
    faint="#5B6B7A",
    grid="#E4EAF0",
    ground="#FFFFFF",
    node="#1B5E8C",
    lines=LINES,
    counts=("#F4F7FA", "#CFE1EF", "#8FBBDC", "#4A90C2", "#1B5E8C", "#0B2F52"),
    changes=("#08519C", "#3C86C2", "#9CC7E4", "#F7F8F9", "#F7B98A", "#E07B35", "#A63A00"),
)
DARK = Palette(
    ink="#E6EDF3",
    faint="#9FB0C0",
    grid="#273341",
    ground="#0F1620",
    node="#6CB4EE",
    lines=LINES_DARK,
    counts=("#15202C", "#1D3A57", "#2563A0", "#3C93DB", "#8CCBFA", "#F0F8FF"),
    changes=("#8CCBFA", "#3C93DB", "#1F4E7E", "#17212C", "#7A3A12", "#E07B35", "#FFC79C"),
)


def palette(dark: bool) -> Palette:
    return DARK if dark else LIGHT


def scale(colours: tuple[str, ...]) -> list[list[float | str]]:
    """Equal steps, as plotly wants its colour scales."""
    return [[i / (len(colours) - 1), c] for i, c in enumerate(colours)]


def colour_at(colours: tuple[str, ...], share: float) -> str:
    """The colour at a share from 0 to 1 of the scale, as rgb text.

    >>> colour_at(("#000000", "#FFFFFF"), 0.5)
    'rgb(128,128,128)'
    """
    place = min(max(share, 0.0), 1.0) * (len(colours) - 1)
    low = min(int(place), len(colours) - 2)
    a, b = (np.array([int(c[i : i + 2], 16) for i in (1, 3, 5)]) for c in colours[low : low + 2])
    r, g, b_ = np.round(a + (b - a) * (place - low)).astype(int)
    return f"rgb({r},{g},{b_})"


def fade(colour: str, opacity: float) -> str:
    """The same colour, see-through.

    >>> fade("#0072B2", 0.2)
    'rgba(0,114,178,0.2)'
    """
    r, g, b = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({r},{g},{b},{opacity:g})"


def plain(text: str) -> str:
    """Names are shown as they stand: plotly would read tags in them."""
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def short(name: str, length: int = 22) -> str:
    """A name for a label; the whole of it is told where the pointer is."""
    return name if len(name) <= length else name[: length - 1] + "…"


def number(x: float, signed: bool = False) -> str:
    """A figure for a label: short, no false precision.

    >>> [number(x) for x in (0.0, 0.34, 4.0, 4.26, 31.7, 1234.5)]
    ['0', '0.34', '4', '4.3', '32', '1,234']
    >>> number(2.26, signed=True)
    '+2.3'
    """
    if not math.isfinite(x):
        return "not observed"
    sign = "+" if signed and x > 0 else ""
    if x == 0:
        return "0"
    size = abs(x)
    if size < 0.005:
        return f"{sign}{x:.1g}"
    digits = 0 if size >= 10 or float(x).is_integer() else 2 if size < 1 else 1
    return f"{sign}{x:,.{digits}f}"


def count_ticks(largest: float) -> tuple[list[float], list[str]]:
    """Round counts up to the largest, placed on a log1p scale."""
    steps = [0, 1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 1_000_000]
    shown = [s for s in steps if s <= max(largest, 1)]
    return [math.log1p(s) for s in shown], [f"{s:,}" for s in shown]
