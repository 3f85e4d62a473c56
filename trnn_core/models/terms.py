"""Terms: what the formulas of channels and linear features look at. They are written once, over this interface; the
models compute them for every pair of a panel, the explanations for one pair, in torch, to differentiate them.

Dimension letters: O periods asked for, N sources, M targets, K actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from trnn_core.data import relations
from trnn_core.data.relations import Array
from trnn_core.models.panel import Panel

What = Literal["level", "value", "active"]


class Terms:
    """Relations in some periods, as they are or (with an alpha) averaged up to each period; all end with the actions.

    A subclass says what `own`, `reciprocal`, `before`, `total` and `common_partners` are.
    """

    counts: bool
    n_actors: int
    least_root = 0.0

    @property
    def n_partners(self) -> int:
        return max(self.n_actors - 1, 1)

    @property
    def n_pairs(self) -> int:
        return max(self.n_actors * (self.n_actors - 1), 1)

    def own(self, what: What, alpha: float | None = None) -> Array:
        """What the source did to the target."""
        raise NotImplementedError

    def reciprocal(self, what: What, alpha: float | None = None) -> Array:
        """What the target did to the source."""
        raise NotImplementedError

    def before(self, lag: int) -> Array:
        """The own level so many periods earlier, zero before the start."""
        raise NotImplementedError

    def total(self, who: str, what: What, alpha: float | None = None) -> Array:
        """One of `relations.TOTALS`, off the diagonal; it may be smaller than the others where pairs share it."""
        raise NotImplementedError

    def common_partners(self, alpha: float) -> Array:
        """Ties of levels through third countries."""
        raise NotImplementedError

    def others(self) -> Sequence[Terms]:
        """The same of every other action."""
        raise NotImplementedError

    def log(self, x: Array, floor: float) -> Array:
        """Counts on a logarithmic scale; values as they are."""
        return relations.namespace(x).log(x.clip(0) + floor) if self.counts else x

    def log1p(self, x: Array) -> Array:
        return relations.namespace(x).log1p(x) if self.counts else x

    def root(self, x: Array) -> Array:
        return relations.namespace(x).sqrt(x.clip(self.least_root))


class PanelAverages:
    """The arrays of a panel and their moving averages, each computed once; without `diagonal` it is zero in all."""

    def __init__(self, panel: Panel, diagonal: bool) -> None:
        self.counts, self.n_actors, self.diagonal = panel.counts, len(panel.cells), diagonal
        self._pairs = panel.cells.astype(np.float32)[..., None]
        self.arrays: dict[What, np.ndarray] = {"value": panel.values, "level": panel.level}
        if not diagonal:
            self.arrays = {what: x * self._pairs for what, x in self.arrays.items()}
        self._averages: dict[tuple[What, float], np.ndarray] = {}

    def of(self, what: What, alpha: float | None) -> np.ndarray:
        """(T, N, M, K)."""
        if what == "active" and what not in self.arrays:
            self.arrays[what] = (self.arrays["value"] != 0).astype(np.float32)
        if alpha is None:
            return self.arrays[what]
        if (what, alpha) not in self._averages:
            self._averages[what, alpha] = relations.ewma(self.arrays[what], alpha)
        return self._averages[what, alpha]

    def off_diagonal(self, x: np.ndarray) -> np.ndarray:
        return x * self._pairs if self.diagonal else x


class PanelTerms(Terms):
    """Terms of every pair (O, N, M, K) in the periods given; of one action alone (O, N, M, 1) if it is named."""

    def __init__(self, averages: PanelAverages, periods: np.ndarray, step: int = 1, action: int | None = None) -> None:
        self.averages, self.periods, self.step, self.action = averages, periods, step, action
        self.counts, self.n_actors = averages.counts, averages.n_actors

    def own(self, what: What, alpha: float | None = None) -> np.ndarray:
        return self._at(self.averages.of(what, alpha), self.periods)

    def reciprocal(self, what: What, alpha: float | None = None) -> np.ndarray:
        return relations.reciprocal(self.own(what, alpha))

    def before(self, lag: int) -> np.ndarray:
        level = self._at(self.averages.of("level", None), np.maximum(self.periods - lag, 0))
        return np.where((self.periods >= lag)[:, None, None, None], level, 0.0)

    def total(self, who: str, what: What, alpha: float | None = None) -> np.ndarray:
        return relations.TOTALS[who](self.averages.off_diagonal(self.own(what, alpha)))

    def common_partners(self, alpha: float) -> np.ndarray:
        both = self.averages.off_diagonal(relations.ties(self.own("level", alpha)))
        return relations.common_partners(both, both)

    def others(self) -> list[PanelTerms]:
        n_actions = self.averages.arrays["level"].shape[-1]
        return [PanelTerms(self.averages, self.periods, self.step, k) for k in range(n_actions) if k != self.action]

    def _at(self, x: np.ndarray, periods: np.ndarray) -> np.ndarray:
        return x[periods] if self.action is None else x[periods, ..., self.action][..., None]
