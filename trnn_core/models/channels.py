"""Channels: what the dyad-shared network reads of every pair and action in every period.

The same channels are made for every dyad, so that weights can be shared by all of them; relations enter as channels of
their own: the reciprocal act, sender, receiver and world activity, common partners. Only the present and the past are
looked at, apart from the calendar of the period to be forecast.

Dimension letters: O periods asked for, N sources, M targets, F channels, K actions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trnn_core.data.series import Period
from trnn_core.models.panel import Panel, ewma

SEASONS: dict[str, int] = {"day": 7, "week": 52, "month": 12}
_SEASONS_BACK = 6

Maker = Callable[[np.ndarray, int], np.ndarray]  # periods and steps ahead -> (O, N, M, K)
Total = Callable[[np.ndarray], np.ndarray]


class Channels:
    """Channels of one panel; moving averages are computed once, `at` stacks the periods asked for.

    Without `relational` only the dyad itself and its reverse are read. `names` lists the channels in order;
    `recurrent` are the positions of those whose course over time is worth reading.
    """

    def __init__(self, panel: Panel, period: Period, relational: bool = True) -> None:
        self.panel, self.relational = panel, relational
        self.season = SEASONS.get(period, 0)
        self._pairs = panel.cells.astype(np.float32)[..., None]
        values = panel.values * self._pairs
        level = panel.level * self._pairs
        self._counts = {a: ewma(values, a) for a in (0.3, 0.1, 0.03, 0.01)}
        self._levels = {a: ewma(level, a) for a in (0.5, 0.3, 0.1, 0.03, 0.01)}
        active = (values != 0).astype(np.float32)
        self._active = {a: ewma(active, a) for a in (0.1, 0.03)}
        self._values, self._level = values, level
        self._makers = self._list()
        self.names = tuple(name for name, _, _ in self._makers)
        self.recurrent = tuple(i for i, (_, _, course) in enumerate(self._makers) if course)

    def at(self, periods: np.ndarray, step: int = 1) -> np.ndarray:
        """(O, N, M, F, K), float32: what is known in each period of use for the one `step` ahead."""
        columns = [make(periods, step) for _, make, _ in self._makers]
        return np.stack(columns, axis=-2, dtype=np.float32)

    def _list(self) -> list[tuple[str, Maker, bool]]:
        """Name, maker, and whether its course over time is read by the recurrent cell."""
        log, counts, levels = self._logged, self._counts, self._levels
        out: list[tuple[str, Maker, bool]] = [
            ("level", lambda t, _: self._level[t], True),
            *[(f"level {lag} back", self._lag(lag), False) for lag in (1, 2, 3)],
            *[(f"mean level {a}", self._mean_level(a), False) for a in levels],
            *[(f"mean count {a}", self._mean_count(a), a >= 0.03) for a in counts],
            ("share active 0.1", lambda t, _: self._active[0.1][t], False),
            ("share active 0.03", lambda t, _: log(self._active[0.03][t], 0.01), False),
            ("reciprocal level", lambda t, _: _turn(self._level[t]), True),
            ("reciprocal mean level", lambda t, _: _turn(levels[0.3][t]), False),
            ("reciprocal mean count 0.1", lambda t, _: log(_turn(counts[0.1][t]), 0.03), True),
            ("reciprocal mean count 0.03", lambda t, _: log(_turn(counts[0.03][t]), 0.02), False),
        ]
        if self.relational:
            out += self._relations()
        if self.season:
            out += [
                (f"{what} at this point of the season", self._season(what == "world"), False)
                for what in ("world", "dyad")
                if what == "dyad" or self.relational
            ]
        return out

    def _relations(self) -> list[tuple[str, Maker, bool]]:
        """What goes on around a dyad: its sender's and receiver's other relations, the world, common partners."""
        log, counts = self._logged, self._counts
        out: list[tuple[str, Maker, bool]] = []
        for who, total in (("sender", _of_sender), ("receiver", _of_receiver), ("world", _of_world)):
            out += [
                (f"{who} news", self._news(total), True),
                (f"{who} trend", self._trend(total), who != "receiver"),
                (f"{who} activity", self._activity(total), False),
            ]
        out += [
            ("sender as receiver", lambda t, _: log(_turn(_of_receiver(counts[0.1][t])), 0.5), False),
            ("receiver as sender", lambda t, _: log(_turn(_of_sender(counts[0.1][t])), 0.5), False),
            ("common partners", self._common_partners, False),
        ]
        return out

    def _season(self, world: bool) -> Maker:
        return lambda t, h: self._season_factor(t, h, world)

    def _lag(self, lag: int) -> Maker:
        return lambda t, _: np.where((t >= lag)[:, None, None, None], self._level[np.maximum(t - lag, 0)], 0.0)

    def _mean_level(self, alpha: float) -> Maker:
        return lambda t, _: self._levels[alpha][t]

    def _mean_count(self, alpha: float) -> Maker:
        return lambda t, _: self._logged(self._counts[alpha][t], 0.2 * alpha**0.66)

    def _news(self, total: Total) -> Maker:
        """The present period against the recent average."""
        return lambda t, _: self._logged(total(self._values[t]), 1.0) - self._logged(total(self._counts[0.1][t]), 1.0)

    def _trend(self, total: Total) -> Maker:
        return lambda t, _: (
            self._logged(total(self._counts[0.3][t]), 0.5) - self._logged(total(self._counts[0.03][t]), 0.5)
        )

    def _activity(self, total: Total) -> Maker:
        return lambda t, _: self._logged(total(self._counts[0.1][t]), 0.5)

    def _logged(self, x: np.ndarray, floor: float) -> np.ndarray:
        return np.log(np.maximum(x, 0) + floor) if self.panel.counts else x

    def _common_partners(self, t: np.ndarray, step: int) -> np.ndarray:
        both = self._levels[0.1][t] + _turn(self._levels[0.1][t])
        both = both.transpose(0, 3, 1, 2)  # (O, K, N, M)
        paths = (both @ both.transpose(0, 1, 3, 2)).transpose(0, 2, 3, 1) / both.shape[-1]
        return np.sqrt(np.maximum(paths, 0.0))

    def _season_factor(self, t: np.ndarray, step: int, world: bool) -> np.ndarray:
        """Log of the mean at this point of the last seasons over the mean of those whole seasons."""
        out = np.zeros((len(t), *self._values.shape[1:]), dtype=np.float32)
        for o, now in enumerate(t):
            back = now + step - self.season * np.arange(1, _SEASONS_BACK + 1 + step // self.season)
            back = back[(back >= 0) & (back <= now)][:_SEASONS_BACK]
            if not len(back):
                continue
            there = self._values[back].mean(axis=0)
            usual = self._values[max(0, now + 1 - self.season * len(back)) : now + 1].mean(axis=0)
            if world:
                there, usual = _of_world(there[None])[0], _of_world(usual[None])[0]
            floor = 1.0 if world else 0.1
            out[o] = self._logged(there, floor) - self._logged(usual, floor)
        return out


def _turn(x: np.ndarray) -> np.ndarray:
    """Source and target exchanged."""
    return x.swapaxes(1, 2)


def _of_sender(x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(x.sum(axis=2, keepdims=True), x.shape)


def _of_receiver(x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(x.sum(axis=1, keepdims=True), x.shape)


def _of_world(x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(x.sum(axis=(1, 2), keepdims=True), x.shape)
