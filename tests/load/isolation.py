"""Twenty people with data of their own: nobody ever sees another's data, choice or cache.

Every set and the run trained on it have countries that no other has, in the same shape and with the same dates;
whatever the server sends to a session, figures and reports included, is searched for the names of others. What people
choose (a set, a run, a pair, a country) is told by those names too.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import numpy as np

from scripts.serve import Server
from tests.campaign import Tally
from tests.faults.workers import make_home
from tests.jobs.ending import end_jobs
from tests.load.client import Session, run_alone
from tests.load.visitors import choices
from tests.training.small import TINY
from trnn_core.data.readers.npz import write_npz
from trnn_core.data.series import QUAD_ACTIONS, Provenance, RelationalSeries
from trnn_core.runs.execute import train_run
from trnn_core.runs.store import RunStore

MARK = re.compile(rb"Zone(\d\d)[A-F]")
LETTERS = "ABCDEF"


def own_names(n: int) -> tuple[str, ...]:
    return tuple(f"Zone{n:02d}{letter}" for letter in LETTERS)


def own_series(n: int) -> RelationalSeries:
    """Same shape and dates for all, so that a cache with a careless key would mix them up."""
    values = np.random.default_rng(n).poisson(3.0, (60, 6, 6, 4)).astype(float)
    dates = np.datetime64("2010-01-04") + 7 * np.arange(60)
    return RelationalSeries(values, dates, own_names(n), QUAD_ACTIONS, source=Provenance(f"Set {n:02d}"))


def own_table(n: int) -> bytes:
    rows = [
        f"2014-01-{d:02},{a},{b},talks,{d}" for d in range(1, 29) for a in own_names(n)[:3] for b in own_names(n)[3:]
    ]
    return ("date,source,target,action,value\n" + "\n".join(rows) + "\n").encode()


def check_own(visitor: Session, n: int, where: str) -> None:
    seen = {int(m) for m in MARK.findall(visitor.content())}
    assert seen <= {n}, f"{where}: session {n} was sent the names of {sorted(seen - {n})}"


async def explore(url: str, n: int, n_actions: int, tally: Tally) -> None:
    """One's own saved set, looked at from many sides while others do the same."""
    with tally.case(f"session {n} explores"):
        async with Session(url, "Data", f"data=set-{n:02d}") as visitor:
            await wander(visitor, n, n_actions)


async def forecast(url: str, n: int, n_actions: int, tally: Tally) -> None:
    """One's own run: its forecast from many sides, then its report."""
    with tally.case(f"session {n} looks at its forecast"):
        async with Session(url, "Forecast", f"run=run-{n:02d}") as visitor:
            await wander(visitor, n, n_actions)
        async with Session(url, "Report", f"run=run-{n:02d}") as visitor:
            check_own(visitor, n, "report")
            assert own_names(n)[0].encode() in visitor.content(), "its own names are not in its report"


async def wander(visitor: Session, n: int, n_actions: int) -> None:
    rng = np.random.default_rng(n)
    check_own(visitor, n, "opening")
    assert MARK.search(visitor.content()), "its own names are not shown"
    for step in range(n_actions):
        widgets = choices(visitor)
        widget, values = widgets[rng.integers(len(widgets))]
        visitor.set(widget, values[rng.integers(len(values))])
        await visitor.rerun()
        check_own(visitor, n, f"action {step}")


async def bring(url: str, n: int, tally: Tally) -> None:
    """One's own file, imported and never saved: nobody else may meet it."""
    with tally.case(f"session {n} imports"):
        async with Session(url, "Data", "do=Add data") as visitor:
            check_own(visitor, n, "before")
            await visitor.upload("Your files", {"mine.csv": own_table(n)})  # all files have the same name
            check_own(visitor, n, "preview")
            visitor.set(visitor.widget("text_input", "Countries"), "all")
            visitor.set(visitor.widget("text_input", "Name of the set"), f"Title of {own_names(n)[0]}")
            await visitor.click("Import")
            await visitor.wait_for(lambda: visitor.has("button", "Save"), "the import ends")
            check_own(visitor, n, "result")
            assert own_names(n)[0] in visitor.text().replace("\\", ""), visitor.text()[:300]


def isolation_campaign(folder: Path, n_sessions: int, n_actions: int) -> Tally:
    home, tally = make_home(folder / "home"), Tally()
    store = RunStore(home / "runs")
    for n in range(n_sessions):
        write_npz(own_series(n), home / "data" / f"set-{n:02d}.npz")
        train_run(store, store.create(TINY, own_series(n), run_id=f"run-{n:02d}"))

    async def everybody(url: str) -> None:
        ways = (explore(url, n, n_actions, tally) for n in range(n_sessions))
        more = (forecast(url, n, n_actions, tally) for n in range(n_sessions))
        await asyncio.gather(*ways, *more, *(bring(url, n, tally) for n in range(n_sessions)))

    with Server(home / "data", home / "runs") as server:
        run_alone(everybody(server.url))
    end_jobs(store)
    return tally
