"""Dates as files write them, to days since 1970-01-01."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

EPOCH = date(1970, 1, 1).toordinal()


def iso_day(text: str) -> int | None:
    """Days since 1970 of YYYY-MM-DD.

    >>> iso_day("1970-01-02"), iso_day("2014-13-01"), iso_day("20140101")
    (1, None, None)
    """
    if len(text) != 10 or text[4] != "-" or text[7] != "-":
        return None
    return _day(text[:4], text[5:7], text[8:])


def compact_day(text: str) -> int | None:
    """Days since 1970 of YYYYMMDD.

    >>> compact_day("19700102"), compact_day("1970-1-2")
    (1, None)
    """
    return _day(text[:4], text[4:6], text[6:]) if len(text) == 8 else None


def _day(year: str, month: str, day: str) -> int | None:
    if not (year + month + day).isascii() or not (year + month + day).isdigit():
        return None
    try:
        found = date(int(year), int(month), int(day))
    except ValueError:
        return None
    return found.toordinal() - EPOCH if 1500 <= found.year <= 2200 else None


def _parts(pattern: str, order: str) -> Callable[[str], int | None]:
    compiled = re.compile(pattern + r"(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?", re.ASCII)

    def read(text: str) -> int | None:
        match = compiled.fullmatch(text.strip())
        if not match:
            return None
        found = dict(zip(order, match.groups(), strict=True))
        return _day(found["y"], found.get("m", "1"), found.get("d", "1"))

    return read


# How a table may write its dates; one of them must fit every row.
DATE_FORMATS: dict[str, Callable[[str], int | None]] = {
    "YYYY-MM-DD": _parts(r"(\d{4})-(\d\d?)-(\d\d?)", "ymd"),
    "YYYYMMDD": compact_day,
    "YYYY/MM/DD": _parts(r"(\d{4})/(\d\d?)/(\d\d?)", "ymd"),
    "DD.MM.YYYY": _parts(r"(\d\d?)\.(\d\d?)\.(\d{4})", "dmy"),
    "DD/MM/YYYY": _parts(r"(\d\d?)/(\d\d?)/(\d{4})", "dmy"),
    "MM/DD/YYYY": _parts(r"(\d\d?)/(\d\d?)/(\d{4})", "mdy"),
    "YYYY-MM": _parts(r"(\d{4})-(\d\d?)", "ym"),
    "YYYY": _parts(r"(\d{4})", "y"),
}


def date_formats(text: str) -> frozenset[str]:
    """The formats in which a text is a date.

    >>> sorted(date_formats("03/04/2014")), sorted(date_formats("2014-13-01"))
    (['DD/MM/YYYY', 'MM/DD/YYYY'], [])
    """
    return frozenset(name for name, read in DATE_FORMATS.items() if read(text) is not None)
