"""Where work that a page starts is done: how many processes of this machine, or the cluster that the operator named."""

from __future__ import annotations

import os
from typing import Any

import streamlit as st

from trnn_core.jobs.executors import VARIABLE


def usual_resources() -> dict[str, Any]:
    """What one click starts with: the operator's cluster, else the processors but one."""
    return {"workers": max(1, min(4, (os.cpu_count() or 2) - 1)), "cluster": has_cluster()}


def resources_again(before: dict[str, Any]) -> dict[str, Any]:
    """What stopped work goes on with: as before, on the cluster only where there still is one."""
    usual = usual_resources()
    workers, cluster = before.get("workers", usual["workers"]), before.get("cluster", usual["cluster"])
    return {"workers": workers, "cluster": bool(cluster) and has_cluster()}


def has_cluster() -> bool:
    """Whether the operator has set one; a mistake in its address is told by the work that wants it."""
    return bool(os.environ.get(VARIABLE, "").strip())


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


def pick_cluster(prefix: str) -> bool:
    """Whether to work on the cluster; asked only where the operator has set one. A page never says which."""
    if not has_cluster():
        return False
    places = {False: "This machine", True: "The lab's cluster"}
    return bool(
        st.radio(
            "Where",
            list(places),
            index=1,
            key=f"{prefix}_cluster",
            format_func=places.__getitem__,
            horizontal=True,
            help="The results are the same to the last bit. Which cluster it is, the operator of this server decides.",
        )
    )
