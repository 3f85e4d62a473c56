"""Clocks that jump, summer time, week 53 and leap days: dates stay right and heartbeats sound."""

from __future__ import annotations

import calendar
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from tests.campaign import ROOT, Tally, until
from tests.faults.workers import WorkerProcess, job_pid, reach
from tests.training.small import SMALL, TINY
from trnn_core.data.options import WEEKDAYS
from trnn_core.data.periods import period_index, period_start
from trnn_core.data.series import QUAD_ACTIONS, RelationalSeries
from trnn_core.files import read_sealed, write_sealed
from trnn_core.runs.store import RunStore

LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
LONG = SMALL.changed(**{"train.epochs": 200_000})
JUMPS = ("+400d", "-400d", "+1h", "-1h", "+30", "-30", "+10000d", "-9000d")


def jump_campaign(folder: Path, series: RelationalSeries, n_jumps: int) -> Tally:
    """A real job whose wall clock is moved while it trains (libfaketime); seen from a process with the right clock."""
    tally = Tally()
    if not LIBRARIES:
        tally.figures["not tried"] = "clock jumps: libfaketime is not installed"
        return tally
    clock = folder / "clock"
    clock.write_text("+0\n")
    fake = {
        "LD_PRELOAD": str(LIBRARIES[0]),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }
    store = RunStore(folder / "runs")
    store.submit(LONG, series, run_id="jumpy")
    with WorkerProcess(store, environment=fake):
        reach(store, "jumpy", 2)
        for jump in [JUMPS[i % len(JUMPS)] for i in range(n_jumps)]:
            with tally.case(f"the job's clock jumps {jump}"):
                clock.write_text(f"{jump}\n")
                time.sleep(1.2)
                epoch = store.get("jumpy").status().epoch
                reach(store, "jumpy", epoch + 2)  # alive for us
                seen = ask_under(fake, store, "jumpy")
                assert seen == "running", f"whoever lives with the jumping clock sees it as {seen}"
        with tally.case("a kill under a wrong clock is seen within 30 s"):
            os.kill(job_pid(store, "jumpy"), signal.SIGKILL)
            until(lambda: store.get("jumpy").status().state == "interrupted", "shown as interrupted", 30)
            assert store.get("jumpy").verify() == []
    return tally


