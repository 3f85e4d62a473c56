"""The simulated demo set and its trained run are there from the first start on."""

from __future__ import annotations

import streamlit as st

from trnn_core.runs.demo import ensure_demo
from ui.data_access import runs_folder


def prepare_demo() -> None:
    """Once per server process and store: copies the shipped run there if it is not there."""
    _prepare(str(runs_folder()))


@st.cache_resource(show_spinner="Preparing the demo ...")
def _prepare(runs: str) -> None:
    ensure_demo(runs)
