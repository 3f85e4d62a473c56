"""A backtest to take away: the leaderboard for a paper, all tables in one workbook, each with where it came from."""

from __future__ import annotations

from typing import Any

import pandas as pd

from trnn_core import __version__
from trnn_core.charts import evaluation as charts
from trnn_core.evaluation.intervals import GROUPS
from trnn_core.evaluation.metrics import score_words
from trnn_core.evaluation.results import ALL, BacktestResult
from trnn_core.evaluation.views import board, coverage_groups, hardest_pairs, over_time, pit_bars
from trnn_core.evaluation.words import headline, speaker
from trnn_core.export.blocks import Block, Chart, Table, Text
from trnn_core.export.citation import SIMULATED, licence_words
from trnn_core.export.sheets import latex_table, workbook

HEADS = {
    "model": "Model",
    "error": "Error",
    "skill_persistence": "Skill vs repeating",
    "skill_best": "Skill vs best baseline",
    "p": "DM p-value",
    "crps": "CRPS",
    "r2": "R2",
    "coverage90": "90\u00a0% interval held",
    "auc": "AUC",
    "origins": "Origins",
}
FORMATS = {
    "Error": ".5f",
    "Skill vs repeating": "+.1%",
    "Skill vs best baseline": "+.1%",
    "DM p-value": ".3f",
    "CRPS": ".5f",
    "R2": ".3f",
    "90\u00a0% interval held": ".1%",
    "AUC": ".3f",
    "Origins": ".0f",
}

MISS_HEADS = {
    "period": "Period",
    "source": "Sender",
    "target": "Receiver",
    "action": "Action",
    "expected": "Expected",
    "lower": "90\u00a0% from",
    "upper": "90\u00a0% to",
    "observed": "What came",
}
PAIR_HEADS = {"source": "Sender", "target": "Receiver", "action": "Action", "error": "MSE", "share": "Of all error"}
WORST = 10


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
    about: dict[str, Any] = {
        "metric": metric,
        "step": step,
        "action": action,
        "data": "simulated" if result.simulated else "observed",
        "dataset": result.title,
    }
    return board(result, metric, step, action).assign(**about)


def backtest_workbook(result: BacktestResult, metric: str, step: int, action: str, model: str) -> bytes:
    """Leaderboard, errors by origin, calibration, countries and misses as sheets of one Excel file."""
    steps = range(1, result.protocol.horizon + 1)
    table = result.table()
    sheets = {
        "Leaderboard": pd.concat([board_csv_table(result, metric, h, action) for h in steps], ignore_index=True),
        "By origin": table[(table["metric"] == metric) & (table["action"] == action)].reset_index(drop=True),
        "By action": (
            table[table["metric"] == metric]
            .groupby(["model", "horizon", "action"], sort=False)["value"]
            .mean()
            .reset_index()
        ),
        "By country": result.by_country((metric,)),
        "Calibration": result.calibration(),
        "Largest misses": (
            result.misses(model, step, action, n=500).rename(columns={"period": "date"}).assign(model=model)
        ),
    }
    return workbook(sheets, facts(result), result.simulated)


def board_latex(result: BacktestResult, metric: str, step: int, action: str, words: str) -> str:
    """The leaderboard as a LaTeX table."""
    frame = _frame(result, board(result, metric, step, action))
    ahead = f"{step} {result.period}{'s' if step > 1 else ''} ahead"
    caption = (
        f"Backtest, {ahead}, {words}, {'all actions' if action == ALL else action}; {int(frame['Origins'].iloc[0])}"
        " origins."
    )
    source = f"Source: {result.title}. {licence_words(result.simulated, result.licence)}"
    return latex_table(Table(frame, caption, formats=FORMATS), facts(result), source, result.simulated, "backtest")


def _frame(result: BacktestResult, table: pd.DataFrame) -> pd.DataFrame:
    """The leaderboard as it is read: labels for models and columns."""
    return table[list(HEADS)].assign(model=table["model"].map(result.label)).rename(columns=HEADS)


def report_blocks(result: BacktestResult) -> list[Block]:
    """A backtest as part of a report: what it found in sentences, the leaderboard, calibration, and the misses."""
    model, groups = speaker(result), list(GROUPS)
    table = board(result)
    frame = _frame(result, table)
    rivals = [result.label(name) for name in (model, *table["model"][table["model"] != model])][:4]
    coverage = coverage_groups(result, 1).replace({"model": {name: result.label(name) for name in result.scores}})
    unit, simulated = score_words()["mse"], result.simulated
    ahead = f"one {result.period} ahead"
    blocks: list[Block] = [
        Text(" ".join(headline(result, model)), "lead"),
        Text(result.words, "note"),
        Table(
            frame,
            f"Leaderboard {ahead}, best first: means over {int(frame['Origins'].iloc[0])} origins; p against the best"
            " baseline.",
            formats=FORMATS,
        ),
        Chart(
            charts.errors_by_model(
                frame["Model"].tolist(),
                table["error"].tolist(),
                result.label(model),
                unit=unit,
                subtitle=f"all actions, {ahead}",
                simulated=simulated,
            ),
            "leaderboard",
            "Squared error of each model",
        ),
        Chart(
            charts.errors_over_time(
                over_time(result, "mse", 1, ALL).rename(columns=result.label),
                rivals,
                unit=unit,
                period=result.period,
                simulated=simulated,
            ),
            "error-over-time",
            "Squared error of the models over time",
        ),
        Chart(
            charts.pit_histogram(pit_bars(result, model, 1), result.label(model), simulated=simulated),
            "pit",
            "Histogram of the randomised PIT",
        ),
        Chart(
            charts.coverage_by_group(coverage, rivals, groups, simulated=simulated),
            "calibration",
            "How often the 90\u00a0% interval held, by activity",
        ),
    ]
    missed = result.misses(model, n=WORST).drop(columns="error").rename(columns=MISS_HEADS)
    pairs = hardest_pairs(result, model, "mse", 1, ALL, WORST).rename(columns=PAIR_HEADS)
    return [
        *blocks,
        Table(
            missed,
            f"The {len(missed)} largest misses of {result.label(model)}, {ahead}: what was expected, its 90\u00a0%"
            " interval, and what came.",
        ),
        Table(
            pairs,
            f"The {len(pairs)} pairs and actions on which {result.label(model)} erred most, mean over all origins.",
            formats={"MSE": ".4f", "Of all error": ".1%"},
        ),
    ]
