"""The rows of the long tests: one fault or attack each, in a short form and in the long one of `make stress`.

    python -m tests.rows KEY short|long REPORT      runs one row and writes its tally

The planted defect that must turn a row red is in tests/plants/defects.py under the same key.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.campaign import ROOT, Tally

PLANTS = ROOT / "tests" / "plants"


def series():
    from trnn_core.data.simulation import simulate

    return simulate(seed=0, n_actors=6, n_periods=60)


def store(place: Path):
    from trnn_core.runs.store import RunStore

    return RunStore(place / "runs")


def kill_job(place: Path, long: bool) -> Tally:
    from tests.faults.killing import kill_campaign
    from tests.faults.watching import Onlooker, other_machine

    with Onlooker(where := store(place)) as page:
        tally = kill_campaign(where, series(), 500 if long else 12, seed=1, n_chains=50 if long else 2, page=page)
    return tally.add(other_machine(place, series(), 3 if long else 1))


def kill_server(place: Path, long: bool) -> Tally:
    from tests.faults.servers import kill_servers

    return kill_servers(place, series(), 12 if long else 1, seed=1)


def rot(place: Path, long: bool) -> Tally:
    from tests.faults.rot import rot_campaign

    return rot_campaign(store(place), series(), *((1000, 200) if long else (100, 20)), seed=1)


def disk(place: Path, long: bool) -> Tally:
    from tests.faults.disk import disk_campaign

    return disk_campaign(place, series(), 4 if long else 1)


def writers(place: Path, long: bool) -> Tally:
    from tests.faults.writers import writers_campaign

    return writers_campaign(place, series(), 100 if long else 10, seed=1)


def clock(place: Path, long: bool) -> Tally:
    from tests.faults.clock import calendar_campaign, jump_campaign, summer_time, zones_campaign

    tally = jump_campaign(place, series(), 16 if long else 2)
    tally.add(summer_time(place, series())).add(calendar_campaign(1970, 2070) if long else calendar_campaign())
    zones = ("UTC", "Europe/Berlin", "America/New_York", "Pacific/Apia", "Asia/Kathmandu", "Pacific/Kiritimati")
    return tally.add(zones_campaign(zones if long else zones[:2]))


def memory(place: Path, long: bool) -> Tally:
    from tests.faults.memory import memory_campaign

    return memory_campaign(place, series(), (258, 400, 700, 1000, 1500, 3000) if long else (3000,))


def load(place: Path, long: bool) -> Tally:
    from tests.load.visitors import crowd_campaign

    return crowd_campaign(place, *((50, 50.0, 180.0) if long else (8, 4.0, 20.0)))


def churn(place: Path, long: bool) -> Tally:
    from tests.load.growth import churn_campaign

    return churn_campaign(place, *((1000, 160) if long else (130, 100)))


def isolation(place: Path, long: bool) -> Tally:
    from tests.load.isolation import isolation_campaign

    return isolation_campaign(place, *((20, 10) if long else (6, 3)))


def live(place: Path, long: bool) -> Tally:
    from tests.load.growth import live_campaign

    return live_campaign(place, 8640 if long else 100)


def fuzz(place: Path, long: bool) -> Tally:
    from tests.fuzz.mutate import fuzz_campaign

    return fuzz_campaign(place, *((100_000, 1) if long else (2_000, 2)), size=2500 if long else 1000)


def upload(place: Path, long: bool) -> Tally:
    from tests.fuzz.upload import upload_campaign

    return upload_campaign(place, 300 if long else 14, seed=3)


def bombs(place: Path, long: bool) -> Tally:
    from tests.fuzz.bombs import bomb_campaign

    return bomb_campaign(place)


def names(place: Path, long: bool) -> Tally:
    from tests.fuzz.names import names_campaign

    return names_campaign(place, series(), pages=long)


def pickles(place: Path, long: bool) -> Tally:
    from tests.fuzz.pickles import pickle_campaign, static_campaign

    return pickle_campaign(place, series(), every=1 if long else 12).add(static_campaign())


def defaults(place: Path, long: bool) -> Tally:
    from tests.load.defaults import defaults_campaign

    return defaults_campaign(place)


def door(place: Path, long: bool) -> Tally:
    from tests.load.door import door_campaign

    return door_campaign(place)


def proxy(place: Path, long: bool) -> Tally:
    from tests.load.proxy import proxy_campaign

    return proxy_campaign(place)


def login(place: Path, long: bool) -> Tally:
    from tests.load.login import login_campaign

    return login_campaign(place)


def advisories(place: Path, long: bool) -> Tally:
    from scripts.audit import databases, hits
    from scripts.licences import Pinned, pinned

    packages = pinned() + [Pinned("urllib3", "1.24.0", "planted")] * (os.environ.get("TRNN_PLANT") == "advisories")
    tally = Tally()
    for name, known in databases().items():
        tally.tried += len(packages)
        tally.failures += hits(packages, known)
        tally.figures |= {"database": name, "entries": str(len(known))}
    tally.skipped = "" if tally.tried else "no database of advisories is installed"
    return tally


def licences(place: Path, long: bool) -> Tally:
    from scripts.licences import PAGE, Pinned, incompatible, licence_of, pinned, render

    found = [(p, licence_of(p.name)) for p in pinned()]
    listed = render(found) == PAGE.read_text()
    if os.environ.get("TRNN_PLANT") == "licences":
        found.append((Pinned("planted", "1.0", "requirements.txt"), "GPL-3.0-only"))
    tally = Tally(len(found), incompatible(found))
    tally.check(listed, "docs/licences.md is not up to date; run `python scripts/licences.py`")
    return tally


@dataclass(frozen=True)
class Row:
    key: str
    part: str
    words: str
    run: Callable[[Path, bool], Tally]
    minutes: float  # at most, in the long form
    alone: bool = False  # measures time: nothing else runs meanwhile


ROWS = {
    row.key: row
    for row in (
        Row("kill-job", "Faults", "`kill -9` of a training job at random moments, while saving included", kill_job, 25),
        Row("kill-server", "Faults", "`kill -9` of the server in mid-training", kill_server, 10),
        Row("rot", "Faults", "single bit flips and truncations over all files of a run", rot, 8),
        Row("disk", "Faults", "disk full while saving, store read-only, store deleted under a running job", disk, 15),
        Row("writers", "Faults", "two servers, eight writers on one store, kills among them", writers, 10),
        Row("clock", "Faults", "clock jumps, daylight saving, week 53, leap day", clock, 8),
        Row("memory", "Faults", "out of memory in a job", memory, 10),
        Row("load", "Load", "sessions at once on the demo, with a training running", load, 10, alone=True),
        Row("churn", "Load", "sessions coming and going", churn, 20),
        Row("isolation", "Load", "sessions with distinct data", isolation, 6),
        Row("live", "Load", "a day of live updates, compressed", live, 25),
        Row("fuzz", "Hostile input", "mutated CSV, TSV, NPZ, Parquet and zip files through the reader", fuzz, 30),
        Row("upload", "Hostile input", "mutated files through the page's own upload", upload, 10),
        Row("bombs", "Hostile input", "size and expansion limits", bombs, 5),
        Row("names", "Hostile input", "names with `../`, NUL, 300 characters, emoji, `<script>`", names, 6),
        Row("pickle", "Hostile input", "a pickle planted in every file of a run", pickles, 12),
        Row("defaults", "Server", "bind, XSRF, origins, upload limit, telemetry, error details", defaults, 4),
        Row("door", "Server", "sockets of other origins, files of strangers and of too many, frames", door, 3),
        Row("proxy", "Server", "behind a real nginx, encrypted, under a path prefix", proxy, 3),
        Row("login", "Server", "login with OpenID Connect behind it", login, 4),
        Row("advisories", "Packages", "known holes in pinned versions", advisories, 1),
        Row("licences", "Packages", "licences that do not go with MIT", licences, 1),
    )
}


def run_row(key: str, long: bool, report: Path, plant: bool = False, limit: float | None = None) -> Tally:
    """A row in a process of its own, with its defect planted if asked; a row that does not end has failed."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    if plant:
        environment |= {"TRNN_PLANT": key, "PYTHONPATH": f"{PLANTS}"}
    command = [sys.executable, "-m", "tests.rows", key, "long" if long else "short", str(report)]
    try:
        with report.with_suffix(".log").open("wb") as log:
            process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
            try:
                process.wait(limit)
            finally:
                end_all(process)
        tally = Tally(**json.loads(report.read_text()))
        return tally if tally.tried or tally.skipped else Tally(1, ["nothing was tried, and no reason given"])
    except subprocess.TimeoutExpired:
        return Tally(1, [f"did not end within {limit:.0f} s"])
    except (OSError, ValueError, TypeError):
        return Tally(1, [report.with_suffix(".log").read_text(errors="replace")[-400:] or "died without a word"])


def end_all(process: subprocess.Popen) -> None:
    """A row that has not ended is ended, with the servers and workers it has started."""
    if process.poll() is not None:
        return
    for child in [*psutil.Process(process.pid).children(recursive=True), process]:
        with suppress(psutil.Error):
            child.kill()
    process.wait()


def main(key: str, form: str, report: str) -> None:
    with tempfile.TemporaryDirectory(prefix="trnn-", ignore_cleanup_errors=True) as place:
        try:
            tally = ROWS[key].run(Path(place), form == "long")
        except Exception:
            tally = Tally(1, [traceback.format_exc()[-600:]])
    Path(report).write_text(tally.to_json())


if __name__ == "__main__":
    main(*sys.argv[1:4])
