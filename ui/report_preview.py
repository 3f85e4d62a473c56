"""The preview of a report: kept once for all who look at it, fetched by their browsers when it changes, not sent to
every session with every rerun."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

import streamlit as st
from plotly.offline import get_plotlyjs
from streamlit import runtime

from trnn_core.export.html_report import html_report
from trnn_core.export.material import gather
from trnn_core.runs.run import Run
from trnn_core.verbs.export import request_of
from ui.data_access import run_store

HEIGHT = 860


class Served(NamedTuple):
    """A file for browsers to fetch.

    name    of random letters; the address is made of it, so that nobody finds a file by guessing, and no two large
            ones, of which Streamlit compares only parts, are taken for one
    """

    content: bytes
    mime: str
    name: str


def preview(run: Run, sections: Sequence[str]) -> None:
    library = publish(_library(), "report-library")
    page = _page(run.run_id, request_of(run, "preview", sections).stored(), library.rpartition("/")[2])
    st.iframe(publish(page, "report-preview"), height=HEIGHT, alt="Preview of the report")


def publish(file: Served, place: str) -> str:
    """Where browsers find a file, for as long as a session shows it. Streamlit keeps one copy for all of them.

    What `st.image` and the like do with their files; no element does it with a page, and `st.iframe` leaves out the
    path prefix of a proxy.
    """
    address = runtime.get_instance().media_file_mgr.add(file.content, file.mime, place, file.name)
    prefix = st.get_option("server.baseUrlPath").strip("/")
    return f"/{prefix}{address}" if prefix else address


@st.cache_resource(show_spinner=False)
def _library() -> Served:
    return Served(get_plotlyjs().encode(), "text/javascript", secrets.token_hex(16))


@st.cache_resource(max_entries=16, show_spinner="Writing the report ...")
def _page(run_id: str, asked: dict[str, Any], library: str) -> Served:
    """`asked` is all that determines the report; the library stands beside the page, under the address given."""
    text = html_report(gather(run_id, run_store(), asked["made"]), asked["sections"], library=library)
    return Served(text.encode(), "text/html", secrets.token_hex(16))
