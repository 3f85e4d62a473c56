"""Out of memory in a job: that job fails with a reason; the server, the worker and the next job live."""

from __future__ import annotations

import resource
from pathlib import Path

from scripts.serve import Server
from tests.campaign import Tally
from tests.faults.workers import WorkerProcess, make_home, reach
from tests.load.client import Session, run_alone
from tests.training.small import TINY
from trnn_core.data.series import RelationalSeries
from trnn_core.data.simulation import simulate
from trnn_core.runs.store import RunStore

GREEDY = TINY.changed(**{"model.hidden_shape": (160, 160, 60), "train.batch_size": 256, "data.window": 12})
LONG = TINY.changed(**{"train.epochs": 200_000})
REASONS = ("ran out of memory", "memory ran out")


def limit(megabytes: int):
    """The account may use no more than this per process, as a shared machine often has it."""
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes * 2**20, megabytes * 2**20))


async def look(url: str) -> str:
    async with Session(url, "Train", "run=greedy") as visitor:
        return visitor.text().replace("\\", "")


def memory_campaign(folder: Path, series: RelationalSeries, megabytes: tuple[int, ...]) -> Tally:
    """Small limits hit the start of a job, larger ones its training; under the largest, another trains beside it."""
    tally, largest = Tally(), max(megabytes)
    wide = simulate(seed=3, n_actors=40, n_periods=80)
    for most in megabytes:
        home = make_home(folder / f"home-{most}")
        store = RunStore(home / "runs")
        with Server(home / "data", home / "runs") as server:
            with tally.case(f"the greedy job under {most} MB"), WorkerProcess(store, 2, first=limit(most)) as worker:
                if most == largest:
                    store.submit(LONG, series, run_id="beside")
                    reach(store, "beside", 1)
                store.submit(GREEDY, wide, run_id="greedy", name="Greedy run")
                status = store.get("greedy").wait(300)  # one limit makes a library spin, until the worker ends it
                assert status.state in ("failed", "interrupted"), status
                assert any(words in status.message for words in REASONS), f"no reason: {status.message}"
                assert worker.process.poll() is None, "the worker died with its job"
                assert "Greedy run: failed" in run_alone(look(server.url)), "the server must live and tell"
                if most == largest:
                    reach(store, "beside", store.get("beside").status().epoch + 2)
                    store.get("beside").ask("cancel")
                    assert store.get("beside").wait().state == "cancelled"
            with tally.case(f"another job after it ({most} MB)"), WorkerProcess(store):
                store.submit(TINY, series, run_id="modest")
                assert store.get("modest").wait(180).state == "finished"
    return tally
