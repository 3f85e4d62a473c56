"""Forecast: who is expected to do what to whom, as network and heatmap, with the history of any pair on a click."""

from __future__ import annotations

import streamlit as st

import ui.everything  # noqa: F401  # first: see there
from trnn_core.data.series import RelationalSeries
from trnn_core.models.forecast import Forecast
from trnn_core.runs.run import Run
from ui.data_access import forecast_runs, read_forecast, read_hindcast, series_of
from ui.dyad import dyad_panel, follow_click
from ui.forecast_options import pick_options, pick_show
from ui.forecast_tables import changes_table, downloads
from ui.forecast_view import ForecastView
from ui.guard import guard, show_notes
from ui.page import TRAIN, empty, is_dark, page, show, simulated_badge
from ui.phrases import scores_of, sentence, trust
from ui.pickers import pick_action, pick_run, pick_step, pick_week, show_scores


def main() -> None:
    """A change of a control runs this part alone, not the frame of the page."""
    with guard():
        with st.container():
            show_notes()
        runs = forecast_runs()
        if not runs:
            empty(
                "There is no forecast yet: train a network first.",
                "Here you will see who is expected to do what to whom, as a network, a heatmap or chords, each figure"
                " with its interval.",
                TRAIN,
            )
        run, view = pick_view(runs)
        forecast = view.forecast
        left, right = st.columns([3, 2], gap="medium")
        with left:
            title = f"{view.options.view} of {view.show.lower()}, {view.action_name}"
            clicked = show(
                view.figure(dark=is_dark()), f"forecast-{view.options.view}", title, clicks=True, file="forecast"
            )
        with right:
            follow_click(clicked, forecast.actors)
            dyad_panel(view)
        downloads(view)
        st.subheader("Largest expected changes")
        changes_table(view)
        st.subheader("How far to trust it")
        scores = scores_of(run)
        if scores is not None:
            show_scores(scores, forecast.interval_level)
        about = [
            trust(scores, forecast.interval_level, view.series.period),
            *(forecast.meta.get(k, "") for k in ("words", "intervals", "model")),
        ]
        st.caption(" ".join(f"{sentence(s)}." for s in about if s))


def pick_view(runs: list[Run]) -> tuple[Run, ForecastView]:
    """Which run, week, horizon, figure and action, and how they are drawn."""
    where, when, far, what, badge = st.columns([5, 5, 5, 4, 3], vertical_alignment="bottom")
    with where:
        run = pick_run(runs)
    newest, series = read_forecast(run), series_of(run)
    assert newest is not None  # runs without one were left out above
    with when:
        forecast = pick_forecast(run, newest, series)
    with far:
        step = pick_step(forecast.dates.astype(str).tolist(), series.period)
    with what:
        shown = pick_show(forecast.is_past(step))
    with badge:
        simulated_badge(forecast.simulated)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        action = forecast.actions.index(pick_action(forecast.actions))
        options = pick_options(forecast.actors)
    return run, ForecastView(forecast, series, shown, step, action, options)


def pick_forecast(run: Run, newest: Forecast, series: RelationalSeries) -> Forecast:
    """Of what comes next, or of a past week as it would have been made then."""
    past = read_hindcast(run)
    origins = past.origins.astype(str).tolist() if past is not None else []
    week = pick_week(origins, series.period, str(newest.last_date))
    return newest if week is None or past is None else past.forecast(week, series)


with page("Forecast"):
    st.fragment(main, key="forecast")()
