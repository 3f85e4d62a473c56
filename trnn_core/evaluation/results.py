"""BacktestResult: what a backtest found, as tidy tables; torch-free, so that pages can read it.

Dimension letters: O origins, H steps ahead, N sources, M targets, K actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.evaluation.forecasters import is_baseline, label
from trnn_core.evaluation.intervals import GRID, GROUPS, coverage, pit_deviation
from trnn_core.evaluation.protocol import Protocol
from trnn_core.evaluation.scoring import MISS_COLUMNS, BlockScores
from trnn_core.evaluation.significance import diebold_mariano

ALL = "all"


@dataclass(frozen=True)
class BacktestResult:
    """Scores of every model with the protocol they were made under and the labels of the series."""

    protocol: Protocol
    words: str
    title: str
    simulated: bool
    fingerprint: str
    dates: tuple[str, ...]  # of the origins
    actors: tuple[str, ...]
    actions: tuple[str, ...]
    scores: Mapping[str, BlockScores]
    calendar: tuple[str, ...] = ()  # from the first origin to the last period
    period: str = "week"
    kind: str = "count"
    licence: str = ""  # of the data

    @classmethod
    def of(cls, series: RelationalSeries, protocol: Protocol, scores: Mapping[str, BlockScores]) -> BacktestResult:
        origins = next(iter(scores.values())).origins
        return cls(
            protocol,
            protocol.describe(series),
            series.source.title,
            series.source.simulated,
            series.fingerprint,
            tuple(str(series.dates[t]) for t in origins),
            series.actors,
            series.actions,
            scores,
            tuple(str(date) for date in series.dates[origins[0] :]),
            series.period,
            series.source.kind,
            series.source.licence,
        )

    def label(self, model: str) -> str:
        """The model as people call it; files and commands keep its name."""
        return label(model, self.period)

    def table(self) -> pd.DataFrame:
        """The tidy table: model, origin, horizon, action, metric, value; a row for every score that exists."""
        names = next(iter(self.scores.values())).names.tolist()
        labels = (list(self.scores), self.dates, range(1, self.protocol.horizon + 1), (*self.actions, ALL), names)
        index = pd.MultiIndex.from_product(labels, names=["model", "origin", "horizon", "action", "metric"])
        values = np.stack([s.table for s in self.scores.values()]).ravel()
        return pd.DataFrame({"value": values}, index=index).dropna().reset_index()

    def losses(self, model: str, metric: str, horizon: int = 1, action: str = ALL) -> np.ndarray:
        """One score per origin, (O,); NaN where the period had not come yet."""
        return self.scores[model].by_origin(metric)[:, horizon - 1, (*self.actions, ALL).index(action)]

    def best_baseline(self, metric: str, horizon: int = 1, action: str = ALL) -> str | None:
        """The baseline with the least loss; None where no baseline was scored."""
        loss = {m: np.nanmean(self.losses(m, metric, horizon, action)) for m in self.scores if is_baseline(m)}
        return min(loss, key=lambda m: loss[m]) if loss else None

    def leaderboard(self, horizon: int = 1, action: str = ALL) -> pd.DataFrame:
        """One row per model, best MSE first: mean scores, R2, skill, calibration and Diebold-Mariano p-values.

        `skill` is the share of a rival's loss that the model saves; `p_*` compares with the best baseline by that
        score.
        """
        if not 1 <= horizon <= self.protocol.horizon:
            raise TRNNError(f"The step must lie in 1..{self.protocol.horizon}, as backtested. Got {horizon} instead.")
        rows = []
        for model, scores in self.scores.items():
            mean = {m: float(_nanmean(self.losses(model, m, horizon, action))) for m in scores.names.tolist()}
            spread = mean.pop("actual_square") - mean.pop("actual_mean") ** 2
            row: dict[str, object] = {"model": model, **mean, "r2": 1 - mean["mse"] / spread if spread > 0 else np.nan}
            for metric in ("mse", "crps"):
                best = self.best_baseline(metric, horizon, action)
                row[f"{metric}_skill_persistence"] = self.skill(model, "persistence", metric, horizon, action)
                row[f"{metric}_skill_best"] = self.skill(model, best, metric, horizon, action)
                row[f"p_{metric}"] = self._p_value(model, best, metric, horizon, action)
            row["pit_deviation"] = pit_deviation(scores.pit[horizon - 1, 0] / max(scores.pit_n[horizon - 1, 0], 1))
            row["n_origins"] = int(np.isfinite(self.losses(model, "mse", horizon, action)).sum())
            rows.append(row)
        return pd.DataFrame(rows).sort_values("mse", kind="stable", ignore_index=True)

    def calibration(self) -> pd.DataFrame:
        """Per model, step and group of dyads: distance of the randomised PIT from uniform, coverage of the 90 %
        interval."""
        rows = []
        for model, scores in self.scores.items():
            for h in range(self.protocol.horizon):
                for g, group in enumerate(GROUPS):
                    n = int(scores.pit_n[h, g])
                    if n:
                        curve = scores.pit[h, g] / n
                        rows.append((model, h + 1, group, pit_deviation(curve), coverage(curve), n))
        return pd.DataFrame(rows, columns=["model", "horizon", "group", "pit_deviation", "coverage90", "n"])

    def pit_curves(self) -> pd.DataFrame:
        """The empirical distribution of the randomised PIT: model, horizon, group, u, share of PITs up to u."""
        frames = []
        for model, scores in self.scores.items():
            for h, g in np.argwhere(scores.pit_n > 0):
                share = scores.pit[h, g] / scores.pit_n[h, g]
                frames.append(
                    pd.DataFrame({"model": model, "horizon": h + 1, "group": GROUPS[g], "u": GRID, "share": share})
                )
        return pd.concat(frames, ignore_index=True)

    def by_dyad(self, metrics: Sequence[str] = ("mse", "mae", "crps", "coverage90")) -> pd.DataFrame:
        """Mean over origins per dyad and action: model, horizon, source, target, action, metric, value."""
        actors = np.array(self.actors)
        frames = []
        for model, scores in self.scores.items():
            h, i, j, k = np.nonzero(scores.cell_n)
            for metric in metrics:
                value = scores.by_entry(metric)[h, i, j, k] / scores.cell_n[h, i, j, k]
                columns = {"model": model, "horizon": h + 1, "source": actors[i], "target": actors[j]}
                columns |= {"action": np.array(self.actions)[k], "metric": metric, "value": value}
                frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True)

    def by_country(self, metrics: Sequence[str] = ("mse", "mae", "crps", "coverage90")) -> pd.DataFrame:
        """Mean over origins and partners: model, horizon, country, role (source or target), action, metric, value."""
        rows = []
        for model, scores in self.scores.items():
            for role, axis in (("source", 2), ("target", 1)):
                n = scores.cell_n.sum(axis=axis)  # (H, N, K)
                for metric in metrics:
                    total = scores.by_entry(metric).sum(axis=axis)
                    for h, i, k in np.argwhere(n > 0):
                        label = (model, h + 1, self.actors[i], role, self.actions[k], metric)
                        rows.append((*label, total[h, i, k] / n[h, i, k]))
        return pd.DataFrame(rows, columns=["model", "horizon", "country", "role", "action", "metric", "value"])

    def misses(self, model: str, horizon: int = 1, action: str = ALL, n: int = 20) -> pd.DataFrame:
        """The largest misses, worst first: period, source, target, action, expected, lower, upper, observed, error."""
        scores = self.scores[model]
        rows = scores.misses[scores.misses[:, 1] == horizon]
        if action != ALL:
            rows = rows[rows[:, 4] == self.actions.index(action)]
        rows = rows[np.argsort(-rows[:, -1], kind="stable")][:n]
        origin, step, i, j, k = rows[:, :5].astype(int).T
        columns: dict[str, object] = {
            "period": [self.calendar[t - int(scores.origins[0]) + h] for t, h in zip(origin, step, strict=True)],
            "source": [self.actors[x] for x in i],
            "target": [self.actors[x] for x in j],
            "action": [self.actions[x] for x in k],
        }
        return pd.DataFrame(columns | {name: rows[:, 5 + x] for x, name in enumerate(MISS_COLUMNS[5:])})

    def skill(self, model: str, rival: str | None, metric: str, horizon: int, action: str) -> float:
        """The share of the rival's loss that the model saves; NaN where the rival was not scored."""
        if rival is None or rival not in self.scores:
            return float("nan")
        mine, theirs = (_nanmean(self.losses(m, metric, horizon, action)) for m in (model, rival))
        return float(1 - mine / theirs) if theirs > 0 else float("nan")

    def _p_value(self, model: str, rival: str | None, metric: str, horizon: int, action: str) -> float:
        if rival is None or rival == model or len(self.dates) - horizon + 1 < 8:
            return float("nan")
        mine, theirs = (self.losses(m, metric, horizon, action) for m in (model, rival))
        return diebold_mariano(mine, theirs, horizon).p_value


def join(blocks: Sequence[BlockScores]) -> BlockScores:
    """Blocks of one model, put together in order of time."""
    blocks = sorted(blocks, key=lambda b: int(b.origins[0]))
    return BlockScores(
        np.concatenate([b.origins for b in blocks]),
        np.concatenate([b.table for b in blocks]),
        np.sum([b.cell_sums for b in blocks], axis=0),
        np.sum([b.cell_n for b in blocks], axis=0),
        np.sum([b.pit for b in blocks], axis=0),
        np.sum([b.pit_n for b in blocks], axis=0),
        np.concatenate([b.misses for b in blocks]),
        blocks[0].names,
    )


def _nanmean(x: np.ndarray) -> float:
    known = x[np.isfinite(x)]
    return float(known.mean()) if known.size else float("nan")
