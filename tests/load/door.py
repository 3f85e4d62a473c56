"""Before any page runs: sockets of other origins, files of strangers, files of too many, frames, counters."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from scripts.serve import ROOT, Server, free_port
from tests.campaign import Tally
from tests.faults.workers import make_home
from tests.load.client import Session, run_alone
from tests.load.defaults import MB, handshake, put

LIMIT_MB = 30  # for all visitors together, in this test
QUICK_SECONDS = 2.0
FOREIGN = ("http://evil.example", "https://localhost.evil.example", "null", "http://[", "file://localhost")


def form(size: int) -> bytes:
    head = b'--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'
    return head + bytes(size) + b"\r\n--b--\r\n"


async def sockets(server: Server, tally: Tally) -> None:
    here = urlsplit(server.url).netloc
    tally.check(await handshake(server.url, here, server.url) == 101, "our own page gets no socket")
    for origin in (*FOREIGN, f"http://localhost:{free_port()}", f"http://127.0.0.1:{server.port + 1}"):
        begun = time.monotonic()
        status = await handshake(server.url, here, origin)
        tally.check(status != 101, f"a socket from {origin} is let in")
        tally.check(time.monotonic() - begun < QUICK_SECONDS, f"{origin} is thought about for too long")


async def files(server: Server, tally: Tally) -> None:
    async with Session(server.url, "Data", "do=Add data") as visitor, Session(server.url, "Data") as other:
        token = {"X-Xsrftoken": visitor.http.cookies.get("_streamlit_xsrf") or ""}
        statuses = [await put(visitor, form(12 * MB), **token) for _ in range(2)]  # the second takes the first's place
        tally.check(statuses == [204, 204], f"files within the limit are answered with {statuses}")
        token_of_other = {"X-Xsrftoken": other.http.cookies.get("_streamlit_xsrf") or ""}
        tally.check(await put(other, form(12 * MB), **token_of_other) == 204, "a second visitor's file is refused")
        address = f"{other.url}/_stcore/upload_file/{other.new_session.initialize.session_id}/y"
        kind = {"Content-Type": "multipart/form-data; boundary=b"}
        try:
            status = (await other.http.put(address, content=form(12 * MB), headers=kind | token_of_other)).status_code
        except httpx.HTTPError:
            status = 413  # closed while we were still sending
        tally.check(status == 413, f"files of {3 * 12} MB where {LIMIT_MB} fit are answered with {status}")
        foreign = await put(visitor, form(1), **token, Origin="http://evil.example")
        tally.check(foreign == 403, f"a file from a foreign page is answered with {foreign}")
        stranger = f"{server.url}/_stcore/upload_file/no-such-session/x"
        status = (await visitor.http.put(stranger, content=form(1), headers=kind | token)).status_code
        tally.check(status == 403, f"a stranger's file is answered with {status}")


async def pages(server: Server, tally: Tally) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        home, counters = await client.get(server.url), await client.get(f"{server.url}/_stcore/metrics")
    tally.check("frame-ancestors 'self'" in home.headers.get("content-security-policy", ""), "others may frame a page")
    tally.check(counters.status_code == 404, f"counters are answered with {counters.status_code}")


def door_campaign(folder: Path) -> Tally:
    home, tally = make_home(folder / "home"), Tally()
    watched = {"TRNN_PLANT": os.environ.get("TRNN_PLANT", "lookups"), "PYTHONPATH": f"{ROOT}/tests/plants"}
    with Server(home / "data", home / "runs", environment=watched | {"TRNN_UPLOADS_MB": str(LIMIT_MB)}) as server:

        async def look() -> None:
            for part in (sockets, files, pages):
                await part(server, tally)
            await asyncio.sleep(0.1)

        run_alone(look())
        tally.check("looked up outside" not in server.log(), "an address outside was looked up for a stranger's socket")
    return tally
