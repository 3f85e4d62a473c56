"""What can be taken away from a backtest."""

from __future__ import annotations

import streamlit as st

from trnn_core.evaluation.results import BacktestResult
from trnn_core.export.backtest_report import backtest_workbook, board_csv_table, board_latex
from trnn_core.export.tables import to_csv
from ui.downloads import save_button
from ui.evaluate_views import Choice


def downloads(result: BacktestResult, choice: Choice) -> None:
    """Files are made when asked for, not at every change of a control."""
    name = f"backtest-{result.dates[-1]}"
    step, action, metric = choice.step, choice.action, choice.metric
    with st.container(horizontal=True, vertical_alignment="center"):
        save_button(
            "Leaderboard (CSV)",
            lambda: to_csv(board_csv_table(result, metric, step, action)),
            f"{name}-leaderboard.csv",
            "text/csv",
            "leaderboard",
            "The table above, for any tool.",
        )
        save_button(
            "All tables (Excel)",
            lambda: backtest_workbook(result, metric, step, action, choice.model),
            f"{name}.xlsx",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            "table",
            "Leaderboard, errors by origin, action and country, calibration and the largest misses, a sheet each.",
        )
        save_button(
            "Leaderboard (LaTeX)",
            lambda: board_latex(result, metric, step, action, choice.unit).encode(),
            f"{name}.tex",
            "text/x-tex",
            "functions",
            "A table for a paper, with the protocol in its notes.",
        )
        save_button(
            "Every score (CSV)",
            lambda: to_csv(result.table()),
            f"{name}-scores.csv",
            "text/csv",
            "database",
            "Tidy: model, origin, horizon, action, metric, value.",
        )
        st.caption("Images: the camera in the corner of each picture.")
