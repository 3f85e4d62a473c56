"""No traceback ever reaches a user: a sentence, a way on, and a reference that is also in the log.

What a page draws stands inside `guard`. What runs before it (a callback) or beside it (the maker of a file) is wrapped
in `guarded` or offered by `ui.downloads`; its failure is noted and shown at the top of the page by `show_notes`.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any

import streamlit as st

from trnn_core.errors import TRNNError

log = logging.getLogger("trnn.dashboard")
NOTES = "failures"
WAY_ON = "Reload the page to try again; your data and runs are safe on disk."


@dataclass(frozen=True)
class Failure:
    """What is told of one: a sentence, and where to look it up unless the sentence says it all."""

    sentence: str
    details: str = ""

    def show(self) -> None:
        st.error(self.sentence, icon=":material/error:")
        if self.details:
            with st.expander("Details"):
                st.write(self.details)


def note(error: Exception, what: str = "Something went wrong on this page.", way_on: str = WAY_ON) -> Failure:
    """Bad input speaks for itself; anything unexpected gets a reference for whoever runs the server."""
    if isinstance(error, TRNNError):
        return Failure(str(error))
    reference = secrets.token_hex(4)
    log.error("reference %s", reference, exc_info=error)
    where = f"Reference **{reference}**, {datetime.now():%Y-%m-%d %H:%M}, {type(error).__name__}."
    return Failure(f"{what} {way_on}", f"{where} The server's log holds the full report under this reference.")


@contextmanager
def guard(way_on: str = WAY_ON) -> Iterator[None]:
    """Around what a page or a fragment draws."""
    try:
        yield
    except Exception as e:
        note(e, way_on=way_on).show()


def guarded(callback: Callable[..., None]) -> Callable[..., None]:
    """Around what a control calls before the page is drawn: the whole page is drawn anew when it fails."""

    @wraps(callback)
    def call(*args: Any, **kwargs: Any) -> None:
        try:
            callback(*args, **kwargs)
        except Exception as e:
            notes().append(note(e, "That did not work.", "Try it again; your data and runs are safe on disk."))
            st.rerun()

    return call


def notes() -> list[Failure]:
    """Failures that this session has still to be shown; one list for good, which makers of files add to."""
    return st.session_state.setdefault(NOTES, [])


def show_notes() -> None:
    for failure in notes():
        failure.show()
    notes().clear()
