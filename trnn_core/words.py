"""Shares and durations as people read them: one way to write each, on pages, in charts, reports and commands."""

from __future__ import annotations

SIGN = "\u00a0%"  # a no-break space: the sign never stands at the start of a line


def percent(share: float, digits: int = 0, *, signed: bool = False) -> str:
    """
    >>> [percent(x).replace(SIGN, " %") for x in (0.9, -0.001)], percent(0.0321, 1, signed=True).replace(SIGN, " %")
    (['90 %', '0 %'], '+3.2 %')
    """
    return f"{100 * share:{'+' if signed else ''}z.{digits}f}{SIGN}"


def clock(seconds: float) -> str:
    """A duration as h:mm:ss.

    >>> clock(3725.2)
    '1:02:05'
    """
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
