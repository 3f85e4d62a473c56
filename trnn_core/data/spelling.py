"""How alike two spellings are; used to suggest, never to decide."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

_COMMON = frozenset(
    [
        "of",
        "and",
        "republic",
        "islands",
        "new",
        "saint",
        "democratic",
        "peoples",
        "united",
        "state",
        "states",
        "kingdom",
        "north",
        "south",
    ]
)


def closest(text: str, spellings: Mapping[str, str], *, n: int = 5, least: float = 0.55) -> tuple[str, ...]:
    """The n values whose keys look most like `text`, best first.

    >>> closest("nigerr", {"niger": "Niger", "nigeria": "Nigeria", "peru": "Peru"})
    ('Niger', 'Nigeria')
    """
    if not text:
        return ()
    pairs = _pairs(text)
    near = sorted(spellings, key=lambda s: -_dice(pairs, _pairs(s)))[:25]  # cheap first, careful on what is left
    best: dict[str, float] = {}
    for spelling in near:
        score = likeness(text, spelling)
        if score >= least:
            best[spellings[spelling]] = max(score, best.get(spellings[spelling], 0.0))
    return tuple(sorted(best, key=lambda name: (-best[name], name))[:n])


def likeness(a: str, b: str) -> float:
    """From 0 to 1: one minus the share of letters to change, or the share of words in common, whichever is more."""
    letters = 1 - edits(a, b) / max(len(a), len(b), 1)
    words_a, words_b = set(a.split()), set(b.split())
    shared = (words_a & words_b) - _COMMON
    words = 0.9 * len(shared) / max(min(len(words_a - _COMMON), len(words_b - _COMMON)), 1)
    return max(letters, words)


def edits(a: str, b: str) -> int:
    """Insertions, deletions, replacements and swaps of neighbours that turn a into b.

    >>> edits("niger", "nigeria"), edits("iarn", "iran")
    (2, 1)
    """
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        older, before, row = before, row, [i] + [0] * len(b)
        for j, y in enumerate(b, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                row[j] = min(row[j], older[j - 2] + 1)
    return row[-1]


@lru_cache(maxsize=4096)
def _pairs(text: str) -> frozenset[str]:
    padded = f" {text} "
    return frozenset(padded[i : i + 2] for i in range(len(padded) - 1))


def _dice(a: frozenset[str], b: frozenset[str]) -> float:
    return 2 * len(a & b) / max(len(a) + len(b), 1)
