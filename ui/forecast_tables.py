"""The largest expected changes, and what can be taken away from a forecast."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from trnn_core.charts.lines import unit_of
from trnn_core.data.long_table import tidy
from trnn_core.errors import TRNNError
from trnn_core.export.browser import find_browser
from trnn_core.export.forecasts import forecast_rows, largest_changes
from trnn_core.export.graphs import to_gexf, to_graph, to_graphml
from trnn_core.export.images import FORMATS, Format, to_images
from trnn_core.export.pictures import slug
from trnn_core.export.tables import to_csv
from trnn_core.words import percent
from ui.data_access import positions
from ui.downloads import save_button
from ui.forecast_view import ForecastView
from ui.links import judge


def changes_table(view: ForecastView) -> None:
    forecast, step = view.forecast, view.step
    judge("all_actions", ("true", "false"), "All actions")
    everything = st.toggle(
        "All actions",
        key="all_actions",
        bind="query-params",
        help="Rises and falls of every action (k), not only the one chosen above.",
    )
    columns = ["source", "target", "action", "change", "last_observed", "forecast", "lower", "upper"]
    columns += ["happened"] if forecast.is_past(step) else []
    sides = st.columns(2, gap="medium")
    for side, falls in zip(sides, (False, True), strict=True):
        with side:
            rows = largest_changes(forecast, step, 10, falls=falls, action=None if everything else view.action_name)
            st.markdown("**Falls**" if falls else "**Rises**")
            if rows.empty:
                st.caption("None expected.")
                continue
            st.dataframe(
                rows[columns], hide_index=True, key=f"changes-{falls}", column_config=_columns(view, everything)
            )
    if forecast.simulated:
        st.caption("Simulated data: these countries' figures are made up.")


def _columns(view: ForecastView, everything: bool) -> dict[str, Any]:
    level, number = view.forecast.interval_level, st.column_config.NumberColumn
    return {
        "source": "Sender",
        "target": "Receiver",
        "action": "Action" if everything else None,
        "last_observed": number("Last", format="%.3g", help=f"Last observed, {unit_of(view.series)}"),
        "forecast": number("Expected", format="%.3g", help=unit_of(view.series)),
        "lower": number("From", format="%.3g", help=f"Lower end of the {percent(level)} interval"),
        "upper": number("To", format="%.3g", help=f"Upper end of the {percent(level)} interval"),
        "change": number("Change", format="%+.3g", help="Expected minus last observed"),
        "happened": number("Happened", format="%.3g", help="What happened in that period"),
    }


def downloads(view: ForecastView) -> None:
    """Files are made when asked for, not at every change of a control."""
    forecast = view.forecast
    name = f"{slug(view.show)}-{slug(view.action_name)}-{forecast.dates[view.step]}"
    pair = (forecast.actors.index(st.session_state["sender"]), forecast.actors.index(st.session_state["receiver"]))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**Take away**")
        for form in FORMATS if has_browser() else ():
            save_button(
                f"Image ({form.upper()})",
                partial(image, view, form),
                f"{name}.{form}",
                f"image/{form}+xml" if form == "svg" else "image/png",
                "image",
                "The picture above on white ground, 180 mm wide, for papers and slides. Takes a few seconds.",
            )
        save_button(
            "Data shown (CSV)",
            lambda: shown_csv(view),
            f"{name}.csv",
            "text/csv",
            "table_view",
            "The figures of this picture: one row per sender and receiver, with interval.",
        )
        save_button(
            "This pair (CSV)",
            lambda: pair_csv(view, pair),
            f"pair-{slug('-'.join(forecast.actors[p] for p in pair))}.csv",
            "text/csv",
            "timeline",
            "The history of the pair shown beside the picture, and its forecast.",
        )
        save_button(
            "Whole forecast (CSV)",
            lambda: to_csv(forecast_rows(forecast)),
            f"forecast-{forecast.dates[0]}.csv",
            "text/csv",
            "table",
            "All weeks ahead, one row per week, sender, receiver and action, with intervals. Opens in Excel, R and"
            " Stata.",
        )
        save_button(
            "Network (GraphML)",
            lambda: to_graphml(graph(view)),
            f"{name}.graphml",
            "application/xml",
            "hub",
            "The network shown, all relations, for Cytoscape, igraph and Gephi.",
        )
        save_button(
            "Network (GEXF)",
            lambda: to_gexf(graph(view)),
            f"{name}.gexf",
            "application/xml",
            "hub",
            "The network shown, all relations, for Gephi. Week after week with a timeline: page Report.",
        )
    if not has_browser():
        st.caption("Images: the camera in the corner of each view. PNG files need Chromium or Chrome on the server.")


def shown_csv(view: ForecastView) -> bytes:
    """The rows of one period and action, with the figure of the picture under its own name."""
    table = forecast_rows(view.forecast, view.step)
    table = table[table["action"] == view.action_name].copy()
    place = {name: i for i, name in enumerate(view.forecast.actors)}
    matrix = view.matrix()
    pairs = zip(table["source"], table["target"], strict=True)
    table["shown"] = [float(matrix[place[a], place[b]]) for a, b in pairs]
    table["shown_is"] = view.show.lower()
    return to_csv(table)


def pair_csv(view: ForecastView, pair: tuple[int, int]) -> bytes:
    """The whole history of one pair, every action, and below it the forecast with its interval."""
    series, f, (i, j) = view.series, view.forecast, pair
    seen = (
        series.select(actors=[series.actors[i], series.actors[j]])
        if i != j
        else series.select(actors=[series.actors[i]])
    )
    past = tidy(
        {"value": np.asarray(seen.values, dtype=float)},
        list(seen.dates),
        seen.actors,
        seen.actions,
        simulated=f.simulated,
        diagonal=i == j,
    )
    ahead = forecast_rows(f).rename(columns={"forecast": "value"})
    table = pd.concat([past.assign(what="observed"), ahead.assign(what="forecast")], ignore_index=True)
    table = table[(table["source"] == f.actors[i]) & (table["target"] == f.actors[j])]
    kept = ["date", "source", "target", "action", "what", "value", "lower", "upper", "data"]
    return to_csv(table[[c for c in kept if c in table]])


def graph(view: ForecastView):
    at = (view.step, ..., view.action)
    extra = {"lower": view.forecast.lower[at], "upper": view.forecast.upper[at]}
    return to_graph(
        view.matrix(),
        view.forecast.actors,
        title=", ".join(view.titles()),
        simulated=view.forecast.simulated,
        attributes=extra,
        positions=positions(view.series, view.options.layout),
    )


def image(view: ForecastView, form: Format) -> bytes:
    source = view.series.source
    about = (
        f"{', '.join(view.titles())}. {source.title}{', simulated data' if source.simulated else ''}. Made with TRNN"
        " Studio."
    )
    return to_images([view.figure(dark=False)], form, about=about)[0]


@st.cache_data(ttl=60, show_spinner=False)
def has_browser() -> bool:
    try:
        return bool(find_browser())
    except TRNNError:
        return False
