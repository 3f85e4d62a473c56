"""Where work that a page starts is done: how many processes of this machine, or a cluster by its address."""

from __future__ import annotations

import os
from typing import Any

import streamlit as st

from trnn_core.jobs.executors import VARIABLE, cluster_address


def usual_resources() -> dict[str, Any]:
    """What one click starts with: the cluster of the environment, else the processors but one."""
    return {"workers": max(1, min(4, (os.cpu_count() or 2) - 1)), "cluster": os.environ.get(VARIABLE, "")}


def pick_workers(prefix: str) -> int:
    return int(
        st.number_input(
            "At once",
            1,
            256,
            usual_resources()["workers"],
            key=f"{prefix}_workers",
            help="Processes of this machine. More than there are free processors is not faster.",
        )
    )


def pick_cluster(prefix: str) -> str:
    return st.text_input(
        "Cluster",
        usual_resources()["cluster"],
        key=f"{prefix}_cluster",
        placeholder="tcp://10.0.0.1:8786",
        help="Address of a Dask scheduler whose workers do the work. Empty: this machine.",
    ).strip()


def checked(resources: dict[str, Any]) -> dict[str, Any]:
    """A mistake in the address is told here, not by the job."""
    cluster_address(resources["cluster"])
    return resources
