"""Home: the newest forecast and how far to trust it, the data set in hand, recent runs, three next steps."""

from __future__ import annotations

import streamlit as st

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.export.forecasts import RunForecast
from trnn_core.training.runs import Run
from ui.demo import prepare_demo
from ui.forecast_options import Options
from ui.forecast_view import Picture, read_forecast
from ui.page import is_dark, page, show, simulated_badge
from ui.pickers import pick_action, show_scores
from ui.runs_table import runs_table
from ui.store import data_sets, load_set, run_store, series_of
from ui.words import about_series, escape, scores_of, span, trust


def main() -> None:
    prepare_demo()
    runs = run_store().runs()
    newest = next((shown for run in runs if (shown := whole(run)) is not None), None)
    if newest is None:
        welcome()
    else:
        headline(*newest)
    if runs:
        st.subheader("Recent runs")
        runs_table(runs[:8])


def whole(run: Run) -> tuple[Run, RunForecast, RelationalSeries] | None:
    """A run with its forecast and its data; a damaged or unfinished one does not keep the others from the reader."""
    try:
        forecast = read_forecast(run)
        return None if forecast is None else (run, forecast, series_of(run))
    except TRNNError:
        return None


def headline(run: Run, forecast: RunForecast, series: RelationalSeries) -> None:
    picture, words = st.columns([3, 2], gap="large")
    with picture:
        action = pick_action(forecast.actions)
        drawn = Picture(forecast, series, action=forecast.actions.index(action), options=Options(top=40))
        show(
            drawn.figure(dark=is_dark(), height=640),
            "home-network",
            f"Network of expected {action} between countries",
            file="forecast-network",
        )
    with words:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"#### Next {series.period}")
            simulated_badge(forecast.simulated)
        for sentence in forecast.headlines():
            st.markdown(escape(sentence[0].upper() + sentence[1:] + "."))
        scores = scores_of(run)
        if scores is not None:
            show_scores(scores, forecast.level, narrow=True)
        st.caption(trust(scores, forecast.level, series.period))
        next_steps()
        st.caption(f"Run **{escape(run.name)}** on {escape(series.source.title)}, {span(series)}.")


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


def next_steps() -> None:
    with st.container(border=True, horizontal=True):
        st.page_link("pages/1_Data.py", label="**Look at the data**", icon=":material/table_chart:")
        st.page_link("pages/1_Data.py", label="or **bring your own**", icon=":material/upload_file:", query_params={"do": "Add data"})  # fmt: skip
    for target, icon, label in (
        ("pages/2_Train.py", "model_training", "**Train a network** on it, watching it learn"),
        ("pages/3_Forecast.py", "hub", "**Explore the forecast**: who, to whom, how sure"),
    ):
        with st.container(border=True):
            st.page_link(target, label=label, icon=f":material/{icon}:", width="stretch")


with page("Home"):
    main()
