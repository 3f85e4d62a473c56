"""No traceback ever reaches a user: a sentence, a way on, and a reference that is also in the log."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import streamlit as st

from trnn_core.errors import TRNNError

log = logging.getLogger("trnn.dashboard")


@contextmanager
def guard(way_on: str = "Reload the page to try again; your data and runs are safe on disk.") -> Iterator[None]:
    """Show bad input as its own sentence, and anything unexpected with a reference for whoever runs the server."""
    try:
        yield
    except TRNNError as e:
        st.error(str(e), icon=":material/error:")
    except Exception as e:
        reference = secrets.token_hex(4)
        log.exception("reference %s", reference)
        st.error(f"Something went wrong on this page. {way_on}", icon=":material/error:")
        with st.expander("Details"):
            st.write(
                f"Reference **{reference}**, {datetime.now():%Y-%m-%d %H:%M}, {type(e).__name__}. "
                "The server's log holds the full report under this reference."
            )
