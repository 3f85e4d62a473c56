"""A backtest looked at from one side: by model, over time, by action, step, country and pair; small frames for charts.

Dimension letters: H steps ahead, N sources, M targets, K actions.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from trnn_core.evaluation.forecasters import describe
from trnn_core.evaluation.intervals import GRID, GROUPS
from trnn_core.evaluation.results import ALL, BacktestResult
from trnn_core.evaluation.words import p_value, significance_words

BINS = 10


def board(result: BacktestResult, metric: str = "mse", step: int = 1, action: str = ALL) -> pd.DataFrame:
    """The leaderboard by one score, best first: error, skill, p-value with its words, calibration, and what each
    model is."""
    found = result.leaderboard(step, action).sort_values(metric, kind="stable", ignore_index=True)
    best = result.best_baseline(metric, step, action)
    rows = []
    for row in found.to_dict("records"):
        p = float("nan") if best is None else p_value(result, row["model"], best, metric, step, action)
        rows.append(
            {
                "model": row["model"],
                "error": row[metric],
                "skill_persistence": result.skill(row["model"], "persistence", metric, step, action),
                "skill_best": result.skill(row["model"], best, metric, step, action),
                "p": p,
                "luck": "the best simple method" if row["model"] == best else significance_words(p),
                "mae": row["mae"],
                "crps": row["crps"],
                "r2": row["r2"],
                "coverage90": row["coverage90"],
                "pit_deviation": row["pit_deviation"],
                "auc": row["auc"],
                "precision20": row["precision20"],
                "origins": row["n_origins"],
                "about": describe(str(row["model"]), result.period),
            }
        )
    return pd.DataFrame(rows)


def over_time(result: BacktestResult, metric: str, step: int, action: str) -> pd.DataFrame:
    """Each model's error by origin; the index is the period that was forecast."""
    columns = {model: result.losses(model, metric, step, action) for model in result.scores}
    periods = [result.calendar[n + step] if n + step < len(result.calendar) else "" for n in range(len(result.dates))]
    return pd.DataFrame(columns, index=pd.Index(periods, name="period")).dropna(how="all")


def by_action(result: BacktestResult, metric: str, step: int) -> pd.DataFrame:
    """Mean error: a row per action, a column per model."""
    rows = {a: {m: np.nanmean(result.losses(m, metric, step, a)) for m in result.scores} for a in result.actions}
    return pd.DataFrame.from_dict(rows, orient="index")


def by_step(result: BacktestResult, metric: str, action: str) -> pd.DataFrame:
    """Mean error: a row per step ahead, a column per model."""
    steps = range(1, result.protocol.horizon + 1)
    rows = {h: {m: np.nanmean(result.losses(m, metric, h, action)) for m in result.scores} for h in steps}
    return pd.DataFrame.from_dict(rows, orient="index")


def by_pair(result: BacktestResult, model: str, metric: str, step: int, action: str) -> np.ndarray:
    """Mean error over origins, (N, N); NaN where nothing was scored."""
    total, n = _cells(result, model, metric, step, action)
    total, n = total.sum(axis=-1), n.sum(axis=-1)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def by_country(result: BacktestResult, model: str, metric: str, step: int, action: str) -> pd.DataFrame:
    """Mean error over origins and partners: country, sent, received; the hardest first."""
    total, n = _cells(result, model, metric, step, action)
    sides = {
        role: total.sum(axis=(axis, 2)) / np.maximum(n.sum(axis=(axis, 2)), 1)
        for role, axis in (("sent", 1), ("received", 0))
    }
    frame = pd.DataFrame({"country": result.actors, **sides})
    return frame.iloc[np.argsort(-(frame["sent"] + frame["received"]).to_numpy(), kind="stable")].reset_index(drop=True)


def hardest_pairs(result: BacktestResult, model: str, metric: str, step: int, action: str, n: int = 15) -> pd.DataFrame:
    """The pairs and actions with the largest mean error: source, target, action, error, share of all the error."""
    total, counted = _cells(result, model, metric, step, action)
    names = result.actions if action == ALL else (action,)
    top = np.argsort(-total, axis=None, kind="stable")[:n]
    i, j, k = np.unravel_index(top, total.shape)
    keep = total[i, j, k] > 0
    i, j, k = i[keep], j[keep], k[keep]
    return pd.DataFrame(
        {
            "source": [result.actors[x] for x in i],
            "target": [result.actors[x] for x in j],
            "action": [names[x] for x in k],
            "error": total[i, j, k] / np.maximum(counted[i, j, k], 1),
            "share": total[i, j, k] / max(float(total.sum()), 1e-12),
        }
    )


def pit_bars(result: BacktestResult, model: str, step: int, group: str = ALL) -> np.ndarray:
    """The randomised PIT as a histogram: the share of outcomes in each tenth of the forecast, (10,)."""
    scores, g = result.scores[model], GROUPS.index(group)
    n = scores.pit_n[step - 1, g]
    if not n:
        return np.full(BINS, np.nan)
    return np.diff(np.interp(np.linspace(0, 1, BINS + 1), GRID, scores.pit[step - 1, g] / n))


def coverage_groups(result: BacktestResult, step: int) -> pd.DataFrame:
    """How often the 90 % interval held: model, group, coverage90, pit_deviation, n."""
    found = result.calibration()
    return found[found["horizon"] == step].drop(columns="horizon").reset_index(drop=True)


def _cells(result: BacktestResult, model: str, metric: str, step: int, action: str) -> tuple[np.ndarray, np.ndarray]:
    """Summed errors and their number, (N, N, K) or (N, N, 1) for one action."""
    scores = result.scores[model]
    k = slice(None) if action == ALL else [result.actions.index(action)]
    total = scores.by_entry(metric)[step - 1][..., k].astype(float)
    return total, scores.cell_n[step - 1][..., k]
