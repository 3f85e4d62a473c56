"""Home: the newest forecast and how far to trust it, the data set in hand, recent runs, three next steps."""

from __future__ import annotations

import streamlit as st

import ui.everything  # noqa: F401  # first: see there
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.export.forecasts import headlines
from trnn_core.models.forecast import Forecast
from trnn_core.runs.run import Run
from ui.data_access import data_sets, load_set, read_forecast, run_store, series_of
from ui.demo_run import prepare_demo
from ui.forecast_options import Options
from ui.forecast_view import ForecastView
from ui.links import judge
from ui.page import is_dark, page, show, simulated_badge
from ui.phrases import about_series, escape, scores_of, trust
from ui.pickers import pick_action, show_scores
from ui.runs_table import runs_table


def main() -> None:
    prepare_demo()
    runs = run_store().runs()
    newest = first_whole(runs)
    if newest is None:
        welcome()
    else:
        headline(*newest)
    if runs:
        st.subheader("Recent runs")
        runs_table(runs[:8])
    else:
        st.caption("Runs that you train are listed here, with their status and the course of their loss.")


def first_whole(runs: list[Run]) -> tuple[Run, Forecast, RelationalSeries] | None:
    """The run in the link, else the newest one with a forecast; a damaged or unfinished one does not hide the
    others."""
    judge("run", [run.run_id for run in runs], "Run")
    asked = st.query_params.get("run")
    for run in sorted(runs, key=lambda run: run.run_id != asked):
        try:
            forecast = read_forecast(run)
            if forecast is not None:
                return run, forecast, series_of(run)
        except TRNNError:
            continue
    return None


def headline(run: Run, forecast: Forecast, series: RelationalSeries) -> None:
    picture, words = st.columns([3, 2], gap="large")
    with picture:
        action = pick_action(forecast.actions)
        drawn = ForecastView(forecast, series, action=forecast.actions.index(action), options=Options(top=40))
        show(
            drawn.figure(dark=is_dark(), height=600),
            "home-network",
            f"Network of expected {action} between countries",
            file="forecast-network",
        )
    with words:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"#### Next {series.period}")
            simulated_badge(forecast.simulated)
        for sentence in headlines(forecast):
            st.markdown(escape(sentence[0].upper() + sentence[1:] + "."))
        scores = scores_of(run)
        if scores is not None:
            show_scores(scores, forecast.interval_level, narrow=True)
        st.caption(trust(scores, forecast.interval_level, series.period))
        next_steps(run)
        st.markdown(
            f"Data set in hand: **{escape(series.source.title)}**, {about_series(series)}; run **{escape(run.name)}**."
        )


def welcome() -> None:
    st.title("Forecast relations between countries")
    st.write(
        "Load who-did-what-to-whom event data, train a network by clicking, and see next week's relations with the "
        "evidence that the forecast is worth believing."
    )
    names = data_sets()
    if names:
        series = load_set(names[0])
        simulated_badge(series.source.simulated)
        st.write(f"Data set in hand: **{escape(series.source.title)}**, {about_series(series)}.")
        next_steps()
    else:
        first_steps()


def first_steps() -> None:
    """With no data at all there is one thing to do; what follows is told, not offered."""
    with st.container(border=True):
        st.page_link(
            "pages/1_Data.py",
            label="**Bring your data**: event files or a table",
            icon=":material/upload_file:",
            width="stretch",
            query_params={"do": "Add data"},
        )
    st.markdown("Then train a network on it, watching it learn, and explore its forecast: who, to whom, how sure.")


def next_steps(run: Run | None = None) -> None:
    """Three large ones; the second line of the first is for one's own data."""
    with st.container(border=True, horizontal=True):
        st.page_link("pages/1_Data.py", label="**Look at the data**", icon=":material/table_chart:")
        st.page_link(
            "pages/1_Data.py",
            label="or **bring your own**",
            icon=":material/upload_file:",
            query_params={"do": "Add data"},
        )
    with st.container(border=True):
        st.page_link(
            "pages/2_Train.py",
            label="**Train a network** on it, watching it learn",
            icon=":material/model_training:",
            width="stretch",
        )
    with st.container(border=True):
        asked = {"run": run.run_id} if run is not None else None
        st.page_link(
            "pages/3_Forecast.py",
            label="**Explore the forecast**: who, to whom, how sure",
            icon=":material/hub:",
            width="stretch",
            query_params=asked,
        )


with page("Home"):
    main()
