"""Where the name of a node stands, so that names cover neither each other nor the arrows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SIDES = (  # of a name, best first
    "top center",
    "bottom center",
    "top right",
    "top left",
    "middle right",
    "middle left",
    "bottom right",
    "bottom left",
)
INWARDS = 60.0  # what it costs a name to stand among the arrows, in square pixels of another name that it would cover
PHONE, DESK = (360.0, 580.0), (640.0, 580.0)  # pixels of the smallest picture and of a usual one
NODE = 11.0  # half the side of the square that a node keeps clear of names
HIGH = 13  # pixels of a line of text


def name_sides(names: Sequence[str], positions: np.ndarray) -> list[str]:
    """Where each name stands beside its node: outwards, where arrows are few, unless another name is there or the edge
    would cut it; above in the middle.

    Judged by places and names alone, so that a name stays where it is from week to week, for a phone and a desk at
    once: names keep their size while the space between nodes does not.
    """
    screens = [np.array(PHONE), np.array(DESK)]
    places = [(positions * [1, -1] + [1.22, 1.16]) * size / [2.44, 2.32] for size in screens]  # (N, 2), downwards
    taken = [np.hstack([at - NODE, at + NODE]) for at in places]  # left, top, right, bottom
    sides = []
    for i, (name, place) in enumerate(zip(names, positions, strict=True)):
        half = 3.1 * len(name)
        beside = 12 + half
        middles = np.array(
            [(0, -19), (0, 19), (half, -19), (-half, -19), (beside, 0), (-beside, 0), (half, 19), (-half, 19)]
        )
        outwards = middles * [1, -1]
        cost = INWARDS * np.maximum(-(outwards @ place) / np.linalg.norm(outwards, axis=1), 0)
        corner = np.array([half, HIGH / 2])
        boxes = [np.hstack([at[i] + middles - corner, at[i] + middles + corner]) for at in places]
        for size, box, others in zip(screens, boxes, taken, strict=True):
            low, high = np.maximum(box[:, None, :2], others[:, :2]), np.minimum(box[:, None, 2:], others[:, 2:])
            crowded = np.prod(np.maximum(high - low, 0), axis=2).sum(axis=1)  # (8, M, 2) to (8,)
            cost = cost + crowded + HIGH * (np.maximum(-box[:, 0], 0) + np.maximum(box[:, 2] - size[0], 0))
        best = int(np.argmin(np.round(cost)))
        taken = [np.vstack([others, box[best]]) for others, box in zip(taken, boxes, strict=True)]
        sides.append(SIDES[best])
    return sides
