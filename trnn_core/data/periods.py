"""Days to periods and back. A period index counts days, weeks, months or years from 1970."""

from __future__ import annotations

import numpy as np

from trnn_core.data.options import WEEKDAYS
from trnn_core.data.series import Period

_MONDAY = -3  # 1970-01-01 was a Thursday


def period_index(days: np.ndarray, period: Period, week_start: str = "monday") -> np.ndarray:
    """The index of the period each day (since 1970-01-01) falls into.

    >>> days = np.array(["2004-01-01", "2004-01-07", "2004-01-08"], "datetime64[D]").astype(int)
    >>> period_index(days, "week", "thursday").tolist()
    [1774, 1774, 1775]
    """
    days = np.asarray(days, dtype=np.int64)
    if period == "day":
        return days
    if period == "week":
        return (days - (_MONDAY + WEEKDAYS.index(week_start))) // 7
    return (
        days.astype("datetime64[D]").astype("datetime64[M]" if period == "month" else "datetime64[Y]").astype(np.int64)
    )


def period_start(index: np.ndarray, period: Period, week_start: str = "monday") -> np.ndarray:
    """The first day (datetime64) of each period.

    >>> str(period_start(np.array([1775]), "week", "thursday")[0])
    '2004-01-08'
    """
    index = np.asarray(index, dtype=np.int64)
    if period == "day":
        return index.astype("datetime64[D]")
    if period == "week":
        return (index * 7 + _MONDAY + WEEKDAYS.index(week_start)).astype("datetime64[D]")
    return index.astype("datetime64[M]" if period == "month" else "datetime64[Y]").astype("datetime64[D]")


def guess_period(days: np.ndarray) -> tuple[Period, str]:
    """The frequency, and for weeks the starting day, that the distinct days of a table follow."""
    days = np.unique(np.asarray(days, dtype=np.int64))
    dates = days.astype("datetime64[D]")
    in_month = (dates - dates.astype("datetime64[M]").astype("datetime64[D]")).astype(int)
    if len(days) > 1 and (in_month == 0).all():
        months = dates.astype("datetime64[M]").astype(int)
        return ("year" if len(np.unique(months % 12)) == 1 and months[0] % 12 == 0 else "month"), "monday"
    if len(days) > 1 and len(np.unique(days % 7)) == 1:
        return "week", WEEKDAYS[int(days[0] - _MONDAY) % 7]
    return "day", "monday"
