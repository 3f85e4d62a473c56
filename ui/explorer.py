"""Looking at a series week by week: heatmap or graph, activity, one pair, who is most active, the transform."""

from __future__ import annotations

from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from trnn_core.charts.bars import before_after, ranking
from trnn_core.charts.heatmap import heatmap
from trnn_core.charts.lines import activity, dyad_history, unit_of
from trnn_core.charts.look import Measure
from trnn_core.charts.map import map_frame
from trnn_core.charts.node_link import Scene, network
from trnn_core.charts.order import LAYOUTS, ORDERS, Layout, Order
from trnn_core.data import transforms
from trnn_core.data.import_report import summary
from trnn_core.data.long_table import tidy
from trnn_core.data.series import RelationalSeries
from trnn_core.export.graphs import to_graph, to_graphml
from trnn_core.export.summaries import busiest_pairs, most_active, shares
from trnn_core.export.tables import to_csv
from trnn_core.words import percent
from ui.data_access import order, positions
from ui.downloads import save_button
from ui.dyad import follow_click, pick_pair
from ui.forecast_options import LAYOUT_WORDS, ORDER_WORDS
from ui.guard import guard
from ui.links import begin_with, judge, segments, select
from ui.page import look, show
from ui.phrases import escape
from ui.pickers import pick_action

PLAY_SECONDS = 1.2
SAMPLED = 8_000_000  # cells whose distribution is drawn


def explorer(series: RelationalSeries) -> None:
    """The pictures; the part that depends on the week runs alone, and by itself while playing."""
    playing = st.session_state.get("playing", False)
    st.fragment(one_week, run_every=PLAY_SECONDS if playing else None, key="one-week")(series, playing)
    st.subheader("Over the whole time")
    figures(series)
    transform_view(series)
    how_it_was_read(series)


def how_it_was_read(series: RelationalSeries) -> None:
    """The report of the import, kept with the set."""
    if "rows_read" in series.source.report:
        with st.expander("How it was read: rows used, changed and left out", icon=":material/fact_check:"):
            st.markdown("\n".join(f"- {escape(sentence)}" for sentence in summary(series.source.report)))


def one_week(series: RelationalSeries, playing: bool) -> None:
    with guard():
        t = pick_week(series, playing)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            action = series.actions.index(pick_action(series.actions))
            view = segments(
                "View",
                ("Heatmap", "Network"),
                "data_view",
                "A matrix with senders in rows and receivers in columns, or arrows between countries.",
            )
            if view == "Heatmap":
                by = select(
                    "Order",
                    ORDERS,
                    "order",
                    "Countries with like partners side by side; by bloc; the most active first; or by name.",
                    name=ORDER_WORDS.__getitem__,
                )
            else:
                by = select(
                    "Places",
                    LAYOUTS,
                    "layout",
                    "By ties: close partners stand close. Or on a circle, or where they lie on the map.",
                    name=LAYOUT_WORDS.__getitem__,
                )
        left, right = st.columns([1, 1], gap="medium")
        with left:
            clicked = week_picture(series, t, action, view, by)
        with right:
            pair_picture(series, clicked, action)
            figure = activity(series, look(simulated=series.source.simulated, height=300), mark=t)
            show(figure, "activity", "Events of each action over time")
        take_away(series, t, action)


def pick_week(series: RelationalSeries, playing: bool) -> int:
    """The period shown: a slider that can play by itself; in the link while it rests."""
    weeks = [str(d) for d in series.dates]
    judge("week", weeks, series.period)
    if not begin_with("week", weeks, weeks[-1]) and playing:
        st.session_state["week"] = weeks[(weeks.index(st.session_state["week"]) + 1) % len(weeks)]
    slide, play = st.columns([8, 1], vertical_alignment="bottom")
    week = slide.select_slider(
        series.period.capitalize(),
        weeks,
        key="week",
        help=f"Which {series.period} (t) the pictures show, by its first day.",
    )
    play.toggle("Play", key="playing", help="Go on by itself, one step at a time.")
    if st.session_state.get("playing", False) != playing:
        st.rerun()
    if not playing and st.query_params.get("week") != week:
        st.query_params["week"] = week
    return weeks.index(week)


def week_picture(series: RelationalSeries, t: int, action: int, view: str, by: str) -> tuple[int, int] | None:
    matrix = np.asarray(series.values[t, :, :, action], dtype=float)
    title, when = f"Observed {series.actions[action]}", f"{series.period} of {series.dates[t]}"
    measure = Measure("count" if series.source.kind == "count" else "value", unit_of(series))
    simulated = series.source.simulated
    figure: go.Figure
    if view == "Network":
        layout = cast(Layout, by)
        scene = Scene(frame=map_frame(series.actors) if layout == "geography" else None)
        figure = network(
            matrix,
            series.actors,
            positions(series, layout),
            look(title, simulated=simulated, subtitle=f"{when} · thicker, stronger colour: more", height=620),
            measure=measure,
            scene=scene,
        )
    else:
        figure = heatmap(
            matrix,
            series.actors,
            look(title, simulated=simulated, subtitle=f"{when} · stronger colour: more"),
            measure=measure,
            order=order(series, cast(Order, by)),
            largest=_largest(series.fingerprint, action, series),
        )
    return show(figure, f"week-{view}", f"{title}, {when}", clicks=True, file="week")


