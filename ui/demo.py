"""The simulated demo set and its trained run are there from the first start on."""

from __future__ import annotations

import streamlit as st

from ui.store import data_folder, runs_folder


def prepare_demo() -> None:
    """Once per server process; copies the shipped run into the store if it is not there."""
    _prepare(str(data_folder()), str(runs_folder()))


@st.cache_resource(show_spinner="Preparing the demo ...")
def _prepare(data: str, runs: str) -> None:
    from trnn_core.training.demo import ensure_demo

    ensure_demo(runs)
