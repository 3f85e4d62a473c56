"""Many people on one server: how fast it answers, how much memory it takes, and whether anybody sees another's things."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil

from scripts.serve import Server
from tests.campaign import Tally
from tests.faults.workers import make_home, reach
from tests.jobs.ending import end_jobs
from tests.load.client import Session, run_alone
from trnn_core.data.readers.npz import read_npz
from trnn_core.jobs import queue
from trnn_core.runs.store import RunStore
from trnn_core.training.config import Recipe

# Who is where: most look at results, some watch a training (with its update once a second), a few are on each other page.
MIX = (
    "",
    "Forecast",
    "Evaluate",
    "Train",
    "",
    "Forecast",
    "Data",
    "Explain",
    "",
    "Forecast",
    "Report",
    "Train",
    "Forecast",
)
EVERY = 10.0  # seconds between two actions of one person
LEFT_ALONE = ("Run", "Data set", "What to do", "Recipe", "Preset", "Show")  # would lead to another page or picture


@contextmanager
def busy_server(folder: Path) -> Iterator[tuple[Server, RunStore]]:
    """The demo on a server, with a training at work beside it."""
    home = make_home(folder / "home")
    store = RunStore(home / "runs")
    with Server(home / "data", home / "runs") as server:
        try:
            store.submit(Recipe(train={"epochs": 100_000}), read_npz(home / "data" / "demo.npz"), run_id="background")
            queue.ensure_worker(store)
            reach(store, "background", 1, 300)
            yield server, store
        finally:
            end_jobs(store)


def choices(visitor: Session) -> list[tuple[str, list]]:
    """Widgets of the page that can be changed, each with its possible values."""
    found: list[tuple[str, list]] = []
    for element in visitor.shown():
        kind = element.WhichOneof("type")
        if kind not in ("selectbox", "button_group", "slider", "checkbox"):
            continue
        widget = getattr(element, kind)
        if widget.form_id or widget.disabled or widget.label in LEFT_ALONE or widget.label == "Play":
            continue
        if kind == "selectbox" and len(widget.options) > 1:
            found.append((widget, list(widget.options)))
        elif kind == "button_group" and len(widget.options) > 1:
            found.append((widget, [o.content for o in widget.options]))
        elif kind == "slider" and widget.max > widget.min and len(widget.default) == 1 and not widget.options:
            found.append((widget, list(np.arange(widget.min, widget.max, max(widget.step, 1e-9))[:500])))
        elif kind == "checkbox":
            found.append((widget, [True, False]))
    return found


async def act(visitor: Session, rng: np.random.Generator) -> float:
    """Change one thing at random; seconds until the page is there again."""
    widgets = choices(visitor)
    if not widgets:
        return await visitor.rerun()
    widget, values = widgets[rng.integers(len(widgets))]
    visitor.set(widget, values[rng.integers(len(values))])
    return await visitor.rerun()


@dataclass
class Times:
    opened: list[float] = field(default_factory=list)
    acted: list[float] = field(default_factory=list)  # after the ramp
    looked: list[float] = field(default_factory=list)  # live updates


@dataclass
class Plan:
    """When a crowd comes, when measuring begins, and when it leaves, on the monotonic clock."""

    n_visitors: int
    ramp: float
    seconds: float
    begun: float = field(default_factory=time.monotonic)

    @property
    def ramped(self) -> float:
        return self.begun + self.ramp

    @property
    def over(self) -> float:
        return self.ramped + self.seconds


async def visit(url: str, n: int, plan: Plan, rng: np.random.Generator, tally: Tally, times: Times) -> None:
    """Open, act every ten seconds, look again where the page asks for it, leave."""
    await asyncio.sleep(plan.ramp * n / plan.n_visitors)
    page = MIX[n % len(MIX)]
    visitor = Session(url, page, "run=background" if page == "Train" else "")
    try:
        tally.tried += 1
        times.opened.append(await visitor.open())
        due = time.monotonic() + EVERY * rng.random()
        while time.monotonic() < plan.over:
            if visitor.live and time.monotonic() + 1.5 < due:
                fragment, interval = next(iter(visitor.live.items()))
                await asyncio.sleep(interval)
                times.looked.append(await visitor.rerun(fragment))
                continue
            await asyncio.sleep(max(due - time.monotonic(), 0.0))
            tally.tried += 1
            after_ramp, seconds = time.monotonic() > plan.ramped, await act(visitor, rng)
            if after_ramp:
                times.acted.append(seconds)
            due = max(due + EVERY, time.monotonic())
    except Exception as e:
        tally.failures.append(f"visitor {n} on {page or 'Home'}: {type(e).__name__}: {str(e)[:300]}")
    finally:
        await visitor.close()


async def crowd(server: Server, plan: Plan, seed: int) -> tuple[Tally, Times, float]:
    """All visitors at once; failures, times, and the most memory the server took, in MB."""
    tally, times, most = Tally(), Times(), 0.0
    rngs = np.random.default_rng(seed).spawn(plan.n_visitors)
    tasks = [asyncio.create_task(visit(server.url, n, plan, rngs[n], tally, times)) for n in range(plan.n_visitors)]
    process = psutil.Process(server.process.pid)
    while any(not task.done() for task in tasks):
        most = max(most, process.memory_info().rss / 2**20)
        await asyncio.sleep(0.5)
    await asyncio.gather(*tasks)
    return tally, times, most


def crowd_campaign(
    folder: Path, n_visitors: int, ramp: float, seconds: float, limits: bool = True, seed: int = 0
) -> Tally:
    """`limits=False` asks only that nothing fails: for machines that are busy with other things."""
    with busy_server(folder) as (server, store):
        run_alone(_one(server))  # a server that has shown each page once, as after its first visitor
        before = store.get("background").status().epoch
        tally, times, most = run_alone(crowd(server, Plan(n_visitors, ramp, seconds), seed))
        tally.check(store.get("background").status().epoch > before, "the training stood still meanwhile")
    median, late = np.median(times.acted), np.percentile(times.acted, 95)
    if limits:
        tally.check(median < 0.6, f"median {median:.2f} s, must be under 0.6")
        tally.check(late < 2.0, f"95th percentile {late:.2f} s, must be under 2")
        tally.check(max(times.opened) <= 15, f"slowest first load {max(times.opened):.1f} s, must be within 15")
        tally.check(most < 600, f"the server took {most:.0f} MB, must be under 600")
    tally.figures = {
        "sessions": str(n_visitors),
        "actions after the ramp": str(len(times.acted)),
        "median": f"{median:.2f} s",
        "95th percentile": f"{late:.2f} s",
        "slowest first load": f"{max(times.opened):.1f} s",
        "server": f"{most:.0f} MB",
        "live updates, median": f"{np.median(times.looked):.2f} s" if times.looked else "none",
    }
    return tally


async def _one(server: Server) -> None:
    for page in sorted(set(MIX)):
        async with Session(server.url, page):
            pass
