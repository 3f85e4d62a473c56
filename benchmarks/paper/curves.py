"""Convergence curves as plain SVG, after the paper's figure 3."""

from __future__ import annotations

import math

SERIES = {"training loss": ("train_loss", "#0072B2"), "validation loss": ("val_loss", "#D55E00")}


def draw(rows: list[dict], title: str, width: int = 860, height: int = 420) -> str:
    """Training and validation loss over the epochs, both axes logarithmic."""
    left, right, top, bottom = 80, 20, 40, 50
    series = {name: s for name, s in SERIES.items() if rows[0][s[0]] is not None}
    values = [math.log10(row[key]) for row in rows for key, _ in series.values()]
    low, high, last = min(values), max(values), max(math.log10(len(rows)), 1e-9)

    def x(epoch: float) -> float:
        return left + (width - left - right) * math.log10(epoch) / last

    def y(log: float) -> float:
        return top + (height - top - bottom) * (high - log) / max(high - low, 1e-9)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{left}" y="22" font-size="14">{title}: mean squared error, min-max scale</text>',
    ]
    for i in range(6):
        log = low + (high - low) * i / 5
        parts.append(f'<line x1="{left}" x2="{width - right}" y1="{y(log):.1f}" y2="{y(log):.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 8}" y="{y(log) + 4:.1f}" text-anchor="end">{10**log:.5f}</text>')
    for epoch in [e for e in (1, 3, 10, 30, 100, 300, 1000) if e <= len(rows)]:
        parts.append(f'<text x="{x(epoch):.1f}" y="{height - bottom + 20}" text-anchor="middle">{epoch}</text>')
    middle = (left + width - right) / 2
    parts.append(f'<text x="{middle}" y="{height - 10}" text-anchor="middle">epoch (logarithmic)</text>')
    for i, (name, (key, colour)) in enumerate(series.items()):
        points = " ".join(f"{x(row['epoch']):.1f},{y(math.log10(row[key])):.1f}" for row in rows)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts.append(f'<text x="{width - right - 110}" y="{top + 16 + 18 * i}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>\n"])