def take_away(series: RelationalSeries, t: int, action: int) -> None:
    """The week shown as a table and as a network; images by the camera of each picture."""
    when, simulated = str(series.dates[t]), series.source.simulated
    matrix = np.asarray(series.values[t, :, :, action], dtype=float)

    def table() -> bytes:
        values = {"value": np.asarray(series.values[t : t + 1], dtype=float)}
        return to_csv(tidy(values, [when], series.actors, series.actions, simulated=simulated))

    def graph() -> bytes:
        title = f"Observed {series.actions[action]}, {series.period} of {when}"
        return to_graphml(
            to_graph(matrix, series.actors, title=title, simulated=simulated, positions=positions(series, "force"))
        )

    with st.container(horizontal=True, vertical_alignment="center"):
        save_button(
            f"This {series.period} (CSV)",
            table,
            f"observed-{when}.csv",
            "text/csv",
            "table_view",
            "One row per sender, receiver and action.",
        )
        save_button(
            "Network (GraphML)",
            graph,
            f"observed-{when}.graphml",
            "application/xml",
            "hub",
            "The action shown, for Gephi, Cytoscape and igraph.",
        )
        st.caption("Images: the camera in the corner of each picture.")


def pair_picture(series: RelationalSeries, clicked: tuple[int, int] | None, action: int) -> None:
    top = _busiest(series.fingerprint, series).iloc[0]
    follow_click(clicked, series.actors)
    i, j = pick_pair(series.actors, (series.actors.index(top["source"]), series.actors.index(top["target"])))
    figure = dyad_history(series, (i, j, action), look(simulated=series.source.simulated, height=300), last=None)
    show(figure, "pair", f"History of {series.actors[i]} to {series.actors[j]}", file="pair")


def figures(series: RelationalSeries) -> None:
    part = _shares(series.fingerprint, series)
    unit = "events" if series.source.kind == "count" else "sum of values"
    who, whom, facts = st.columns([3, 3, 2], gap="medium")
    simulated = series.source.simulated
    with who:
        table = _active(series.fingerprint, series)
        senders = look("Most active senders", simulated=simulated)
        figure = ranking(list(table["actor"]), list(table["sent"]), senders, unit=unit, axis="sender")
        show(figure, "senders", "The most active senders")
    with whom:
        pairs = _busiest(series.fingerprint, series)
        names = [f"{s} → {t}" for s, t in zip(pairs["source"], pairs["target"], strict=True)]
        busiest = look("Busiest pairs", simulated=simulated)
        figure = ranking(names, list(pairs["total"]), busiest, unit=unit, axis="sender → receiver")
        show(figure, "pairs", "The busiest pairs")
    with facts:
        st.metric(
            "Cells that are zero",
            percent(part["zero"], 1),
            border=True,
            help="Of all observed cells between two different countries: how often nothing happened.",
        )
        st.metric(
            "Cells not observed",
            percent(part["missing"], 1),
            border=True,
            help="Missing is not zero: these cells are left out of training and scores.",
        )
        st.metric(
            "Fingerprint",
            series.fingerprint[:8],
            border=True,
            help="The first characters of the SHA-256 of the content; a run remembers it.",
        )


@st.cache_data(max_entries=64, show_spinner=False)
def _largest(fingerprint: str, action: int, _series: RelationalSeries) -> float:
    """The strongest cell of all periods: colours mean the same in each of them."""
    return float(np.nanmax(np.abs(_series.values[..., action]), initial=1.0))


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
    names = sorted(transforms.NAMES, key=lambda n: n != "log1p")
    name = select(
        "Transform",
        names,
        "transform",
        name=lambda n: f"{n}: {transforms.NAMES[n]}",
        words="How values are rescaled before the network reads them. Forecasts are turned back into events.",
    )
    counts = _transformed(series.fingerprint, name, series)
    show(
        before_after(*counts, name, look(simulated=series.source.simulated)),
        "transform",
        f"Values before and after {name}",
    )


@st.cache_data(max_entries=16, show_spinner="Transforming ...")
def _transformed(fingerprint: str, name: str, _series: RelationalSeries) -> tuple[np.ndarray, np.ndarray]:
    """Before and after for an even sample of periods: the picture needs the shape, not every cell."""
    n_periods = min(60, max(1, SAMPLED // int(np.prod(_series.shape[1:]))))
    sample = np.asarray(_series.values[np.unique(np.linspace(0, len(_series) - 1, n_periods).astype(int))])
    fitted = transforms.fit_transform(name, _series.values, _series.observed)
    return sample, np.asarray(fitted.apply(sample))
