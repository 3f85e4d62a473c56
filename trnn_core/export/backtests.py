"""A backtest to take away: the leaderboard for a paper, all tables in one workbook, each with where it came from."""

from __future__ import annotations

from typing import Any

import pandas as pd

from trnn_core import __version__
from trnn_core.evaluation.results import ALL, BacktestResult
from trnn_core.evaluation.views import board
from trnn_core.export.blocks import Table
from trnn_core.export.citation import SIMULATED, licence_words
from trnn_core.export.sheets import latex_table, workbook

HEADS = {
    "model": "Model", "error": "Error", "skill_persistence": "Skill vs persistence", "skill_best": "Skill vs best baseline",
    "p": "DM p-value", "crps": "CRPS", "r2": "R2", "coverage90": "90 % interval held", "auc": "AUC", "origins": "Origins",
}  # fmt: skip
FORMATS = {
    "Error": ".5f", "Skill vs persistence": "+.1%", "Skill vs best baseline": "+.1%", "DM p-value": ".3f", "CRPS": ".5f", "R2": ".3f",
    "90 % interval held": ".1%", "AUC": ".3f", "Origins": ".0f",
}  # fmt: skip


def facts(result: BacktestResult) -> list[str]:
    """Where the figures came from, a sentence each."""
    said = [SIMULATED] if result.simulated else []
    return [
        *said,
        f"Data: {result.title} ({len(result.actors)} actors, {len(result.actions)} actions).",
        f"Fingerprint of the data (SHA-256): {result.fingerprint}.",
        licence_words(result.simulated, result.licence),
        result.words,
        f"Made by TRNN Studio {__version__}.",
    ]


def board_csv_table(result: BacktestResult, metric: str, step: int, action: str = ALL) -> pd.DataFrame:
    """The leaderboard with what it was made of in every row."""
    about: dict[str, Any] = {"metric": metric, "step": step, "action": action, "data": "simulated" if result.simulated else "observed", "dataset": result.title}  # fmt: skip
    return board(result, metric, step, action).assign(**about)


def backtest_workbook(result: BacktestResult, metric: str, step: int, action: str, model: str) -> bytes:
    """Leaderboard, errors by origin, calibration, countries and misses as sheets of one Excel file."""
    steps = range(1, result.protocol.horizon + 1)
    table = result.table()
    sheets = {
        "Leaderboard": pd.concat([board_csv_table(result, metric, h, action) for h in steps], ignore_index=True),
        "By origin": table[(table["metric"] == metric) & (table["action"] == action)].reset_index(drop=True),
        "By action": table[table["metric"] == metric].groupby(["model", "horizon", "action"], sort=False)["value"].mean().reset_index(),
        "By country": result.by_country((metric,)),
        "Calibration": result.calibration(),
        "Largest misses": result.misses(model, step, action, n=500).rename(columns={"period": "date"}).assign(model=model),
    }  # fmt: skip
    return workbook(sheets, facts(result), result.simulated)


def board_latex(result: BacktestResult, metric: str, step: int, action: str, words: str) -> str:
    """The leaderboard as a LaTeX table."""
    frame = board(result, metric, step, action)[list(HEADS)].rename(columns=HEADS)
    ahead = f"{step} {result.period}{'s' if step > 1 else ''} ahead"
    caption = f"Backtest, {ahead}, {words}, {'all actions' if action == ALL else action}; {int(frame['Origins'].iloc[0])} origins."  # fmt: skip
    source = f"Source: {result.title}. {licence_words(result.simulated, result.licence)}"
    return latex_table(Table(frame, caption, formats=FORMATS), facts(result), source, result.simulated, "backtest")