def ask_under(environment: dict[str, str], store: RunStore, run_id: str) -> str:
    code = "import sys; from trnn_core.runs.store import RunStore; print(RunStore(sys.argv[1]).get(sys.argv[2]).status().state)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(store.root), run_id],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def summer_time(folder: Path, series: RelationalSeries) -> Tally:
    """Runs made around the hour that comes twice are listed in the order in which they were made."""
    tally, store = Tally(), RunStore(folder / "summer")
    for zone, turn in (
        ("Europe/Berlin", datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
        ("America/New_York", datetime(2026, 11, 1, 5, 30, tzinfo=UTC)),
        ("Australia/Lord_Howe", datetime(2026, 4, 4, 14, 45, tzinfo=UTC)),
    ):
        made = []
        for n, minutes in enumerate((0, 20, 40, 60, 80)):
            run = store.create(TINY, series, run_id=f"{zone.partition('/')[2].replace('_', '')}-{9 - n}")
            local = (turn + timedelta(minutes=minutes)).astimezone(ZoneInfo(zone)).isoformat(timespec="seconds")
            for name in ("config.json", "config.copy.json"):
                write_sealed(run.folder / name, {**read_sealed(run.folder / name), "created": local})
            made.append(run.run_id)
        listed = [r.run_id for r in store.runs() if r.run_id in made]
        tally.check(listed == made[::-1], f"{zone}: made {made}, listed {listed}, newest first expected")
    return tally


def calendar_campaign(first: int = 1996, last: int = 2040) -> Tally:
    """Periods against the standard library's calendar, every day of many years; next dates across every odd corner."""
    tally = Tally()
    days = np.arange(np.datetime64(f"{first}-01-01"), np.datetime64(f"{last}-01-01")).astype(np.int64)
    stdlib = [date(1970, 1, 1) + timedelta(int(d)) for d in days]
    for weekday, name in enumerate(WEEKDAYS):
        starts = period_start(period_index(days, "week", name), "week", name)
        wanted = np.array([d - timedelta((d.weekday() - weekday) % 7) for d in stdlib], "datetime64[D]")
        tally.check(bool((starts == wanted).all()), f"weeks from {name}")
    iso = [d.isocalendar()[:2] for d in stdlib]  # the ISO week: week 53 of 2004, 2009, 2015, 2020, 2026, ...
    weeks = period_index(days, "week", "monday")
    same = [(a == b) == (x == y) for (a, b), (x, y) in zip(pairwise(iso), pairwise(weeks), strict=True)]
    tally.check(all(same), "weeks from Monday are the ISO weeks, week 53 included")
    for period, wanted in (
        ("month", [d.replace(day=1) for d in stdlib]),
        ("year", [d.replace(month=1, day=1) for d in stdlib]),
    ):
        starts = period_start(period_index(days, period), period)  # type: ignore[arg-type]
        tally.check(bool((starts == np.array(wanted, "datetime64[D]")).all()), f"{period}s")
    for period, step in (("day", 1), ("week", 7)):
        for end in (
            "2016-02-28",
            "2024-02-28",
            "2015-12-31",
            "2020-12-31",
            "2026-10-24",
            "2026-03-28",
            "1999-12-31",
            "2023-02-28",
        ):
            found = _next(period, np.datetime64(end), 3)
            tally.check(
                found == [str(np.datetime64(end) + step * n) for n in (1, 2, 3)], f"{period} after {end}: {found}"
            )
    for end in ("2015-11-01", "2016-01-01", "2023-12-01", "2024-01-01"):
        y, m = int(end[:4]), int(end[5:7])
        wanted_months = [f"{y + (m + n - 1) // 12}-{(m + n - 1) % 12 + 1:02d}-01" for n in (1, 2, 3)]
        tally.check(_next("month", np.datetime64(end), 3) == wanted_months, f"months after {end}")
    tally.check(
        calendar.isleap(2024) and _next("year", np.datetime64("2024-01-01"), 2) == ["2025-01-01", "2026-01-01"], "years"
    )
    return tally


def _next(period: str, end: np.datetime64, n: int) -> list[str]:
    """The dates that follow a series of that period whose last one is `end`."""
    if period in ("day", "week"):
        dates = end - {"day": 1, "week": 7}[period] * np.arange(5)[::-1]
    else:
        unit = {"month": "M", "year": "Y"}[period]
        dates = (end.astype(f"datetime64[{unit}]") - np.arange(5)[::-1]).astype("datetime64[D]")
    series = RelationalSeries(np.ones((5, 2, 2, 4)), dates, ("A", "B"), QUAD_ACTIONS)
    assert series.period == period, f"taken for {series.period}s"
    return [str(d) for d in series.next_dates(n)]


def zones_campaign(zones: tuple[str, ...]) -> Tally:
    """The same file is the same series wherever the computer stands."""
    tally = Tally()
    code = (
        "import sys, tempfile, pathlib; from trnn_core.data.readers import read_series, ImportOptions\n"
        "from tests.faults.clock import corner_table\n"
        "p = pathlib.Path(tempfile.mkdtemp()) / 'x.csv'; p.write_text(corner_table())\n"
        "s = read_series(p, options=ImportOptions(period=sys.argv[1], actors='all', value='sum', keep_partial=True))\n"
        "print(s.fingerprint, s.dates[0], s.dates[-1], len(s))"
    )
    for period in ("day", "week"):
        seen = {}
        for zone in zones:
            done = subprocess.run(
                [sys.executable, "-c", code, period],
                cwd=ROOT,
                env=os.environ | {"TZ": zone},
                capture_output=True,
                text=True,
                check=False,
            )
            seen[zone] = done.stdout.strip() or done.stderr.strip()[-300:]
            tally.check(seen[zone] == seen[zones[0]] and done.returncode == 0, f"{period}s in {zone}: {seen[zone]}")
    return tally


def corner_table() -> str:
    """A row on each day around the corners of the calendar."""
    begin = date(2015, 12, 20)
    rows = [f"{begin + timedelta(n)},USA,IRN,talks,1" for n in range(90)]  # week 53, new year, leap day
    return "date,source,target,action,value\n" + "\n".join(rows) + "\n"
