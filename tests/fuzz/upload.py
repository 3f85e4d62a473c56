"""A sample of the spoilt files through the page's own upload: a sentence or a preview, never an unforeseen error."""

from __future__ import annotations

import asyncio
from pathlib import Path

from scripts.serve import Server
from tests.campaign import Tally
from tests.faults.workers import make_home
from tests.fuzz.mutate import ENDINGS, make_case
from tests.jobs.ending import end_jobs
from tests.load.client import Session, run_alone
from trnn_core.runs.store import RunStore


async def bring(url: str, numbers: range, seed: int, tally: Tally) -> None:
    for number in numbers:
        kind, data, _ = make_case(number, seed)
        with tally.case(f"case {number} of seed {seed} ({kind})"):
            async with Session(url, "Data", "do=Add data") as visitor:
                await visitor.upload("Your files", {f"case.{ENDINGS.get(kind, kind)}": data})
                assert visitor.alerts() or visitor.has("button", "Import"), "neither a preview nor a word"
                if visitor.has("button", "Import"):
                    words = len(visitor.alerts())
                    await visitor.click("Import")
                    await visitor.wait_for(
                        lambda words=words: visitor.has("button", "Save") or len(visitor.alerts()) > words,
                        "the import ends, one way or the other",
                    )


def upload_campaign(folder: Path, n_cases: int, seed: int) -> Tally:
    home, tally = make_home(folder / "home"), Tally()
    with Server(home / "data", home / "runs") as server:
        half = n_cases // 2

        async def both() -> None:
            await asyncio.gather(
                bring(server.url, range(half), seed, tally), bring(server.url, range(half, n_cases), seed, tally)
            )

        run_alone(both())
        end_jobs(RunStore(home / "runs"))
        left = sorted(p.name for p in (home / "data").iterdir())
        tally.check(left == ["demo.npz"], f"the data folder holds {left}")
    return tally
