"""Login with OpenID Connect, behind nginx and under a prefix: who is let in, and what the others get to see."""

from __future__ import annotations

import importlib.util
import secrets
from pathlib import Path

import httpx

from scripts.serve import free_port
from tests.campaign import Tally
from tests.load.client import Session, run_alone
from tests.load.provider import CLIENT, SECRET, Provider
from tests.load.proxy import PREFIX, nginx_path, proxied

PAGES = ("", "Data", "Train", "Forecast", "Report")


def write_secrets(path: Path, url: str, provider: Provider) -> Path:
    path.write_text(
        f'[auth]\nredirect_uri = "{url}/oauth2callback"\ncookie_secret = "{secrets.token_hex(32)}"\n'
        f'client_id = "{CLIENT}"\nclient_secret = "{SECRET}"\nserver_metadata_url = "{provider.url}/.well-known/openid-configuration"\n'
        '[access]\nallow = ["@lab.example", "guest@else.example"]\n'
    )
    return path


def shows_data(visitor: Session) -> bool:
    return b"France" in visitor.content() or any(
        e.WhichOneof("type") in ("plotly_chart", "dataframe") for e in visitor.shown()
    )


async def log_in(url: str) -> httpx.Cookies:
    """Press the button and follow where it leads, as a browser does; the cookies that come of it."""
    async with Session(url) as visitor:
        await visitor.click("Log in")
        assert visitor.redirect, "the button leads nowhere"
        at = visitor.redirect if visitor.redirect.startswith("http") else url.rpartition("/")[0] + visitor.redirect
        async with httpx.AsyncClient(
            trust_env=False, verify=False, follow_redirects=True, cookies=visitor.http.cookies
        ) as browser:
            await browser.get(at)
            return browser.cookies


async def look(url: str, provider: Provider, tally: Tally) -> None:
    for page in PAGES:
        with tally.case(f"{page or 'Home'} without a login"):
            async with Session(url, page) as visitor:
                assert "Please log in" in visitor.text() and not shows_data(visitor), "data without a login"
    cookies = None
    with tally.case("the login itself"):
        cookies = await log_in(url)
    if cookies is None:
        return
    for page in PAGES:
        with tally.case(f"{page or 'Home'} with a login"):
            async with Session(url, page, cookies=cookies) as visitor:
                assert "Please log in" not in visitor.text(), "not let in after a login"
                assert shows_data(visitor) and "ana@lab" in visitor.text().replace("\\", "")
    with tally.case("a forged cookie"):
        forged = httpx.Cookies()
        for cookie in cookies.jar:
            changed = (
                cookie.value[:20] + ("A" if cookie.value[20] != "A" else "B") + cookie.value[21:]
                if cookie.name.startswith("_streamlit_user")
                else cookie.value
            )  # type: ignore[index]
            forged.set(cookie.name, changed or "", domain=cookie.domain, path=cookie.path)
        async with Session(url, cookies=forged) as visitor:
            assert "Please log in" in visitor.text() and not shows_data(visitor), "a forged cookie lets in"
    with tally.case("a token signed by somebody else"):
        provider.honest = False
        async with Session(url, cookies=await log_in(url)) as visitor:
            assert "Please log in" in visitor.text() and not shows_data(visitor), "a forged token lets in"
        provider.honest = True
    for account, welcome in (
        ("eve@elsewhere.example", False),
        ("guest@else.example", True),
        ("lab.example@evil.example", False),
    ):
        with tally.case(f"the account {account}"):
            provider.account = account
            async with Session(url, cookies=await log_in(url)) as visitor:
                assert shows_data(visitor) == welcome, visitor.text()[:200]
                assert welcome or "may not use this server" in visitor.text()


def login_campaign(folder: Path) -> Tally:
    tally = Tally()
    missing = [m for m in ("authlib", "joserfc") if importlib.util.find_spec(m) is None] + ["nginx"] * (
        nginx_path() is None
    )
    if missing:
        tally.skipped = f"not installed: {', '.join(missing)}"
        return tally
    port = free_port()
    with Provider() as provider:
        file = write_secrets(folder / "secrets.toml", f"https://localhost:{port}/{PREFIX}", provider)
        with proxied(
            folder, port, options=("--secrets.files", str(file)), environment={"NO_PROXY": "localhost,127.0.0.1"}
        ) as (_, url):
            run_alone(look(url, provider, tally))
    return tally
