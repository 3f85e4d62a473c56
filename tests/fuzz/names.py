"""Names that try to be something else: paths, NUL, very long, emoji, markup. Nothing is written outside the store."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from scripts.serve import Server
from tests.campaign import Tally
from tests.fuzz.corpus import CSV
from tests.load.client import Session, run_alone
from tests.training.small import TINY
from trnn_core.data.readers.npz import write_npz
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.runs.execute import train_run
from trnn_core.runs.store import RunStore

NAMES = (
    "../../evil",
    "..",
    "/etc/passwd",
    "a/../../b",
    "..\\..\\evil",
    "nul\0byte",
    "x" * 300,
    "🦆" * 90,
    "é\u202ename",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[a](javascript:alert(1))",
    "$(touch evil)",
    "; rm -rf x",
    "=cmd()",
    "%2e%2e%2fevil",
    ".hidden",
    "con",
    "a\nb",
    "~root",
    "",
)


def hostile(home: Path) -> tuple[str, ...]:
    return (*NAMES, f"{home.parent}/evil")  # as an absolute path, too


def snapshot(home: Path) -> dict[str, str]:
    """Every file beside the store and the data and in the folder above, with its content."""
    mine = {home / "runs", home / "data"}
    beside = [p for p in sorted(home.parent.rglob("*")) if not mine & {p, *p.parents}]
    return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() if p.is_file() else "" for p in beside}


def core_names(home: Path, series: RelationalSeries, tally: Tally) -> None:
    """Through the store: as id, name, tag, and in every verb that takes one."""
    store = RunStore(home / "runs")
    store.create(TINY, series, run_id="kept", state="paused")
    for name in hostile(home):
        with tally.case(f"the store with {name!r:.40}"):
            before = snapshot(home)
            for act in (
                lambda n: store.create(TINY, series, run_id=n or "/", state="paused"),
                lambda n: store.create(TINY, series, name=n, state="paused"),
                lambda n: store.rename("kept", n),
                lambda n: store.tag("kept", add=[n]),
                lambda n: store.get(n),
                lambda n: store.delete(n),
                lambda n: store.restore(n),
                lambda n: store.get(n).resume(),
                lambda n: store.get(n).ask("stop"),
                lambda n: write_npz(series, home / "data" / f"{n}.npz") if "/" not in n and n else None,
            ):
                with suppress(TRNNError):  # refused in words, or done inside the store
                    act(name)
            assert snapshot(home) == before, "something was written beside the store"
            kept = store.get("kept")
            assert kept.verify() == [] and all(
                len(label) <= 120 and label.isprintable() for label in (kept.name, *kept.tags)
            )


async def page_names(url: str, home: Path, tally: Tally) -> None:
    """Through the pages: in the address, as the name of an upload, of a set and of a run."""
    store = RunStore(home / "runs")
    for name in hostile(home):
        with tally.case(f"the pages with {name!r:.40}"):
            before = snapshot(home)
            for page, key in (("Data", "data"), ("Forecast", "run"), ("Train", "run")):
                async with Session(url, page, f"{key}={quote(name)}") as visitor:
                    check_markup(visitor)
            async with Session(url, "Data", "do=Add data") as visitor:
                file = "".join(c for c in name if c not in "\r\n\0")  # a browser sends no such header
                await visitor.upload("Your files", {f"{file}.csv": CSV.encode()})
                check_markup(visitor)
                visitor.set(visitor.widget("text_input", "Name of the set"), name)
                visitor.set(visitor.widget("text_input", "Countries"), "all")
                words = len(visitor.alerts())
                await visitor.click("Import")
                await visitor.wait_for(
                    lambda words=words: visitor.has("button", "Save") or len(visitor.alerts()) > words,
                    "the import ends",
                )
                check_markup(visitor)
                if visitor.has("button", "Save and explore"):
                    await visitor.click("Save and explore")
                    check_markup(visitor)
            async with Session(url, "Train") as visitor:
                visitor.set(visitor.widget("text_input", "Name of the run"), name)
                await visitor.click("Start training")
                check_markup(visitor)
                run = store.runs()[0]
                assert run.status().is_live and len(run.name) <= 120 and run.name.isprintable(), run.name
                store.get(run.run_id).ask("cancel")
            assert snapshot(home) == before, "something was written beside the data"
            strange = [p.name for p in (home / "data").iterdir() if p.suffix not in (".npz", ".csv") or "/" in p.name]
            assert not strange, f"in the data folder: {strange}"


def check_markup(visitor: Session) -> None:
    """Names reach the page as text: never as raw HTML, and never as a link that a person did not write."""
    for element in visitor.shown():
        kind = element.WhichOneof("type")
        if kind == "html":
            assert "alert(1)" not in element.html.body, "a name became HTML"
        if kind == "markdown":
            assert not (element.markdown.allow_html and "alert(1)" in element.markdown.body), "a name became HTML"
            assert "](javascript:" not in element.markdown.body and "<script>" not in element.markdown.body.replace(
                "\\<script\\>", ""
            ), element.markdown.body


def names_campaign(folder: Path, series: RelationalSeries, pages: bool = True) -> Tally:
    from tests.faults.workers import make_home
    from tests.jobs.ending import end_jobs

    home, tally = make_home(folder / "home"), Tally()
    core_names(home, series, tally)
    if not pages:
        return tally
    store = RunStore(home / "runs")
    for n, name in enumerate(("<script>alert(1)</script>", "[a](javascript:alert(1))", "🦆" * 90)):
        train_run(store, store.create(TINY, series, run_id=f"named-{n}", name=name))
    with Server(home / "data", home / "runs") as server:
        run_alone(page_names(server.url, home, tally))
    end_jobs(store)
    return tally
