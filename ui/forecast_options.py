"""What the forecast page shows and how; every choice is in the address bar, so that a link opens the same view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import streamlit as st

from trnn_core.charts.order import LAYOUTS, ORDERS, Layout, Order
from ui.links import is_number, judge, segments, select

View = Literal["Network", "Heatmap", "Chord"]
VIEWS: tuple[View, ...] = ("Network", "Heatmap", "Chord")
Show = Literal["Forecast", "Last observed", "Expected change", "Uncertainty", "What happened", "Forecast error"]
AHEAD: tuple[Show, ...] = ("Forecast", "Last observed", "Expected change", "Uncertainty")
PAST: tuple[Show, ...] = (*AHEAD, "What happened", "Forecast error")
LAYOUT_WORDS = {"force": "By ties", "circle": "On a circle", "geography": "By geography"}
ORDER_WORDS = {"similarity": "Similarity", "bloc": "Bloc", "activity": "Activity", "name": "Name"}
COLOURS = ("One colour", "By bloc")
ALL = "all countries"


@dataclass(frozen=True)
class Options:
    view: View = "Network"
    layout: Layout = "force"
    order: Order = "similarity"
    by_bloc: bool = False
    top: int = 60
    threshold: float | None = None
    ego: int | None = None
    kept: tuple[int, ...] | None = None  # None for all

    def hidden(self, n: int) -> frozenset[int]:
        return frozenset() if self.kept is None else frozenset(range(n)) - frozenset(self.kept)


def pick_show(past: bool) -> Show:
    shows = PAST if past else AHEAD
    words = "The expected figure; what was last observed; the difference of the two; how wide the interval is"
    more = "; what happened; or expected minus what happened." if past else "."
    return cast(Show, select("Show", shows, "show", words + more))


def pick_view() -> View:
    words = (
        "Arrows between countries; a matrix with senders in rows and receivers in columns; or ribbons inside a circle."
        " Click an arrow or a cell for a pair's history."
    )
    return cast(View, segments("View", VIEWS, "view", words))


def pick_options(actors: Sequence[str]) -> Options:
    view = pick_view()
    with st.popover(
        "Options", icon=":material/tune:", help="Places, order, colours, how many relations, which countries."
    ):
        layout, order, by_bloc = pick_arrangement()
        top, threshold = pick_strength()
        ego = select(
            "Relations of one country",
            [ALL, *actors],
            "ego",
            "Network and chord: only relations from and to this country (its ego network).",
        )
        judge("countries", actors, "Country")
        kept = st.multiselect(
            "Countries",
            actors,
            key="countries",
            bind="query-params",
            placeholder="all",
            help="Show only these countries and the relations between them.",
        )
    return Options(
        view,
        layout,
        order,
        by_bloc,
        top,
        threshold or None,
        None if ego == ALL else list(actors).index(ego),
        tuple(i for i, a in enumerate(actors) if a in kept) if kept else None,
    )


def pick_arrangement() -> tuple[Layout, Order, bool]:
    """Places of the nodes, order of the rows, and whether blocs have colours."""
    layout = select(
        "Places of the countries",
        LAYOUTS,
        "layout",
        name=LAYOUT_WORDS.__getitem__,
        words=(
            "Network: countries with strong ties stand close to each other; all on a circle; or where they lie on"
            " the map, near neighbours a little apart. Places never change from week to week."
        ),
    )
    order = select(
        "Order of the rows",
        ORDERS,
        "order",
        name=ORDER_WORDS.__getitem__,
        words=(
            "Heatmap and chord: countries with like partners side by side; by bloc; the most active first; or by name."
        ),
    )
    colours = select(
        "Colours of the countries",
        COLOURS,
        "colours",
        words=(
            "Network: blocs are groups of countries that cooperated more with each other than with the rest, over"
            " the whole data."
        ),
    )
    return cast(Layout, layout), cast(Order, order), colours == COLOURS[1]


def pick_strength() -> tuple[int, float]:
    """How many relations are drawn at most, and the smallest figure of one."""
    judge("top", is_number(5, 300), "Strongest relations")
    top = st.slider(
        "Strongest relations shown",
        5,
        300,
        60,
        5,
        key="top",
        bind="query-params",
        help="Network and chord: only so many are drawn, the strongest ones (top k).",
    )
    judge("least", is_number(0, 1e12), "Smallest figure")
    threshold = st.number_input(
        "Smallest figure shown",
        min_value=0.0,
        value=0.0,
        step=0.5,
        key="least",
        bind="query-params",
        help="Network and chord: relations below this figure are left out (threshold).",
    )
    return top, threshold
