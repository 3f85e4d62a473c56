"""Actors where their countries lie: a frame of longitudes and latitudes around them, without outlines or borders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trnn_core.data.places import place_of

LEAST = 20.0  # degrees; a frame is at least this wide and tall
STEPS = (5.0, 10.0, 15.0, 30.0, 60.0)
FLOOR = -0.7  # below this height stand actors that are no countries


@dataclass(frozen=True)
class MapFrame:
    """Degrees to places from -1 to 1. Empty stretches are drawn shorter, so that far neighbours do not crowd the rest:
    each scale goes half by degrees and half by how many actors there are on the way."""

    longitudes: tuple[tuple[float, float], ...]  # (degrees, place), both rising
    latitudes: tuple[tuple[float, float], ...]

    def x(self, longitude: float) -> float:
        return _along(self.longitudes, longitude)

    def y(self, latitude: float) -> float:
        return _along(self.latitudes, latitude)

    def meridians(self) -> list[tuple[float, str]]:
        """Place and name of the lines to draw."""
        return [(self.x(d), _degrees(d, "E", "W")) for d in _round_degrees(self.longitudes)]

    def parallels(self) -> list[tuple[float, str]]:
        return [(self.y(d), _degrees(d, "N", "S")) for d in _round_degrees(self.latitudes)]


def map_frame(actors: Sequence[str]) -> MapFrame | None:
    """The frame that holds all actors that are countries; None when none is."""
    known = np.array([p for a in actors if (p := place_of(a)) is not None])
    if not len(known):
        return None
    floor = -1.0 if len(known) == len(actors) else FLOOR
    return MapFrame(_scale(known[:, 1], -1.0), _scale(known[:, 0], floor))


def _along(scale: tuple[tuple[float, float], ...], degrees: float) -> float:
    return float(np.interp(degrees, [d for d, _ in scale], [p for _, p in scale]))


def _scale(degrees: np.ndarray, floor: float) -> tuple[tuple[float, float], ...]:
    at = np.unique(degrees)
    spare = max(LEAST - (at[-1] - at[0]), 0) / 2
    at = np.unique(np.concatenate([[at[0] - spare], at, [at[-1] + spare]]))
    share = (at - at[0]) / (at[-1] - at[0])
    rank = np.searchsorted(np.sort(degrees), at, side="right") / len(degrees)
    rank = (rank - rank[0]) / max(rank[-1] - rank[0], 1e-12)
    places = floor + (1 - floor) * (share + rank) / 2
    return tuple((float(d), float(p)) for d, p in zip(at, places, strict=True))


def place_on_map(actors: Sequence[str]) -> np.ndarray:
    """(N, 2) within [-1, 1]: east is right, north is up; near neighbours a little apart so that each can be read.

    Actors that are no countries stand in a row at the foot of the map.
    """
    frame = map_frame(actors)
    found = [place_of(a) for a in actors]
    strange = [i for i, p in enumerate(found) if p is None]
    places = np.empty((len(actors), 2))
    for i, p in enumerate(found):
        if p is not None and frame is not None:
            places[i] = frame.x(p[1]), frame.y(p[0])
    for place, i in enumerate(strange):
        places[i] = 2 * (place + 0.5) / len(strange) - 1, -1.0
    known = [i for i, p in enumerate(found) if p is not None]
    if frame is not None and known:
        places[known] = _apart(places[known], frame.latitudes[0][1])
    return places


def _apart(true: np.ndarray, floor: float, rounds: int = 120) -> np.ndarray:
    """Push apart what would cover each other, pull each back to where it belongs."""
    n = len(true)
    apart = min(0.25, 1.5 / np.sqrt(n))
    # Two capitals in one place must part in different directions; the first one yields to the left.
    at = true + 1e-4 * np.stack([np.arange(n), np.arange(n)[::-1]], axis=1)
    for _ in range(rounds):
        gap = at[:, None, :] - at[None, :, :]  # (N, N, 2)
        gap[..., 1] *= 1.5  # labels are wide, not tall
        distance = np.linalg.norm(gap, axis=2) + np.eye(n)
        push = np.clip(apart - distance, 0, None) * (1 - np.eye(n))
        at = at + 0.3 * (gap / distance[..., None] * push[..., None]).sum(axis=1) + 0.01 * (true - at)
    return np.stack([np.clip(at[:, 0], -1, 1), np.clip(at[:, 1], floor, 1)], axis=1)


def _round_degrees(scale: tuple[tuple[float, float], ...]) -> list[float]:
    low, high = scale[0][0], scale[-1][0]
    step = next((s for s in STEPS if (high - low) / s <= 6), STEPS[-1])
    return [float(d) for d in np.arange(np.ceil(low / step) * step, high + 1e-9, step)]


def _degrees(value: float, positive: str, negative: str) -> str:
    """
    >>> _degrees(-30.0, "E", "W"), _degrees(0.0, "N", "S")
    ('30°W', '0°')
    """
    if value == 0:
        return "0°"
    return f"{abs(value):g}°{positive if value > 0 else negative}"
