"""Relational features of a panel, period by period: what a linear model of one dyad's next level may look at.

Only the present and the past enter a row. Dimension letters: O periods, N sources, M targets, K actions, P features.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trnn_core.data.relations import Array, spread
from trnn_core.models.panel import Panel
from trnn_core.models.terms import PanelAverages, PanelTerms, Terms

SLOW = 0.1  # weight of the newest period in the averages of the relational terms


def _mean(who: str, alpha: float | None = None) -> Callable[[Terms], Array]:
    """Over a country's other relations as sender or receiver, or over the world."""
    return lambda x: x.total(who, "level", alpha) / (x.n_pairs if who == "world" else x.n_partners)


# "other actions" stands for the level and the slow level of every other action.
FORMULAS: dict[str, Callable[[Terms], Array]] = {
    "level": lambda x: x.own("level"),
    "lag 1": lambda x: x.before(1),
    "lag 2": lambda x: x.before(2),
    "lag 3": lambda x: x.before(3),
    "ewma .3": lambda x: x.own("level", 0.3),
    "ewma .1": lambda x: x.own("level", 0.1),
    "ewma .03": lambda x: x.own("level", 0.03),
    "ewma .01": lambda x: x.own("level", 0.01),
    "reciprocal": lambda x: x.reciprocal("level"),
    "reciprocal ewma .1": lambda x: x.reciprocal("level", 0.1),
    "reciprocal ewma .3": lambda x: x.reciprocal("level", 0.3),
    "other actions": lambda x: [y for other in x.others() for y in (other.own("level"), other.own("level", SLOW))],
    "count ewma .1": lambda x: x.log1p(x.own("value", 0.1)),
    "sender": _mean("sender"),
    "sender ewma": _mean("sender", SLOW),
    "receiver": _mean("receiver"),
    "receiver ewma": _mean("receiver", SLOW),
    "world": _mean("world"),
    "world ewma": _mean("world", SLOW),
    "sender as receiver": _mean("sender_received", SLOW),
    "receiver as sender": _mean("receiver_sent", SLOW),
    "transitive": lambda x: x.common_partners(SLOW) / x.n_partners,
    "ewma squared": lambda x: x.own("level", SLOW) * x.own("level", SLOW),
    "ewma x reciprocal": lambda x: x.own("level", SLOW) * x.reciprocal("level", SLOW),
    "level x ewma": lambda x: x.own("level", SLOW) * x.own("level"),
}
RELATIONAL_FEATURES = tuple(FORMULAS)
AR_FEATURES = RELATIONAL_FEATURES[: RELATIONAL_FEATURES.index("count ewma .1")]


def columns(names: tuple[str, ...], terms: Terms) -> list[Array]:
    """The features of one action in order; one name may stand for several."""
    found: list[Array] = []
    for name in names:
        made = FORMULAS[name](terms)
        found += made if isinstance(made, list) else [made]
    return found


class Features:
    """Features of one panel; averages are computed once and shared by all actions and steps."""

    def __init__(self, panel: Panel) -> None:
        self._averages = PanelAverages(panel, diagonal=True)
        self._pairs = panel.cells.shape

    def matrix(self, names: tuple[str, ...], action: int, periods: np.ndarray) -> np.ndarray:
        """(len(periods), N, M, P + 1) for one action, the last feature a constant 1."""
        terms, shape = PanelTerms(self._averages, periods, action=action), (len(periods), *self._pairs, 1)
        found = [spread(column, shape)[..., 0] for column in columns(names, terms)]
        found.append(np.ones_like(found[0]))
        return np.stack(found, axis=-1)
