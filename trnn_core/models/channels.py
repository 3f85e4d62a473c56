"""Channels: what the dyad-shared network reads of every pair and action in every period.

The same channels are made for every dyad, so that weights can be shared by all of them; relations enter as channels of
their own: the reciprocal act, sender, receiver and world activity, common partners. Only the present and the past are
looked at, apart from the calendar of the period to be forecast.

Dimension letters: O periods asked for, N sources, M targets, F channels, K actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trnn_core.data.relations import Array, spread, world
from trnn_core.data.series import Period
from trnn_core.models.panel import Panel
from trnn_core.models.terms import PanelAverages, PanelTerms, Terms

SEASONS: dict[str, int] = {"day": 7, "week": 52, "month": 12}
_SEASONS_BACK = 6


class Channel(NamedTuple):
    name: str
    formula: Callable[[Terms], Array]
    recurrent: bool = False  # whether its course over time is read by the recurrent cell
    held: bool = False  # whether an explanation holds it as it was: it has no derivative by the recent past


class Channels:
    """Channels of one panel; moving averages are computed once, `at` stacks the periods asked for.

    Without `relational` only the dyad itself and its reverse are read. `names` lists the channels in order;
    `recurrent` are the positions of those whose course over time is worth reading.
    """

    def __init__(self, panel: Panel, period: Period, relational: bool = True) -> None:
        self.season = SEASONS.get(period, 0)
        self._averages = PanelAverages(panel, diagonal=False)
        self._shape = panel.level.shape[1:]
        self.channels = [*_own(), *(_around() if relational else []), *self._seasonal(relational)]
        self.names = tuple(channel.name for channel in self.channels)
        self.recurrent = tuple(i for i, channel in enumerate(self.channels) if channel.recurrent)

    def at(self, periods: np.ndarray, step: int = 1) -> np.ndarray:
        """(O, N, M, F, K), float32: what is known in each period of use for the one `step` ahead."""
        terms, shape = PanelTerms(self._averages, periods, step), (len(periods), *self._shape)
        return np.stack([spread(c.formula(terms), shape) for c in self.channels], axis=-2, dtype=np.float32)

    def _seasonal(self, relational: bool) -> list[Channel]:
        if not self.season:
            return []
        found = [Channel("dyad at this point of the season", lambda x: self._season_factor(x, False), held=True)]
        if relational:
            found.insert(
                0, Channel("world at this point of the season", lambda x: self._season_factor(x, True), held=True)
            )
        return found

    def _season_factor(self, terms: Terms, of_world: bool) -> np.ndarray:
        """Log of the mean at this point of the last seasons over the mean of those whole seasons."""
        assert isinstance(terms, PanelTerms)
        values, step = self._averages.of("value", None), terms.step
        out = np.zeros((len(terms.periods), *self._shape), dtype=np.float32)
        for o, now in enumerate(terms.periods):
            back = now + step - self.season * np.arange(1, _SEASONS_BACK + 1 + step // self.season)
            back = back[(back >= 0) & (back <= now)][:_SEASONS_BACK]
            if not len(back):
                continue
            there = values[back].mean(axis=0)
            usual = values[max(0, now + 1 - self.season * len(back)) : now + 1].mean(axis=0)
            if of_world:
                there, usual = world(there), world(usual)
            floor = 1.0 if of_world else 0.1
            out[o] = terms.log(there, floor) - terms.log(usual, floor)
        return out


def _own() -> list[Channel]:
    """The dyad and its reverse."""
    return [
        Channel("level", lambda x: x.own("level"), recurrent=True),
        *[_lag(lag) for lag in (1, 2, 3)],
        *[_mean_level(alpha) for alpha in (0.5, 0.3, 0.1, 0.03, 0.01)],
        *[_mean_count(alpha) for alpha in (0.3, 0.1, 0.03, 0.01)],
        Channel("share active 0.1", lambda x: x.own("active", 0.1), held=True),
        Channel("share active 0.03", lambda x: x.log(x.own("active", 0.03), 0.01), held=True),
        Channel("reciprocal level", lambda x: x.reciprocal("level"), recurrent=True),
        Channel("reciprocal mean level", lambda x: x.reciprocal("level", 0.3)),
        Channel("reciprocal mean count 0.1", lambda x: x.log(x.reciprocal("value", 0.1), 0.03), recurrent=True),
        Channel("reciprocal mean count 0.03", lambda x: x.log(x.reciprocal("value", 0.03), 0.02)),
    ]


def _around() -> list[Channel]:
    """What goes on around a dyad: its sender's and receiver's other relations, the world, common partners."""
    found = []
    for who in ("sender", "receiver", "world"):
        found += [_news(who), _trend(who), _activity(f"{who} activity", who)]
    return [
        *found,
        _activity("sender as receiver", "sender_received"),
        _activity("receiver as sender", "receiver_sent"),
        Channel("common partners", lambda x: x.root(x.common_partners(0.1) / x.n_actors)),
    ]


def _lag(lag: int) -> Channel:
    return Channel(f"level {lag} back", lambda x: x.before(lag))


def _mean_level(alpha: float) -> Channel:
    return Channel(f"mean level {alpha}", lambda x: x.own("level", alpha))


def _mean_count(alpha: float) -> Channel:
    floor = 0.2 * alpha**0.66
    return Channel(f"mean count {alpha}", lambda x: x.log(x.own("value", alpha), floor), recurrent=alpha >= 0.03)


def _news(who: str) -> Channel:
    """The present period against the recent average."""

    def formula(x: Terms) -> Array:
        return x.log(x.total(who, "value"), 1.0) - x.log(x.total(who, "value", 0.1), 1.0)

    return Channel(f"{who} news", formula, recurrent=True)


def _trend(who: str) -> Channel:
    def formula(x: Terms) -> Array:
        return x.log(x.total(who, "value", 0.3), 0.5) - x.log(x.total(who, "value", 0.03), 0.5)

    return Channel(f"{who} trend", formula, recurrent=who != "receiver")


def _activity(name: str, who: str) -> Channel:
    return Channel(name, lambda x: x.log(x.total(who, "value", 0.1), 0.5))
