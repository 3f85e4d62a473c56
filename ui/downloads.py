"""Files to take away, made when asked for, in a thread beside the page; a maker that fails is told on the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from ui.guard import note, notes


def save_button(
    label: str, make: Callable[[], bytes], file: str, mime: str, icon: str, words: str, **options: Any
) -> None:
    """A button that saves what `make` returns, with a wheel on it meanwhile.

    The page is not run again by a click: a run that ends between the making and the fetching would throw the file away.
    So the button itself says at once that there is no file, and the page why, when it is next drawn.
    """
    st.download_button(
        label, _noted(make, file), file, mime, icon=f":material/{icon}:", on_click="ignore", help=words, **options
    )


def _noted(make: Callable[[], bytes], file: str) -> Callable[[], bytes]:
    """It runs in a thread that knows no session: what it needs is taken along."""
    failures = notes()

    def call() -> bytes:
        try:
            return make()
        except Exception as e:
            failures.append(
                note(
                    e,
                    f"The file {file} could not be made.",
                    "Try it again; the other files and the page itself are not affected.",
                )
            )
            raise

    return call
