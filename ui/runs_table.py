"""Recent runs with status and the course of their validation loss."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from trnn_core.errors import TRNNError
from trnn_core.runs.run import Run
from trnn_core.words import duration
from ui.phrases import progress, scores_of
from ui.table_columns import number, text


def prefix() -> str:
    """The path under which a reverse proxy shows the pages, if any."""
    path = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{path}" if path else ""


def row_of(run: Run) -> dict[str, object]:
    """A damaged run still has its row: it says so."""
    status = run.status()
    try:
        title, simulated = run.config["data"]["title"], run.config["data"]["simulated"]
        created = run.config["created"]
    except TRNNError:
        title, simulated, created = "unreadable", False, None
    losses = [row["val_loss"] for row in run.history() if row.get("val_loss") is not None]
    try:
        scores = scores_of(run)
    except TRNNError:
        scores = None
    return {
        "forecast": f"{prefix()}/Forecast?run={run.run_id}",
        "run": run.name,
        "status": status.state,
        "progress": progress(status),
        "validation loss": losses[-200:],
        "skill": scores.skill * 100 if scores else None,
        "time": duration(status.seconds),
        "data": f"{title}{' (simulated)' if simulated and 'imulated' not in title else ''}",
        "started": created,
    }


def runs_table(runs: list[Run]) -> None:
    table = pd.DataFrame([row_of(run) for run in runs])
    table["started"] = pd.to_datetime(table["started"], utc=True)
    st.dataframe(
        table,
        hide_index=True,
        column_config={
            "forecast": st.column_config.LinkColumn("", display_text="open", help="Open this run's forecast", width=60),
            "run": text("Run"),
            "status": text("Status"),
            "progress": text("Progress"),
            "validation loss": st.column_config.LineChartColumn(
                "Validation loss", help="From the first epoch to the last; lower is better"
            ),
            "skill": number(
                "Skill",
                "%+.0f\u00a0%%",
                "How much lower the squared error is than that of repeating the last period, on unseen periods",
            ),
            "time": text("Training time"),
            "data": text("Data"),
            "started": st.column_config.DatetimeColumn("Started", format="D MMM YYYY, HH:mm"),
        },
    )
