"""The server as it starts by itself: this computer only, protected, silent, and no word of its insides to a browser."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil

from scripts.serve import ROOT, Server
from tests.campaign import Tally
from tests.faults.workers import make_home
from tests.load.client import Failed, Session, run_alone

MB = 2**20
SECRET = "the-inside-of-the-server"  # in the message of a planted mistake; must not travel


def listens(pid: int) -> set[str]:
    return {c.laddr.ip for c in psutil.Process(pid).net_connections() if c.status == psutil.CONN_LISTEN}


async def handshake(url: str, host: str, origin: str) -> int:
    """A WebSocket handshake written by hand; the status it is answered with (101: come in)."""
    at = urlsplit(url)
    reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
    lines = (
        "GET /_stcore/stream HTTP/1.1",
        f"Host: {host}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Origin: {origin}",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Protocol: streamlit",
    )
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
    status = int((await asyncio.wait_for(reader.readline(), 20)).split()[1])
    writer.close()
    return status


async def put(visitor: Session, content: object, **headers: str) -> int:
    """An upload of one's own making; the status it is answered with."""
    address = f"{visitor.url}/_stcore/upload_file/{visitor.new_session.initialize.session_id}/x"
    kind = {"Content-Type": "multipart/form-data; boundary=b"}
    return (await visitor.http.put(address, content=content, headers=kind | headers)).status_code  # type: ignore[arg-type]


async def endless(megabytes: int):
    yield b'--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'
    for _ in range(megabytes):
        yield bytes(MB)


async def look(server: Server, tally: Tally) -> None:
    tally.check(listens(server.process.pid) <= {"127.0.0.1", "::1"}, f"listens on {listens(server.process.pid)}")
    async with Session(server.url, "Data", "do=Add data") as visitor:
        settings = visitor.new_session.config
        tally.check(not settings.gather_usage_stats, "usage statistics are on")
        token = visitor.http.cookies.get("_streamlit_xsrf") or ""
        small = b'--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\nx\r\n--b--\r\n'
        tally.check(await put(visitor, small) == 403, "an upload without the token is taken")
        tally.check(
            await put(visitor, small, **{"X-Xsrftoken": "2|0|0|0"}) == 403, "an upload with a wrong token is taken"
        )
        tally.check(await put(visitor, small, **{"X-Xsrftoken": token}) in (200, 204), "a right upload is refused")
        before = psutil.Process(server.process.pid).memory_info().rss
        try:
            status = await put(visitor, endless(230), **{"X-Xsrftoken": token})
        except httpx.HTTPError:
            status = 413  # closed while we were still sending
        tally.check(status == 413, f"an upload of 230 MB without a declared length is answered with {status}")
        grown = (psutil.Process(server.process.pid).memory_info().rss - before) / MB
        tally.check(grown < 300, f"and cost {grown:.0f} MB")
        uploader = visitor.widget("file_uploader", "Your files")
        tally.check(uploader.max_upload_size_mb == 200, f"the page allows {uploader.max_upload_size_mb} MB")
    here = urlsplit(server.url).netloc
    for host, origin, right in (
        (here, server.url, True),
        (here, "http://evil.example", False),
        ("evil.example", "http://evil.example", False),
        ("evil.example", server.url, False),
    ):
        status = await handshake(server.url, host, origin)
        tally.check((status == 101) == right, f"a socket for {host} from {origin} is answered with {status}")
    async with httpx.AsyncClient(trust_env=False) as client:
        cross = await client.get(f"{server.url}/_stcore/health", headers={"Origin": "http://evil.example"})
        tally.check(
            cross.headers.get("access-control-allow-origin") in (None, "", server.url), "other origins may read"
        )
        for path in (
            "/../../etc/passwd",
            "/static/../../../etc/passwd",
            "/media/../../etc/passwd",
            "/component/x/../../../etc/passwd",
            "/app/static/../app.py",
        ):
            answer = await client.get(server.url + path)
            tally.check("root:" not in answer.text and "import streamlit" not in answer.text, f"{path} is served")


async def mistakes(server: Server, tally: Tally) -> None:
    """A page with a mistake in it: the visitor learns that, and nothing else."""
    for page in ("", "Data"):
        visitor = Session(server.url, page)
        try:
            await visitor.open()
            tally.check(False, "the planted mistake is not noticed")
        except Failed:
            sent = visitor.content()
            tally.check(SECRET.encode() not in sent, f"{page or 'Home'} tells the message of an error")
            tally.check(str(ROOT).encode() not in sent and b"Traceback" not in sent, f"{page or 'Home'} tells paths")
        finally:
            await visitor.close()


def outside_requests(server: Server) -> list[str]:
    """Addresses other than this server's that a real browser asks for on a first visit."""
    from playwright.sync_api import sync_playwright

    from scripts.find_browser import installed

    asked: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=installed(), args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        page = browser.new_page()
        page.on("request", lambda r: asked.append(r.url))
        page.on("websocket", lambda w: asked.append(w.url))
        page.goto(server.url)
        page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=60_000)
        page.wait_for_timeout(1500)
        browser.close()
    return [
        u
        for u in asked
        if urlsplit(u).hostname not in ("localhost", "127.0.0.1", None) and not u.startswith(("data:", "blob:"))
    ]


def defaults_campaign(folder: Path, browser: bool = True, options: tuple[str, ...] = ()) -> Tally:
    home, tally = make_home(folder / "home"), Tally()
    planted = os.environ.get("TRNN_PLANT") == "defaults"
    options = (
        (*options, "--server.enableXsrfProtection", "false", "--client.showErrorDetails", "full")
        if planted
        else options
    )
    with Server(home / "data", home / "runs", options=options) as server:
        run_alone(look(server, tally))
        if browser:
            tally.check(not (outside := outside_requests(server)), f"a browser is sent to {outside[:3]}")
    crash = {"TRNN_PLANT": "crash", "PYTHONPATH": f"{ROOT}/tests/plants"}
    with Server(home / "data", home / "runs", options=options, environment=crash) as server:
        run_alone(mistakes(server, tally))
        tally.check(SECRET in server.log(), "the server's log must tell what the browser is not told")
    return tally
