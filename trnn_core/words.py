"""Figures and names as people read and type them: one way to write a percentage or a duration and to find a misspelt
name, on pages, in charts, reports and at the command line."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher
from functools import lru_cache

SIGN = "\u00a0%"  # a no-break space: the sign never stands at the start of a line


def percent(share: float, digits: int = 0, *, signed: bool = False) -> str:
    """
    >>> [percent(x).replace(SIGN, " %") for x in (0.9, -0.001)], percent(0.0321, 1, signed=True).replace(SIGN, " %")
    (['90 %', '0 %'], '+3.2 %')
    """
    return f"{100 * share:{'+' if signed else ''}z.{digits}f}{SIGN}"


def duration(seconds: float | None) -> str:
    """
    >>> [duration(s) for s in (0.4, 42, 90, 7260)]
    ['under 1 s', '42 s', '1 min 30 s', '2 h 1 min']
    """
    if seconds is None:
        return "unknown"
    if seconds < 1:
        return "under 1 s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def clock(seconds: float) -> str:
    """A duration as h:mm:ss.

    >>> clock(3725.2)
    '1:02:05'
    """
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def closest(text: str, spellings: Mapping[str, str], common: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The (at most five) values whose keys look most like `text`, best first; to suggest, never to decide.

    common  words that many names have, which make none alike

    >>> closest("nigerr", {"niger": "Niger", "nigeria": "Nigeria", "peru": "Peru"})
    ('Niger', 'Nigeria')
    """
    if not text:
        return ()
    pairs, best = _pairs(text), dict[str, float]()
    near = sorted(spellings, key=lambda s: -len(pairs & _pairs(s)) / (len(pairs) + len(_pairs(s))))
    for spelling in near[:25]:  # cheap first, careful on what is left
        score = _likeness(text, spelling, common)
        if score >= 0.55:
            best[spellings[spelling]] = max(score, best.get(spellings[spelling], 0.0))
    return tuple(sorted(best, key=lambda name: (-best[name], name))[:5])


def _likeness(a: str, b: str, common: frozenset[str]) -> float:
    """From 0 to 1: the share of letters or the share of words in common, whichever is more."""
    words_a, words_b = set(a.split()) - common, set(b.split()) - common
    words = 0.9 * len(words_a & words_b) / max(min(len(words_a), len(words_b)), 1)
    return max(SequenceMatcher(None, a, b, autojunk=False).ratio(), words)


@lru_cache(maxsize=4096)
def _pairs(text: str) -> frozenset[str]:
    """Neighbouring letters."""
    padded = f" {text} "
    return frozenset(padded[i : i + 2] for i in range(len(padded) - 1))
