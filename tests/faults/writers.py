"""Two servers and eight writers on one store, a hundred kills among them: no lost, mixed or doubled record.

Each writer notes, in a book of its own, what the store has confirmed to it; what is confirmed must be there at the end,
once, and all of one piece. A kill may leave one more thing done than was confirmed, never one less.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

from scripts.serve import Server
from tests.campaign import Tally
from tests.faults.workers import make_home
from tests.jobs.ending import end_jobs
from tests.load.client import Session, run_alone
from tests.training.small import TINY
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.runs.store import RunStore

N_WRITERS, N_CONTESTED = 8, 400


def write(root: Path, me: str, told: int, seed: int) -> None:
    """One writer's life: make runs, contend for ids, tag a shared run, rename, throw away and take back."""
    rng, store = np.random.default_rng(seed), RunStore(root)
    series = store.series(store.get("shared"))

    def tell(what: str, name: str) -> None:
        os.write(told, json.dumps([what, name, me]).encode() + b"\n")

    for n in range(100_000):
        token = f"{me}-{n}"
        action = rng.choice(["make", "contend", "tag", "cycle"])
        try:
            if action == "make":
                run = store.create(
                    TINY.changed(**{"train.seed": int(seed)}),
                    series,
                    run_id=token,
                    name=token,
                    tags=[me],
                    state="paused",
                )
                tell("made", run.run_id)
            elif action == "contend":
                name = f"contested-{rng.integers(N_CONTESTED)}"
                store.create(
                    TINY.changed(**{"train.seed": int(seed)}), series, run_id=name, name=me, tags=[me], state="paused"
                )
                tell("won", name)
            elif action == "tag":
                store.tag("shared", add=[token])
                tell("tagged", token)
            else:
                run = store.create(TINY, series, run_id=f"gone-{token}", name=me, state="paused")
                store.rename(run.run_id, f"renamed {me}")
                store.delete(run.run_id)
                tell("deleted", run.run_id)
                if rng.random() < 0.5:
                    store.restore(run.run_id)
                    tell("restored", run.run_id)
        except TRNNError:
            continue  # taken by another, or busy: told in words, nothing written


class Writer:
    """A forked writer and its book of what was confirmed; started from a process without threads."""

    def __init__(self, root: Path, me: str, seed: int):
        self.book = root.parent / f"{me}.book"
        self.pid = os.fork()
        if self.pid == 0:
            try:
                write(root, me, os.open(self.book, os.O_WRONLY | os.O_CREAT | os.O_APPEND), seed)
            finally:
                os._exit(1)

    def kill(self) -> list[list[str]]:
        """Ends it; all that had been confirmed to it."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        content = self.book.read_bytes() if self.book.exists() else b""
        return [json.loads(line) for line in content.splitlines(keepends=True) if line.endswith(b"\n")]


async def visit(url: str, tally: Tally, stop: asyncio.Event) -> None:
    """Somebody who looks at the store all the while."""
    while not stop.is_set():
        with tally.case(f"a look at {url}"):
            async with Session(url, "Train" if tally.tried % 2 else "") as visitor:
                assert "TRNN Studio" in visitor.text()
        await asyncio.sleep(0.3)


def hunt(root: Path, n_kills: int, seed: int) -> list[list[str]]:
    """Kill a random writer every now and then and put another in its place; what was confirmed to all of them."""
    rng, confirmed = np.random.default_rng(seed), []
    writers = [Writer(root, f"w{i}", i) for i in range(N_WRITERS)]
    for kill in range(n_kills):
        time.sleep(rng.uniform(0.02, 0.25))
        i = int(rng.integers(N_WRITERS))
        confirmed += writers[i].kill()
        writers[i] = Writer(root, f"w{N_WRITERS + kill}", N_WRITERS + kill)
    for writer in writers:
        confirmed += writer.kill()
    return confirmed


def check_books(store: RunStore, confirmed: list[list[str]], tally: Tally) -> None:
    """Everything confirmed is there, once, and of one piece."""
    there = {run.run_id: run for run in store.runs()}
    trash = Counter(name.partition("~")[0] for name in store.trash())
    for run_id, run in there.items():
        with tally.case(f"run {run_id} is whole"):
            assert run.verify() == [] and run.config["run_id"] == run_id
            if run_id.startswith(("contested", "w")):
                owner = run.tags[0]
                assert run.tags == (owner,) and run.recipe.train.seed == int(owner[1:]), "mixed"
                assert run.name in (owner, run_id), "mixed names"
    won = Counter(name for what, name, _ in confirmed if what == "won")
    restored = {name for what, name, _ in confirmed if what == "restored"}
    tags = set(store.get("shared").tags)
    for what, name, me in confirmed:
        if what == "made":
            tally.check(name in there and not trash[name], f"{name} was confirmed to {me} and is lost")
        elif what == "won":
            tally.check(
                name in there and there[name].tags == (me,) and won[name] == 1,
                f"{name} was given to {won[name]}, or is another's than {me}'s",
            )
        elif what == "tagged":
            tally.check(name in tags, f"the tag {name} is lost")
        elif what == "deleted":
            places = trash[name] + (name in there)
            tally.check(places == 1 and (name not in restored or name in there), f"{name} is in {places} places")


def writers_campaign(folder: Path, series: RelationalSeries, n_kills: int, seed: int, servers: bool = True) -> Tally:
    home, tally = make_home(folder / "home"), Tally()
    store = RunStore(home / "runs")
    store.create(TINY, series, run_id="shared", state="paused")
    if servers:
        run_alone(with_servers(home, n_kills, seed, tally))
    else:
        check_books(store, hunt(store.root, n_kills, seed), tally)
    end_jobs(store)
    tally.figures |= {"kills": str(n_kills), "runs at the end": str(len(store.runs()))}
    return tally


async def with_servers(home: Path, n_kills: int, seed: int, tally: Tally) -> None:
    """The hunt goes on in a process of its own while two servers show the store; one of them is killed half-way."""
    servers = [Server(home / "data", home / "runs") for _ in range(2)]
    try:
        stop, early, looks = asyncio.Event(), asyncio.Event(), Tally()
        visitors = [asyncio.create_task(visit(s.url, looks, e)) for s, e in zip(servers, (stop, early), strict=True)]
        hunter = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.faults.writers",
            str(home / "runs"),
            str(n_kills),
            str(seed),
            stdout=asyncio.subprocess.PIPE,
            limit=2**28,
        )
        await asyncio.sleep(0.07 * n_kills)  # a kill of a writer takes twice as long
        early.set()
        await visitors.pop()
        servers[1].kill()
        await asyncio.to_thread(servers[1].start)
        visitors.append(asyncio.create_task(visit(servers[1].url, looks, stop)))
        output, _ = await hunter.communicate()
        stop.set()
        await asyncio.gather(*visitors)
        tally.add(looks)
        tally.check(hunter.returncode == 0, "the hunt did not end")
        check_books(RunStore(home / "runs"), json.loads(output or b"[]"), tally)
    finally:
        for server in servers:
            server.stop()


if __name__ == "__main__":
    print(json.dumps(hunt(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
