"""Forecast: who is expected to do what to whom, as network and heatmap, with the history of any pair on a click."""

from __future__ import annotations

import streamlit as st

from trnn_core.export.forecasts import RunForecast
from ui.dyad import dyad_panel, follow_click
from ui.forecast_options import Options, pick_options, pick_show
from ui.forecast_tables import changes_table, downloads
from ui.forecast_view import draw_heatmap, draw_network, read_forecast
from ui.page import empty, page, show, simulated_badge
from ui.pickers import pick_action, pick_run, pick_step, show_scores
from ui.store import run_store, series_of
from ui.words import scores_of, trust


def main() -> None:
    runs = [run for run in run_store().runs() if (run.folder / "forecast.npz").exists()]
    if not runs:
        empty("There is no forecast yet: train a network first.", "pages/2_Train.py", "Train a network", ":material/model_training:")  # fmt: skip
    where, when, what, badge = st.columns([6, 6, 4, 3], vertical_alignment="bottom")
    with where:
        run = pick_run(runs)
    forecast = read_forecast(run)
    assert forecast is not None  # runs without one were left out above
    series = series_of(run)
    with when:
        step = pick_step(forecast.dates, series.period)
    with what:
        shown = pick_show()
    with badge:
        simulated_badge(forecast.simulated)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        action = forecast.actions.index(pick_action(forecast.actions))
        options = pick_options(forecast.actors)
    picture, side = st.columns([3, 2], gap="medium")
    with picture:
        clicked = draw(forecast, series, shown, step, action, options)
    with side:
        follow_click(clicked, forecast.actors)
        dyad_panel(forecast, series, step, action)
    st.subheader("Largest expected changes")
    changes_table(forecast, series, step, forecast.actions[action])
    downloads(forecast, series, shown, step, action, options)
    st.subheader("How far to trust it")
    scores = scores_of(run)
    if scores is not None:
        show_scores(scores, forecast.level)
    about = [trust(scores, forecast.level, series.period), *(forecast.meta.get(k, "") for k in ("intervals", "model"))]
    st.caption(" ".join(f"{sentence.rstrip('.')}." for sentence in about if sentence))


def draw(forecast: RunForecast, series, shown, step: int, action: int, options: Options) -> tuple[int, int] | None:
    name = forecast.actions[action]
    if options.view == "Heatmap":
        figure = draw_heatmap(forecast, series, shown, step, action, by=options.order, kept=options.kept)
        return show(
            figure, "forecast-heatmap", f"Matrix of {shown.lower()}, {name}", clicks=True, file="forecast-heatmap"
        )
    figure = draw_network(
        forecast, series, shown, step, action, layout="chord" if options.view == "Chord" else options.layout, top=options.top, threshold=options.threshold,
        ego=options.ego, kept=options.kept, height=660,
    )  # fmt: skip
    return show(
        figure, f"forecast-{options.view}", f"Network of {shown.lower()}, {name}", clicks=True, file="forecast-network"
    )


with page("Forecast"):
    main()
