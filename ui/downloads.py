"""Files to take away, made when asked for, in a thread beside the page; a maker that fails says so on the page."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from ui.guard import guard, note, notes

MAKERS = "makers"
LOOK_SECONDS, LONGEST = 0.5, 150.0


@dataclass
class Makers:
    """How many files this session has asked for and how many makers are through, well or badly."""

    asked: int = 0
    over: int = 0
    since: float = 0.0

    @property
    def busy(self) -> bool:
        return self.asked > self.over and time.monotonic() - self.since < LONGEST


def save_button(label: str, make: Callable[[], bytes], file: str, mime: str, icon: str, words: str, **options: Any) -> None:  # fmt: skip
    """A button that saves what `make` returns; the browser shows a wheel on it meanwhile."""
    st.download_button(label, _noted(make, file), file, mime, icon=f":material/{icon}:", on_click=_watch, help=words, **options)  # fmt: skip


def watch_makers() -> None:
    """Part of every page's frame: while a file is being made, looks whether it went well."""
    st.fragment(_look, key=MAKERS)()


def _look() -> None:
    with guard():
        if notes():
            st.rerun()  # the page's frame shows them
        if _makers().busy:
            st.fragment(_wait, run_every=LOOK_SECONDS, key="makers-wait")()


def _wait() -> None:
    if notes() or not _makers().busy:
        st.rerun(scope=MAKERS)


def _watch() -> None:
    makers = _makers()
    makers.asked, makers.since = makers.asked + 1, time.monotonic()
    st.rerun(scope=MAKERS)  # nothing else of the page changes


def _makers() -> Makers:
    return st.session_state.setdefault("makers_count", Makers())


def _noted(make: Callable[[], bytes], file: str) -> Callable[[], bytes]:
    """It runs in a thread that knows no session: what it needs is taken along."""
    failures, makers = notes(), _makers()

    def call() -> bytes:
        try:
            return make()
        except Exception as e:
            failures.append(note(e, f"The file {file} could not be made.", "Try it again; the other files and the page itself are not affected."))  # fmt: skip
            raise
        finally:
            makers.over += 1

    return call
