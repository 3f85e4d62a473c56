"""A backtest on disk and in print: tidy CSV, its companions, and a leaderboard that fits a terminal."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from trnn_core.errors import TRNNError
from trnn_core.evaluation.forecasters import describe
from trnn_core.evaluation.metrics import SCORES
from trnn_core.evaluation.results import BacktestResult

# Columns of the leaderboard that are no scores themselves, behind the score they belong to.
_BEHIND = {
    "": {"model": "model"},
    "mae": {"r2": "R2", "mse_skill_persistence": "skill/pers", "mse_skill_best": "skill/best", "p_mse": "DM p"},
    "crps": {"crps_skill_best": "CRPS skill", "p_crps": "CRPS p"},
    "width90": {"pit_deviation": "PIT dev"},
}
_FLOAT = "%.10g"


def leaderboard_text(result: BacktestResult, horizon: int = 1) -> str:
    """The leaderboard of one step for a terminal; skill is against the best baseline, p against it too."""
    board, printed = result.leaderboard(horizon), printed_columns()
    board = board[[name for name in printed if name in board]].rename(columns=printed)
    for column in board.columns[1:]:
        form = "{:.5f}" if column in ("MSE", "MAE", "CRPS") else "{:.3f}"
        board[column] = ["" if pd.isna(v) else form.format(v) for v in board[column]]
    return board.to_string(index=False)


def printed_columns() -> dict[str, str]:
    """Columns of the leaderboard and their headings, in order."""
    columns = dict(_BEHIND[""])
    for name, score in SCORES.items():
        if score.printed:
            columns |= {name: score.printed, **_BEHIND.get(name, {})}
    return columns


def write_tables(result: BacktestResult, out: Path) -> list[Path]:
    """The tidy table at `out` (.csv), and beside it leaderboard, calibration, per country, per dyad, and the
    protocol."""
    steps = range(1, result.protocol.horizon + 1)
    boards = pd.concat([result.leaderboard(h).assign(horizon=h) for h in steps], ignore_index=True)
    frames = {
        out: result.table(),
        out.with_suffix(".leaderboard.csv"): boards,
        out.with_suffix(".calibration.csv"): result.calibration(),
        out.with_suffix(".pit.csv"): result.pit_curves(),
        out.with_suffix(".countries.csv"): result.by_country(),
    }
    for path, frame in frames.items():
        _write(path, frame.to_csv(index=False, float_format=_FLOAT, lineterminator="\n"))
    dyads = out.with_suffix(".dyads.parquet")
    temporary = dyads.with_name(dyads.name + ".part")
    result.by_dyad().to_parquet(temporary, index=False)
    temporary.replace(dyads)
    about = out.with_suffix(".json")
    _write(about, json.dumps(summary(result, [p.name for p in (*frames, dyads)]), indent=1) + "\n")
    return [*frames, dyads, about]


def read_tables(out: Path) -> dict[str, Any]:
    """What `write_tables` wrote at `out`: the frames scores, leaderboard, calibration, pit, countries, dyads, and
    `about`."""
    try:
        frames: dict[str, Any] = {
            "scores": pd.read_csv(out),
            "dyads": pd.read_parquet(out.with_suffix(".dyads.parquet")),
        }
        for name in ("leaderboard", "calibration", "pit", "countries"):
            frames[name] = pd.read_csv(out.with_suffix(f".{name}.csv"))
        return {**frames, "about": json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))}
    except (OSError, ValueError) as e:
        raise TRNNError(
            f"A backtest must be a table with its companions beside it, as the command writes them. {out.name} is not"
            f" ({e}); run the backtest again."
        ) from e


def summary(result: BacktestResult, files: list[str]) -> dict[str, Any]:
    """Protocol, models in words and leaderboards as plain JSON values."""
    boards = {
        str(h): json.loads(result.leaderboard(h).to_json(orient="records", double_precision=10))
        for h in range(1, result.protocol.horizon + 1)
    }
    return {
        "title": result.title,
        "simulated": result.simulated,
        "fingerprint": result.fingerprint,
        "protocol": asdict(result.protocol),
        "protocol_in_words": result.words,
        "n_origins": len(result.dates),
        "models": {name: describe(name) for name in result.scores},
        "leaderboard": boards,
        "files": files,
    }


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(text, encoding="utf-8", newline="")
    temporary.replace(path)
