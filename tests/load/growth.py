"""What stays behind: a thousand sessions coming and going, and a day of live updates."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import numpy as np
import psutil

from scripts.serve import Server
from tests.campaign import Tally
from tests.faults.workers import WorkerProcess, make_home, reach
from tests.jobs.ending import end_jobs
from tests.load.client import Session, run_alone
from tests.load.visitors import MIX, act
from tests.training.small import SMALL
from trnn_core.data.simulation import simulate
from trnn_core.runs.store import RunStore

GROWTH = 0.10
AT_ONCE = 6
# Streamlit keeps the last 128 sessions for two minutes, should their browsers come back: from then on it must be level.
WARM = 160


def megabytes(server: Server) -> float:
    return psutil.Process(server.process.pid).memory_info().rss / 2**20


async def come_and_go(server: Server, numbers: range, tally: Tally) -> None:
    """So many visitors, a few at a time: open, act once, leave."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(n: int) -> None:
        async with gate:
            with tally.case(f"session {n}"):
                async with Session(server.url, MIX[n % len(MIX)]) as visitor:
                    await act(visitor, np.random.default_rng(n))

    await asyncio.gather(*(one(n) for n in numbers))


def churn_campaign(folder: Path, n_sessions: int, warm: int = WARM) -> Tally:
    """Memory after the first `warm` sessions and after all of them."""
    home, tally = make_home(folder / "home"), Tally()
    with Server(home / "data", home / "runs") as server:
        run_alone(come_and_go(server, range(warm), tally))
        before = megabytes(server)
        run_alone(come_and_go(server, range(warm, n_sessions), tally))
        after = megabytes(server)
    end_jobs(RunStore(home / "runs"))
    grown = after / before - 1
    tally.check(grown < GROWTH, f"the server grew by {grown:.0%}, from {before:.0f} to {after:.0f} MB")
    tally.figures = {
        f"after {warm}": f"{before:.0f} MB",
        f"after {n_sessions}": f"{after:.0f} MB",
        "growth": f"{grown:+.1%}",
    }
    return tally


async def watch(server: Server, n_updates: int, tally: Tally) -> tuple[int, list[float]]:
    """One who leaves the page of a training open and looks again as soon as the last look is done.

    Returns the last epoch that was shown, and the seconds of each look.
    """
    shown, seconds = 0, []
    async with Session(server.url, "Train", "run=long") as visitor:
        for n in range(n_updates):
            with tally.case(f"update {n}"):
                if not visitor.live:
                    await visitor.rerun()
                seconds.append(await visitor.rerun(next(iter(visitor.live))))
                epoch = int(re.findall(r"Epoch (\d+) of", visitor.text())[0])
                assert epoch >= shown, f"epoch {epoch} is shown after {shown}"
                assert epoch > shown or n % 100 or not n, f"epoch {epoch} for a hundred looks"
                shown = epoch if n % 100 == 0 else shown
    return epoch, seconds


def live_campaign(folder: Path, n_updates: int) -> Tally:
    """A day of updates without the waiting between them, from a training that really goes on."""
    home, tally = make_home(folder / "home"), Tally()
    store = RunStore(home / "runs")
    series = simulate(seed=0, n_actors=15, n_periods=300)  # some epochs a second: a few thousand in the course of it
    store.submit(SMALL.changed(**{"train.epochs": 1_000_000, "train.checkpoint_every": 50}), series, run_id="long")
    with Server(home / "data", home / "runs") as server, WorkerProcess(store):
        reach(store, "long", 3)
        run_alone(watch(server, max(n_updates // 10, 20), tally))
        before = megabytes(server)
        run_alone(watch(server, n_updates // 2 - n_updates // 10, tally))
        half = megabytes(server)
        shown, seconds = run_alone(watch(server, n_updates - n_updates // 2, tally))
        after, epoch = megabytes(server), store.get("long").status().epoch
    grown = after / before - 1
    tally.check(grown < GROWTH, f"the server grew by {grown:.0%}, from {before:.0f} to {after:.0f} MB")
    tally.check(after / half - 1 < GROWTH / 2, f"it goes on growing: {half:.0f} MB half-way, {after:.0f} MB at the end")
    tally.check(shown > 0.9 * epoch, f"epoch {shown} was shown last, the training was at {epoch}")
    tally.figures = {
        "after a tenth": f"{before:.0f} MB",
        "half-way": f"{half:.0f} MB",
        "after all": f"{after:.0f} MB",
        "growth": f"{grown:+.1%}",
        "epochs shown": str(shown),
        "an update, median": f"{np.median(seconds):.2f} s",
    }
    return tally
