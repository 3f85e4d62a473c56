"""Fit one model, forecast from a block of origins, score it: the unit of work of a backtest.

Dimension letters: O origins, H steps ahead, N sources, M targets, K actions, G groups of dyads, U points of the PIT
grid.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from trnn_core.data.relations import fill_forward, mean_of_last
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.evaluation.forecasters import create
from trnn_core.evaluation.intervals import GRID, GROUPS, LEVEL, activity_groups, pit_bounds, pit_curve
from trnn_core.evaluation.metrics import FIRST_SCORES, Outcome, score_entries, score_names, score_set
from trnn_core.models.forecast import Forecast, forecast_each
from trnn_core.models.panel import Panel

_REFERENCE = 4  # periods whose average level an escalation must exceed
MISSES = 5  # largest misses kept of every origin, step and action
MISS_COLUMNS = ("origin", "step", "source", "target", "action", "expected", "lower", "upper", "observed", "error")


BROKEN = (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error)  # by a damaged NPZ
Tell = Callable[[int], None]


@dataclass(frozen=True)
class Block:
    """One task: a model by name and options, the series, the origins that share its fit."""

    model: str
    options: dict[str, Any]
    origins: tuple[int, ...]
    horizon: int
    diagonal: bool
    first_origin: int  # of the whole backtest: dyads are grouped by their activity up to here


@dataclass(frozen=True)
class BlockScores:
    """What a block leaves behind; sums, so that blocks can be joined.

    origins    (O,) int
    table      (O, H, K + 1, scores): means over the scored entries of each action, and of all; NaN where there is none
    cell_sums  (scores of entries, H, N, M, K) over origins
    cell_n     (H, N, M, K)
    pit        (H, G, U) summed PIT curves
    pit_n      (H, G)
    misses     (R, MISS_COLUMNS) float32: the largest misses; positions of origin and labels, the figures as forecast
               and as observed, and the squared error on the working scale
    made_on    the machines or clusters that computed it, in words of whoever asked them; none where nobody noted it
    """

    origins: np.ndarray
    table: np.ndarray
    cell_sums: np.ndarray
    cell_n: np.ndarray
    pit: np.ndarray
    pit_n: np.ndarray
    misses: np.ndarray
    names: np.ndarray = field(default_factory=lambda: np.array(FIRST_SCORES))  # of the scores; those of entries first
    made_on: np.ndarray = field(default_factory=lambda: np.array([], dtype=np.str_))

    def by_origin(self, score: str) -> np.ndarray:
        """(O, H, K + 1)."""
        return self.table[..., self._place(score)]

    def by_entry(self, score: str) -> np.ndarray:
        """Sums over origins, (H, N, M, K)."""
        return self.cell_sums[self._place(score)]

    def _place(self, score: str) -> int:
        return self.names.tolist().index(score)

    @classmethod
    def of(cls, stored: Mapping[str, np.ndarray], start: str = "") -> BlockScores:
        """From arrays as they were stored, their names perhaps with a prefix."""
        named = {f.name: f"{start}{f.name}" for f in fields(cls)}
        return cls(
            **{name: stored[key] for name, key in named.items() if name not in ("names", "made_on") or key in stored}
        )

    def save(self, path: Path) -> None:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **{f.name: getattr(self, f.name) for f in fields(self)})
        temporary = path.with_name(path.name + ".part")
        temporary.write_bytes(buffer.getvalue())
        temporary.replace(path)

    @classmethod
    def load(cls, path: Path) -> BlockScores:
        try:
            with np.load(path, allow_pickle=False) as stored:
                return cls.of(stored)
        except BROKEN as e:
            raise TRNNError(
                f"A stored part of the backtest must be an NPZ of scores. {path.name} is not ({e}); delete it to score"
                " it again."
            ) from e


def check_scores(scores: BlockScores, series: RelationalSeries, block: Block) -> None:
    """What was computed elsewhere must be numbers for these origins, labels and steps."""
    (_, n, m, k), h, o = series.shape, block.horizon, len(block.origins)
    shapes = {
        "origins": (o,),
        "table": (o, h, k + 1, len(score_names())),
        "cell_sums": (len(score_names(of_set=False)), h, n, m, k),
        "cell_n": (h, n, m, k),
        "pit": (h, len(GROUPS), len(GRID)),
        "pit_n": (h, len(GROUPS)),
        "misses": (len(scores.misses), len(MISS_COLUMNS)),
    }
    for name, shape in shapes.items():
        array = getattr(scores, name)
        if array.shape != shape or array.dtype.kind not in "fiu":
            raise TRNNError(
                f"The {name} of {block.model} must be numbers of shape {shape}. Got {array.dtype} of shape "
                f"{array.shape} instead."
            )
    if tuple(scores.names.tolist()) != score_names():
        raise TRNNError(f"The scores of {block.model} must be {', '.join(score_names())}. Got others instead.")
    if tuple(scores.origins) != block.origins:
        raise TRNNError(f"The scores of {block.model} are of other periods than were asked for.")


def run_block(series: RelationalSeries, block: Block, tell: Tell | None = None) -> BlockScores:
    """Fit on the periods up to the block's first origin, then score every origin of the block.

    tell    called with the number of origins scored: 0 before the fit, then after each
    """
    _tell(tell, 0)
    model = create(block.model, **block.options)
    model.fit(series.select(periods=slice(0, block.origins[0] + 1)))
    n, k, h = len(series.actors), len(series.actions), block.horizon
    pairs = np.ones((n, n), dtype=bool) if block.diagonal else ~np.eye(n, dtype=bool)
    groups = activity_groups(series.values[: block.first_origin + 1], pairs)
    reference = _recent_level(series)
    table = np.full((len(block.origins), h, k + 1, len(score_names())), np.nan)
    sums, counted = np.zeros((len(score_names(of_set=False)), h, n, n, k)), np.zeros((h, n, n, k), dtype=np.int64)
    pit, pit_n = np.zeros((h, len(GROUPS), len(GRID))), np.zeros((h, len(GROUPS)), dtype=np.int64)
    misses = [np.zeros((0, len(MISS_COLUMNS)))]
    for o, (t, forecast) in enumerate(forecast_each(model, series, block.origins, h)):
        for step in range(1, min(h, len(series) - 1 - t) + 1):
            use = series.observed[t + step] & pairs[..., None]
            observed = np.where(use, series.values[t + step], 0.0).astype(float)
            outcome = Outcome.of(forecast, step, observed, reference[t])
            scores, whole = score_entries(outcome), score_set(outcome, use)
            table[o, step - 1] = _row(scores, whole, use)
            sums[:, step - 1] += np.stack([np.where(use, score, 0.0) for score in scores.values()])
            counted[step - 1] += use
            misses.append(_largest_misses(forecast, t, step, observed, np.where(use, scores["mse"], -1.0)))
            below, upto = pit_bounds(forecast.distribution[step - 1], observed)
            for g in range(len(GROUPS)):
                inside = use & ((groups == g)[..., None] if g else True)
                pit[step - 1, g] += pit_curve(below[inside], upto[inside])
                pit_n[step - 1, g] += int(inside.sum())
        _tell(tell, o + 1)
    kept = np.concatenate(misses).astype(np.float32)
    return BlockScores(np.array(block.origins), table, sums, counted, pit, pit_n, kept, np.array(score_names()))


def _tell(tell: Tell | None, n: int) -> None:
    if tell is not None:
        tell(n)


def _largest_misses(forecast: Forecast, origin: int, step: int, observed: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Of each action the entries with the largest squared error (unused ones have a negative one), as MISS_COLUMNS."""
    distribution = forecast.distribution[step - 1]
    n, _, n_actions = error.shape
    top = np.argsort(-error.reshape(-1, n_actions), axis=0, kind="stable")[
        :MISSES
    ].T.ravel()  # by action, (K x MISSES,)
    k = np.repeat(np.arange(n_actions), len(top) // n_actions)
    i, j = np.divmod(top, n)
    chosen = error[i, j, k] > 0
    i, j, k = i[chosen], j[chosen], k[chosen]
    lower, upper = (q[i, j, k] for q in distribution.quantiles(((1 - LEVEL) / 2, (1 + LEVEL) / 2)))
    places = [np.full(len(i), origin), np.full(len(i), step), i, j, k]
    return np.stack([*places, distribution.mean[i, j, k], lower, upper, observed[i, j, k], error[i, j, k]], axis=1)


def _row(scores: dict[str, np.ndarray], whole: dict[str, list[float]], use: np.ndarray) -> np.ndarray:
    """(K + 1, scores): per action and for all."""
    n = np.append(use.sum(axis=(0, 1)), use.sum())  # (K + 1,)
    rows = []
    for score in scores.values():
        per_action = np.where(use, score, 0.0).sum(axis=(0, 1))
        totals = np.append(per_action, per_action.sum())
        rows.append(np.where(n > 0, totals / np.maximum(n, 1), np.nan))
    return np.stack([*rows, *(np.array(score) for score in whole.values())], axis=-1)


def _recent_level(series: RelationalSeries) -> np.ndarray:
    """Each entry's average level over the last periods up to t, on the working scale; (T, N, M, K)."""
    values = fill_forward(series.values, series.observed).astype(float)
    level = np.log1p(values) if Panel.of(series).counts else values
    return mean_of_last(level, _REFERENCE)
