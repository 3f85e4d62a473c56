"""Shares as people read them: one way to write a percentage, on pages, in charts, reports and at the command line."""

from __future__ import annotations

SIGN = "\u00a0%"  # a no-break space: the sign never stands at the start of a line


def percent(share: float, digits: int = 0, *, signed: bool = False) -> str:
    """
    >>> [percent(x).replace(SIGN, " %") for x in (0.9, -0.001)], percent(0.0321, 1, signed=True).replace(SIGN, " %")
    (['90 %', '0 %'], '+3.2 %')
    """
    return f"{100 * share:{'+' if signed else ''}z.{digits}f}{SIGN}"
