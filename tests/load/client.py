"""A browser without a screen: speaks the dashboard's own WebSocket protocol, holds the page, clicks and uploads.

It does what Streamlit's frontend does (one rerun request per action, all widget values with each, reruns of live
fragments when the server asks for them) and measures each from sending to the server's word that the script has ended,
and to the last byte of what stands in a frame.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeVar
from urllib.parse import urljoin, urlsplit

import httpx
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

WRONG = ("Something went wrong", "unexpected")  # the guard's and a task's words for what nobody foresaw
VALUES = {
    "selectbox": "string_value",
    "text_input": "string_value",
    "text_area": "string_value",
    "button": "trigger_value",
    "checkbox": "bool_value",
    "download_button": "trigger_value",
}

Result = TypeVar("Result")


class Failed(Exception):
    """The page did not answer as it should."""


def unchecked() -> ssl.SSLContext:
    """Any certificate will do: those of a test are its own."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


class Session:
    """One visitor. `elements` is what the page shows now, by place."""

    def __init__(
        self, url: str, page: str = "", query: str = "", cookies: httpx.Cookies | None = None, timeout: float = 60.0
    ):
        self.url, self.page, self.query, self.timeout = url.rstrip("/"), page, query, timeout
        self.http = httpx.AsyncClient(cookies=cookies, timeout=timeout, trust_env=False, verify=False)
        self.elements: dict[tuple[int, ...], Any] = {}
        self.states: dict[str, WidgetState] = {}
        self.live: dict[str, float] = {}  # fragments to be run again, and how often
        self.page_hash = ""  # the server's name for the page, once it has told it
        self.new_session: Any = None
        self.redirect = ""  # where a login leads
        self.received = 0  # bytes through the socket
        self.frames: dict[str, bytes] = {}  # what stands in the page's frames, by address

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def open(self) -> float:
        """The page's files, the socket, the first run of the script; seconds until it has ended."""
        begun = time.perf_counter()
        for path in (f"/{self.page}", "/_stcore/health", "/_stcore/host-config"):
            (await self.http.get(self.url + path)).raise_for_status()
        at = urlsplit(self.url)
        token, secure = self.http.cookies.get("_streamlit_xsrf"), at.scheme == "https"
        self.socket = await websockets.connect(
            f"{'wss' if secure else 'ws'}://{at.netloc}{at.path}/_stcore/stream",
            ssl=unchecked() if secure else None,
            origin=f"{at.scheme}://{at.netloc}",  # type: ignore[arg-type]
            subprotocols=["streamlit", token] if token else ["streamlit"],  # type: ignore[list-item]
            additional_headers={"Cookie": "; ".join(f"{c.name}={c.value}" for c in self.http.cookies.jar)},
            max_size=None,
            compression=None,
            open_timeout=self.timeout,
        )
        await self.rerun()
        return time.perf_counter() - begun

    async def close(self) -> None:
        if hasattr(self, "socket"):
            await self.socket.close()
        await self.http.aclose()

    async def rerun(self, fragment: str = "") -> float:
        """Run the script, or one fragment of it; seconds until it has ended."""
        begun = time.perf_counter()
        self.live = self.live if fragment else {}
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.fragment_id = self.query, fragment
        state.page_name, state.page_script_hash = "" if self.page_hash else self.page, self.page_hash
        state.is_auto_rerun = bool(fragment)
        state.context_info.timezone = "Europe/Berlin"
        state.widget_states.widgets.extend(self.states.values())
        state.widget_states.SetInParent()
        await self.socket.send(message.SerializeToString())
        for name in [n for n, s in self.states.items() if s.WhichOneof("value") == "trigger_value"]:
            del self.states[name]  # a click is over once it is told
        await asyncio.wait_for(self._listen(), self.timeout)
        await self._fill_frames()
        return time.perf_counter() - begun

    async def _fill_frames(self) -> None:
        """Fetch what the page shows in frames, and the scripts it names, where the address is a new one."""
        wanted = [e.iframe.src for e in self.shown() if e.WhichOneof("type") == "iframe" and e.iframe.src]
        self.frames = {src: self.frames.get(src) or await self._fetch(src) for src in wanted}

    async def _fetch(self, src: str) -> bytes:
        place = urljoin(self.url, src)
        page = (await self.http.get(place)).raise_for_status()
        for script in re.findall(r'<script src="([^"]+)"', page.text):
            (await self.http.get(urljoin(place, script))).raise_for_status()
        return page.content

    async def _listen(self) -> None:
        """Take in what the server sends until the script has ended."""
        fresh: set[tuple[int, ...]] = set()
        while True:
            message = ForwardMsg.FromString(content := await self.socket.recv())  # type: ignore[arg-type]
            self.received += len(content)
            kind = message.WhichOneof("type")
            if kind == "new_session":
                self.new_session = message.new_session
                if not message.metadata.run.fragment_ids:
                    self.live = {}  # a run of the whole page names its live fragments anew
            elif kind == "delta":
                fresh.add(place := tuple(message.metadata.delta_path))
                self.elements[place] = message.delta
            elif kind == "auto_rerun":
                self.live[message.auto_rerun.fragment_id] = message.auto_rerun.interval
            elif kind == "page_info_changed":
                self.query = message.page_info_changed.query_string
            elif kind == "navigation":
                self.page_hash = message.navigation.page_script_hash
            elif kind == "auth_redirect":
                self.redirect = message.auth_redirect.url
            elif kind == "script_finished":
                how = message.script_finished
                if (
                    how == ForwardMsg.FINISHED_SUCCESSFULLY
                ):  # what was not sent again is gone; a fragment leaves the rest
                    self.elements = {place: e for place, e in self.elements.items() if place in fresh}
                self._look(how)
                if how != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                    return
                fresh = set()

    def _look(self, how: int) -> None:
        """Nothing on the page may tell of a mistake."""
        if how == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
            raise Failed("the script does not compile")
        for element in self.shown():
            kind = element.WhichOneof("type")
            if kind == "exception":
                raise Failed(f"an exception is shown: {element.exception.type} {element.exception.message}")
            if kind == "alert" and any(words in element.alert.body for words in WRONG):
                raise Failed(f"an unforeseen error is shown: {self.text()[:300]}")

    def shown(self) -> list[Any]:
        """Elements on the page, in order."""
        return [d.new_element for _, d in sorted(self.elements.items()) if d.WhichOneof("type") == "new_element"]

    def widget(self, kind: str, label: str = "") -> Any:
        """The first widget of a kind whose label holds the given words."""
        for element in self.shown():
            if element.WhichOneof("type") == kind and label in getattr(getattr(element, kind), "label", ""):
                return getattr(element, kind)
        raise Failed(f"there is no {kind} {label!r} on {self.page or 'Home'}: {self.text()[:300]}")

    def has(self, kind: str, label: str = "") -> bool:
        try:
            return bool(self.widget(kind, label).id)
        except Failed:
            return False

    def set(self, widget: Any, value: Any) -> None:
        """Change a widget; the server is told with the next rerun."""
        state = WidgetState(id=widget.id)
        kind = type(widget).DESCRIPTOR.name
        if kind == "Slider":
            state.double_array_value.data.append(value)
        elif kind == "ButtonGroup":
            state.string_array_value.data.append(value)
        elif kind == "MultiSelect":
            state.string_array_value.data.extend(value)
        elif kind == "FileUploader":
            state.file_uploader_state_value.CopyFrom(value)
        else:
            snake = {
                "Selectbox": "selectbox",
                "TextInput": "text_input",
                "TextArea": "text_area",
                "Button": "button",
                "Checkbox": "checkbox",
            }[kind]
            setattr(state, VALUES[snake], value)
        self.states[widget.id] = state

    async def click(self, label: str) -> float:
        self.set(self.widget("button", label), True)
        return await self.rerun()

    async def wait_for(self, true: Callable[[], bool], words: str, seconds: float = 300.0) -> None:
        """Look again, as the page asks for, until something is there."""
        deadline = time.monotonic() + seconds
        while not true():
            if time.monotonic() > deadline:
                raise Failed(f"not within {seconds:g} s: {words}; the page shows {self.text()[-300:]}")
            await asyncio.sleep(0.3)
            await self.rerun(next(iter(self.live), ""))

    def alerts(self) -> list[str]:
        return [e.alert.body for e in self.shown() if e.WhichOneof("type") == "alert"]

    def text(self) -> str:
        """Everything that is written on the page."""
        parts = []
        for element in self.shown():
            kind = element.WhichOneof("type")
            told = getattr(element, kind)
            parts += [str(getattr(told, name)) for name in ("body", "label", "text") if getattr(told, name, "")]
        return "\n".join(parts)

    def content(self) -> bytes:
        """All that the server has sent for this page, figures and frames included."""
        return b"".join([*(d.SerializeToString() for d in self.elements.values()), *self.frames.values()])

    async def upload(self, label: str, files: dict[str, bytes]) -> float:
        """Hand files to an uploader as the frontend does: ask for addresses, put the bytes there, tell the script."""
        from streamlit.proto.Common_pb2 import FileUploaderState

        widget = self.widget("file_uploader", label)
        message = BackMsg()
        message.file_urls_request.request_id = "u"
        message.file_urls_request.file_names.extend(files)
        message.file_urls_request.session_id = self.new_session.initialize.session_id
        await self.socket.send(message.SerializeToString())
        while True:
            answer = ForwardMsg.FromString(await asyncio.wait_for(self.socket.recv(), self.timeout))
            if answer.WhichOneof("type") == "file_urls_response":
                break
        state = FileUploaderState()
        for (name, content), urls in zip(files.items(), answer.file_urls_response.file_urls, strict=True):
            await self.put(urls.upload_url, name, content)
            state.uploaded_file_info.add(name=name, size=len(content), file_id=urls.file_id, file_urls=urls)
        self.set(widget, state)
        return await self.rerun()

    async def put(self, address: str, name: str, content: bytes) -> None:
        at = urlsplit(self.url)
        token = self.http.cookies.get("_streamlit_xsrf")
        answer = await self.http.put(
            self.url + address.removeprefix(at.path),  # the server names it without the proxy's prefix
            files={"file": (name, content)},
            headers={"X-Xsrftoken": token or "", "Origin": f"{at.scheme}://{at.netloc}"},
        )
        if answer.status_code not in (200, 204):
            raise Failed(f"the upload was answered with {answer.status_code}: {answer.text[:200]}")


def run_alone(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """asyncio.run in a thread of its own: browser tests in the same process keep a running loop in the main one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
