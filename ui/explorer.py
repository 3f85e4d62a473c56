"""Looking at a series week by week: heatmap or graph, activity, one pair, who is most active, the transform."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from trnn_core.charts.bars import before_after, ranking
from trnn_core.charts.heatmap import heatmap
from trnn_core.charts.lines import activity, dyad_history, unit_of
from trnn_core.charts.network import network
from trnn_core.data import transforms
from trnn_core.data.series import RelationalSeries
from trnn_core.export.summaries import busiest_pairs, most_active, shares
from ui.dyad import follow_click, pick_pair
from ui.page import is_dark, show
from ui.pickers import pick_action
from ui.store import order, positions

PLAY_SECONDS = 1.2


def explorer(series: RelationalSeries) -> None:
    """The pictures; the part that depends on the week runs alone, and by itself while playing."""
    playing = st.session_state.get("playing", False)
    st.fragment(one_week, run_every=PLAY_SECONDS if playing else None, key="one-week")(series, playing)
    st.subheader("Over the whole time")
    figures(series)
    transform_view(series)


def one_week(series: RelationalSeries, playing: bool) -> None:
    weeks = [str(d) for d in series.dates]
    key = f"week-{series.fingerprint[:8]}"
    if key not in st.session_state:
        st.session_state[key] = weeks[-1]
    elif playing:
        at = weeks.index(st.session_state[key]) + 1
        st.session_state[key] = weeks[at % len(weeks)]
    slide, play = st.columns([8, 1], vertical_alignment="bottom")
    week = slide.select_slider(
        series.period.capitalize(), weeks, key=key, help=f"Which {series.period} the pictures show, by its first day."
    )
    play.toggle("Play", key="playing", help="Go on by itself, one step at a time.", on_change=lambda: None)
    if st.session_state.get("playing", False) != playing:
        st.rerun()
    t = weeks.index(week)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        action = series.actions.index(pick_action(series.actions))
        view = st.segmented_control(
            "View", ("Heatmap", "Network"), default="Heatmap", required=True, wrap=True, key="data_view", bind="query-params",
            help="A matrix with senders in rows and receivers in columns, or arrows between countries.",
        )  # fmt: skip
    left, right = st.columns([1, 1], gap="medium")
    with left:
        clicked = week_picture(series, t, action, view or "Heatmap")
    with right:
        pair_picture(series, clicked, action)
        show(activity(series, dark=is_dark(), mark=t, height=300), "activity", "Events of each action over time")


def week_picture(series: RelationalSeries, t: int, action: int, view: str) -> tuple[int, int] | None:
    matrix = np.asarray(series.values[t, :, :, action], dtype=float)
    title, when = f"Observed {series.actions[action]}", f"{series.period} of {series.dates[t]}"
    largest = float(np.nanmax(series.values[..., action], initial=1.0))
    figure: go.Figure
    if view == "Network":
        figure = network(
            matrix, series.actors, positions(series, "force"), title, unit=unit_of(series), subtitle=when,
            simulated=series.source.simulated, dark=is_dark(), height=620,
        )  # fmt: skip
    else:
        figure = heatmap(
            matrix, series.actors, title, unit=unit_of(series), subtitle=when, order=order(series, "similarity"),
            simulated=series.source.simulated, dark=is_dark(), largest=largest,
        )  # fmt: skip
    return show(figure, f"week-{view}", f"{title}, {when}", clicks=True, file="week")


def pair_picture(series: RelationalSeries, clicked: tuple[int, int] | None, action: int) -> None:
    top = _busiest(series.fingerprint, series).iloc[0]
    follow_click(clicked, series.actors)
    i, j = pick_pair(series.actors, (series.actors.index(top["source"]), series.actors.index(top["target"])))
    figure = dyad_history(series, i, j, action, last=None, dark=is_dark(), height=300)
    show(figure, "pair", f"History of {series.actors[i]} to {series.actors[j]}", file="pair")


def figures(series: RelationalSeries) -> None:
    part = _shares(series.fingerprint, series)
    unit = "events" if series.source.kind == "count" else "sum of values"
    who, whom, facts = st.columns([3, 3, 2], gap="medium")
    with who:
        table = _active(series.fingerprint, series)
        show(
            ranking(list(table["actor"]), list(table["sent"]), "Most active senders", unit=unit, simulated=series.source.simulated, dark=is_dark()),
            "senders", "The most active senders",
        )  # fmt: skip
    with whom:
        pairs = _busiest(series.fingerprint, series)
        names = [f"{s} → {t}" for s, t in zip(pairs["source"], pairs["target"], strict=True)]
        show(
            ranking(names, list(pairs["total"]), "Busiest pairs", unit=unit, simulated=series.source.simulated, dark=is_dark()),
            "pairs", "The busiest pairs",
        )  # fmt: skip
    with facts:
        st.metric("Cells that are zero", f"{part['zero']:.1%}", border=True, help="Of all observed cells between two different countries: how often nothing happened.")  # fmt: skip
        st.metric("Cells not observed", f"{part['missing']:.1%}", border=True, help="Missing is not zero: these cells are left out of training and scores.")  # fmt: skip
        st.metric("Fingerprint", series.fingerprint[:8], border=True, help="The first characters of the SHA-256 of the content; a run remembers it.")  # fmt: skip


@st.cache_data(max_entries=16, show_spinner=False)
def _busiest(fingerprint: str, _series: RelationalSeries) -> pd.DataFrame:
    return busiest_pairs(_series)


@st.cache_data(max_entries=16, show_spinner=False)
def _active(fingerprint: str, _series: RelationalSeries) -> pd.DataFrame:
    return most_active(_series)


@st.cache_data(max_entries=16, show_spinner=False)
def _shares(fingerprint: str, _series: RelationalSeries) -> dict[str, float]:
    return shares(_series)


def transform_view(series: RelationalSeries) -> None:
    st.subheader("As the network sees it")
    name = st.selectbox(
        "Transform", list(transforms.NAMES), index=list(transforms.NAMES).index("log1p"), key="transform", bind="query-params",
        format_func=lambda n: f"{n}: {transforms.NAMES[n]}",
        help="How values are rescaled before the network reads them. Forecasts are turned back into events.",
    )  # fmt: skip
    counts = _transformed(series.fingerprint, name, series)
    show(before_after(*counts, name, simulated=series.source.simulated, dark=is_dark()), "transform", f"Values before and after {name}")  # fmt: skip


@st.cache_data(max_entries=16, show_spinner="Transforming ...")
def _transformed(fingerprint: str, name: str, _series: RelationalSeries) -> tuple[np.ndarray, np.ndarray]:
    """Before and after for an even sample of periods: the picture needs the shape, not every cell."""
    chosen = np.unique(np.linspace(0, len(_series) - 1, 60).astype(int))
    fitted = transforms.fit_transform(name, _series.values, _series.observed)
    return np.asarray(_series.values[chosen]), np.asarray(fitted.apply(_series.values)[chosen])
