"""What the forecast page shows and how; every choice is in the address bar, so that a link opens the same view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from trnn_core.charts.order import LAYOUTS, ORDERS, Layout, Order
from ui.forecast_view import SHOWS, Show

View = Literal["Network", "Heatmap", "Chord"]
VIEWS: tuple[View, ...] = ("Network", "Heatmap", "Chord")
LAYOUT_WORDS = {"force": "By ties", "circle": "On a circle"}
ORDER_WORDS = {"similarity": "Similarity", "activity": "Activity", "name": "Name"}
ALL = "all countries"


@dataclass(frozen=True)
class Options:
    view: View
    layout: Layout
    order: Order
    top: int
    threshold: float | None
    ego: int | None
    kept: list[int]


def pick_show() -> Show:
    return st.selectbox(
        "Show", SHOWS, key="show", bind="query-params",
        help="The expected figure; what was last observed; the difference of the two; or how wide the interval is.",
    )  # fmt: skip


def pick_options(actors: Sequence[str]) -> Options:
    view = st.segmented_control(
        "View", VIEWS, default=VIEWS[0], required=True, wrap=True, key="view", bind="query-params",
        help="Arrows between countries; a matrix with senders in rows and receivers in columns; or ribbons inside a circle. Click an arrow or a cell for a pair's history.",
    )  # fmt: skip
    with st.popover("Options", icon=":material/tune:"):
        layout = st.selectbox(
            "Places of the countries", LAYOUTS, format_func=LAYOUT_WORDS.__getitem__, key="layout", bind="query-params",
            help="Network: countries with strong ties stand close to each other, or all on a circle. Places never change from week to week.",
        )  # fmt: skip
        order = st.selectbox(
            "Order of the rows", ORDERS, format_func=ORDER_WORDS.__getitem__, key="order", bind="query-params",
            help="Heatmap: countries with like partners side by side, the most active first, or by name.",
        )  # fmt: skip
        top = st.slider(
            "Strongest relations shown", 5, 300, 60, 5, key="top", bind="query-params",
            help="Network: only so many arrows are drawn, the strongest ones.",
        )  # fmt: skip
        threshold = st.number_input(
            "Smallest figure shown", min_value=0.0, value=0.0, step=0.5, key="least", bind="query-params",
            help="Network: arrows below this figure are left out.",
        )  # fmt: skip
        ego = st.selectbox(
            "Relations of one country", [ALL, *actors], key="ego", bind="query-params",
            help="Network: only arrows from and to this country.",
        )  # fmt: skip
        kept = st.multiselect(
            "Countries", actors, key="countries", bind="query-params", placeholder="all",
            help="Show only these countries and the relations between them.",
        )  # fmt: skip
    return Options(
        view or VIEWS[0], layout, order, top, threshold or None, None if ego == ALL else list(actors).index(ego),
        [i for i, a in enumerate(actors) if not kept or a in kept],
    )  # fmt: skip
