"""The door of the server: what is decided before any page runs, whatever stands in front of it.

A socket comes from our own address or not at all, and that is judged by comparing words: nothing is looked up outside.
Files are taken only from visitors whom a page has let in, and only as many as memory bears. Nobody else may show our
pages in a frame, and what Streamlit counts about its visitors is not told.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from streamlit import config, runtime

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

VARIABLE = "TRNN_UPLOADS_MB"  # held in memory for all visitors together
UPLOADS_MB = 1000
DRAINED = 2**20  # bytes of a refused file that are still read, so that a browser hears why
LOCAL = ("localhost", "127.0.0.1", "::1", "0.0.0.0")
HEADERS = (
    (b"x-frame-options", b"SAMEORIGIN"),
    (b"content-security-policy", b"frame-ancestors 'self'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
)


class Visitors:
    """Who may hand in files, and how much each has; asked by the server's loop and by the threads of the pages."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[str, dict[str, int]] = {}  # session -> file -> bytes

    def let_in(self, session: str) -> None:
        with self._lock:
            self._held.setdefault(session, {})

    def turn_away(self, session: str) -> None:
        with self._lock:
            self._held.pop(session, None)

    def is_in(self, session: str) -> bool:
        with self._lock:
            return session in self._held

    def hold(self, session: str, file: str, size: int, limit: int) -> bool:
        """Note the size of a file; False when there is no room for it. Sessions that are gone hold nothing."""
        with self._lock:
            for gone in [s for s in self._held if not runtime.get_instance().is_active_session(s)]:
                del self._held[gone]
            files = self._held.get(session, {})
            others = sum(sum(held.values()) for held in self._held.values()) - files.get(file, 0)
            if others + size > limit:
                return False
            files[file] = size
            return True

    def release(self, session: str, file: str) -> None:
        with self._lock:
            self._held.get(session, {}).pop(file, None)


visitors = Visitors()


def is_ours(origin: str | None, host: str | None, allowed: Iterable[str] = (), hosts: Iterable[str] = ()) -> bool:
    """Whether a page of this origin may talk to the server called `host`.

    allowed    origins that the operator has listed
    hosts      names under which people reach the server through a proxy

    >>> is_ours("http://localhost:8501", "localhost:8501"), is_ours("http://localhost:3000", "localhost:8501")
    (True, False)
    >>> is_ours("https://lab.example", "127.0.0.1:8501", hosts=["lab.example"]), is_ours(None, "localhost:8501")
    (True, True)
    """
    if origin is None:  # no browser: programs send none, and a page of another site cannot leave it out
        return True
    try:
        found = urlsplit(origin)
        name = found.hostname or ""
    except ValueError:
        return False
    if found.scheme not in ("http", "https") or not name:
        return False
    named = any(name == h or (h.startswith("*.") and name.endswith(h[1:])) for h in hosts if h not in LOCAL)
    return found.netloc == host or origin in allowed or named


class Door:
    """ASGI middleware around Streamlit."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        origins = [o.strip() for o in config.get_option("server.corsAllowedOrigins")]
        ours = is_ours(headers.get("origin"), headers.get("host"), origins, config.get_option("server.allowedHosts"))
        if scope["type"] == "websocket":
            if not ours:
                return await send({"type": "websocket.close", "code": 1008})
            return await self.app(scope, receive, send)
        parts = [part for part in scope["path"].split("/") if part]
        if parts[-2:] == ["_stcore", "metrics"]:
            return await answer(receive, send, 404, "Not found")
        if parts[-4:-2] == ["_stcore", "upload_file"] and scope["method"] in ("PUT", "DELETE"):
            if not ours:
                return await answer(receive, send, 403, "This address may not hand in files.")
            return await self._upload(scope, receive, send, parts[-2], parts[-1])
        await self.app(scope, receive, guarded_send(send))

    async def _upload(self, scope: Message, receive: Receive, send: Send, session: str, file: str) -> None:
        if not visitors.is_in(session):
            return await answer(receive, send, 403, "Open the page first, and log in where it asks for that.")
        if scope["method"] == "DELETE":
            visitors.release(session, file)
            return await self.app(scope, receive, guarded_send(send))
        limit, size, begun = room(), 0, False

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if not visitors.hold(session, file, size, limit):
                raise NoRoom
            return message

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            if message["type"] == "http.response.start" and message["status"] >= 300:
                visitors.release(session, file)  # not taken
            await guarded_send(send)(message)

        try:
            await self.app(scope, counted, watched)
        except NoRoom:
            visitors.release(session, file)
            if not begun:
                await answer(receive, send, 413, "The server holds too many files just now; try again in a while.")


class NoRoom(Exception):
    """All visitors' files together would be more than memory bears."""


def room() -> int:
    """Bytes that all visitors' files may take together."""
    given = os.environ.get(VARIABLE, "")
    return (int(given) if given.isdigit() else UPLOADS_MB) * 2**20


def guarded_send(send: Send) -> Send:
    """Every answer carries the rules for browsers."""

    async def add(message: Message) -> None:
        if message["type"] == "http.response.start":
            names = {name.lower() for name, _ in message.get("headers", [])}
            message["headers"] = [*message.get("headers", []), *(h for h in HEADERS if h[0] not in names)]
        await send(message)

    return add


async def answer(receive: Receive, send: Send, status: int, words: str) -> None:
    read, body = 0, words.encode()
    while read < DRAINED and (message := await receive()).get("more_body"):
        read += len(message.get("body", b""))
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await guarded_send(send)({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
