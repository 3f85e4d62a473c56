"""Behind a real nginx with encryption and a path prefix: pages, sockets, uploads and links work there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from scripts.serve import ROOT, Server, free_port
from tests.campaign import Tally
from tests.faults.workers import make_home
from tests.fuzz.corpus import CSV
from tests.load.client import Session, run_alone

PREFIX = "trnn"


def documented() -> str:
    """The block of docs/server.md: what people are told is what is tested."""
    found = re.search(r"```nginx\n(.*?)```", (ROOT / "docs" / "server.md").read_text(), re.S)
    assert found, "docs/server.md has no nginx block"
    return found[1]


def configure(folder: Path, port: int, behind: int) -> Path:
    """The documented block with a port, a name and a certificate of the test's own."""
    certificate, key = folder / "c.pem", folder / "c.key"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-keyout",
            str(key),
            "-out",
            str(certificate),
        ],
        check=True,
        capture_output=True,
    )
    block = documented()
    for old, new in (
        ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        ("server_name my.server.example;", "server_name localhost;"),
        ("/etc/ssl/my.server.example.pem", str(certificate)),
        ("/etc/ssl/my.server.example.key", str(key)),
        ("http://127.0.0.1:8501", f"http://127.0.0.1:{behind}"),
    ):
        assert old in block, f"{old} is not in the documented block"
        block = block.replace(old, new)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    path = folder / "nginx.conf"
    account = "user root;\n" if os.geteuid() == 0 else ""  # the folders of a test are their owner's alone
    path.write_text(
        f"{account}daemon off;\npid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}{block}}}\n"
    )
    return path


@contextmanager
def nginx(folder: Path, port: int, behind: int) -> Iterator[None]:
    folder.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [nginx_path() or "nginx", "-c", str(configure(folder, port, behind)), "-p", str(folder)],
        stderr=subprocess.DEVNULL,
    )
    try:
        time.sleep(1.0)
        assert process.poll() is None, (folder / "error.log").read_text()
        yield
    finally:
        process.terminate()
        process.wait(20)


def nginx_path() -> str | None:
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


@contextmanager
def proxied(
    folder: Path, port: int, options: Sequence[str] = (), environment: dict[str, str] | None = None
) -> Iterator[tuple[Server, str]]:
    """A server under a prefix and an nginx before it; the address people would use."""
    home = make_home(folder / "home")
    prefix = "" if os.environ.get("TRNN_PLANT") == "proxy" else PREFIX
    with (
        Server(home / "data", home / "runs", prefix=prefix, options=options, environment=environment) as server,
        nginx(folder / "nginx", port, server.port),
    ):
        yield server, f"https://localhost:{port}/{PREFIX}"


async def look(url: str, tally: Tally) -> None:
    async with httpx.AsyncClient(trust_env=False, verify=False) as client:
        page = await client.get(f"{url}/")
        tally.check(page.status_code == 200 and "<title>" in page.text, f"the page is answered with {page.status_code}")
        for asset in re.findall(r'(?:src|href)="\.?/?([^":]+\.(?:js|css))"', page.text)[:3]:
            answer = await client.get(f"{url}/{asset}")
            tally.check(
                answer.status_code == 200 and "text/html" not in answer.headers["content-type"],
                f"{asset} is not served under the prefix",
            )
        other = await client.get(url.rpartition("/")[0] + "/Forecast")
        tally.check("streamlit" not in other.text.lower(), f"shown outside the prefix too ({other.status_code})")
    for name in ("", "Data", "Train", "Forecast", "Report"):
        with tally.case(f"{name or 'Home'} through the proxy"):
            async with Session(url, name) as visitor:  # the WebSocket upgrade is part of it
                assert "TRNN Studio" in visitor.text()
                assert name != "Train" or b"/trnn/Forecast?run=" in visitor.content(), "links leave the prefix"
                assert name != "Report" or visitor.frames, "no preview is shown"  # it was fetched under the prefix
    with tally.case("an upload of 3 MB through the proxy"):
        async with Session(url, "Data", "do=Add data") as visitor:
            large = CSV + "".join(f"2014-01-{1 + n % 28:02},A{n},B,talks,1\n" for n in range(120_000))
            await visitor.upload("Your files", {"large.csv": large.encode()})
            assert visitor.has("button", "Import"), visitor.alerts()


def proxy_campaign(folder: Path) -> Tally:
    tally = Tally()
    if nginx_path() is None or shutil.which("openssl") is None:
        tally.skipped = "nginx or openssl is not installed"
        return tally
    with proxied(folder, free_port()) as (_, url):
        run_alone(look(url, tally))
    return tally
