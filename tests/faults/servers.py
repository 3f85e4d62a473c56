"""kill -9 of the server in mid-training: the job goes on, and the next server shows it."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from scripts.serve import Server
from tests.campaign import Tally
from tests.faults.workers import job_pid, make_home, reach
from tests.jobs.ending import end_jobs
from tests.load.client import Session, run_alone
from tests.training.small import SMALL
from trnn_core.data.series import RelationalSeries
from trnn_core.runs.execute import train_run
from trnn_core.runs.store import RunStore

LONG = SMALL.changed(**{"train.epochs": 200_000, "train.checkpoint_every": 3})


async def press_resume(url: str, run_id: str) -> None:
    """By a page of the server, as a person would: the worker is then the server's own child at first."""
    async with Session(url, "Train", f"run={run_id}") as visitor:
        await visitor.click("Resume")


async def shown(url: str, run_id: str) -> str:
    async with Session(url, "Train", f"run={run_id}") as visitor:
        assert visitor.live, "the page of a running job must look again by itself"
        return visitor.text()


def kill_servers(folder: Path, series: RelationalSeries, n_kills: int, seed: int) -> Tally:
    """A page starts the training; then its server is killed again and again."""
    home, rng, tally = make_home(folder / "home"), np.random.default_rng(seed), Tally()
    store = RunStore(home / "runs")
    run = store.create(LONG, series, run_id="long", name="Long run")
    train_run(store, run, control=lambda: "pause" if run.status().epoch >= 2 else None)
    server = Server(home / "data", home / "runs")
    try:
        run_alone(press_resume(server.url, "long"))
        reach(store, "long", 3)
        pid = job_pid(store, "long")
        for kill in range(n_kills):
            time.sleep(rng.uniform(0.0, 0.5))
            server.kill()
            with tally.case(f"kill {kill + 1}"):
                reach(store, "long", store.get("long").status().epoch + 3)  # it goes on
                assert job_pid(store, "long") == pid, "not the same job"
            server.start()
            with tally.case(f"the server after kill {kill + 1}"):
                text = run_alone(shown(server.url, "long"))
                assert "Long run: training" in text.replace("\\", ""), text[:200]
        store.get("long").ask("cancel")
        store.get("long").wait()
    finally:
        server.stop()
        end_jobs(store)
    return tally
