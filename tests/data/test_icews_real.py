"""The real ICEWS files against a count in plain Python that shares nothing with the readers."""

from __future__ import annotations

import csv
import datetime
from collections import Counter
from pathlib import Path

import pytest

from tests.event_files import accounted
from tests.shared_data import shared_file
from trnn_core.data.readers import ImportOptions, read_series

WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
QUADS = ["verbal cooperation"] * 5 + ["material cooperation"] * 3 + ["verbal conflict"] * 5 + ["material conflict"] * 7


def plain_count(files: list[Path], start_of, unique: bool) -> Counter:  # type: ignore[no-untyped-def]
    """(period start, source, target, quad) -> number, row by row."""
    seen, counts = set(), Counter()
    for file in files:
        with file.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
                source, target = row["Source Country"], row["Target Country"]
                if not source or not target or source == target:
                    continue
                key = (row["Source Name"], row["Event Text"], row["Target Name"], row["Event Date"])
                if unique and key in seen:
                    continue
                seen.add(key)
                day = datetime.date.fromisoformat(row["Event Date"])
                quad = QUADS[int(row["CAMEO Code"][:2]) - 1]
                counts[(start_of(day), source, target, quad)] += 1
    return counts


def week_from(weekday: str):  # type: ignore[no-untyped-def]
    first = WEEKDAYS.index(weekday)
    return lambda day: day - datetime.timedelta(days=(day.weekday() - first) % 7)


PERIODS = {
    "day": ({"period": "day"}, lambda day: day),
    "monday weeks": ({"period": "week"}, week_from("monday")),
    "thursday weeks": ({"period": "week", "week_start": "thursday"}, week_from("thursday")),
    "sunday weeks": ({"period": "week", "week_start": "sunday"}, week_from("sunday")),
    "months": ({"period": "month"}, lambda day: day.replace(day=1)),
    "years": ({"period": "year"}, lambda day: day.replace(month=1, day=1)),
}


@pytest.mark.parametrize("unique", [True, False], ids=["events", "rows"])
@pytest.mark.parametrize("case", PERIODS)
def test_real_files_give_exactly_the_plain_counts(case: str, unique: bool) -> None:
    files = sorted(shared_file("raw_icews").glob("*.tab"))
    fields, start_of = PERIODS[case]
    value = "events" if unique else "rows"
    options = ImportOptions(actors="all", keep_partial=True, value=value, countries=False, **fields)
    series = read_series(files, options=options)
    expected = plain_count(files, start_of, unique)
    found = Counter()
    for t, i, j, k in zip(*series.values.nonzero(), strict=True):
        label = (series.dates[t].item(), series.actors[i], series.actors[j], series.actions[k])
        found[label] = int(series.values[t, i, j, k])
    assert found == expected
    assert series.observed.all()
    assert accounted(series.source.report)


def test_incomplete_ends_are_dropped_and_told() -> None:
    files = sorted(shared_file("raw_icews").glob("*.tab"))
    series = read_series(files, options=ImportOptions(week_start="thursday"))
    assert (str(series.dates[0]), str(series.dates[-1])) == ("2018-10-04", "2019-01-03")
    partial = series.source.report["partial_periods"]
    assert [(p["period"], p["days"], p["dropped"]) for p in partial] == [
        ("2018-09-27", 3, True),
        ("2019-01-10", 6, True),
    ]


def test_the_order_of_files_and_the_number_of_threads_do_not_matter() -> None:
    files = sorted(shared_file("raw_icews").glob("*.tab"))
    prints = {
        read_series(order, options=ImportOptions(actors="all", threads=threads)).fingerprint
        for order, threads in ((files, 1), (files, 3), (files[::-1], 2), ([files[0].parent], 2))
    }
    assert len(prints) == 1


def test_every_real_country_name_is_recognised() -> None:
    series = read_series(shared_file("raw_icews"), options=ImportOptions(actors="all"))
    assert series.source.report["unrecognised"] == []
    assert "Moldova" in series.actors
