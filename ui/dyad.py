"""The history of one pair, chosen by a click or by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from trnn_core.charts.theme import number
from trnn_core.data.series import RelationalSeries
from trnn_core.export.forecasts import RunForecast
from ui.forecast_view import draw_dyad
from ui.page import show
from ui.pickers import linked


def follow_click(clicked: tuple[int, int] | None, actors: Sequence[str]) -> None:
    """A new click on a picture chooses the pair; an old one does not override a later choice by name."""
    if clicked is None or clicked == st.session_state.get("last_click") or clicked[0] == clicked[1]:
        return
    st.session_state["last_click"] = clicked
    st.session_state["sender"], st.session_state["receiver"] = actors[clicked[0]], actors[clicked[1]]


def dyad_panel(forecast: RunForecast, series: RelationalSeries, step: int, action: int) -> None:
    """Two names, the fan, and the figure in words."""
    first = np.unravel_index(int(np.nanargmax(forecast.mean[step, ..., action])), forecast.mean.shape[1:3])
    words = "Or click an arrow or a cell in the picture."
    a, b = st.columns(2)
    with a:
        sender = linked("Sender", forecast.actors, "sender", forecast.actors[first[0]], f"Who acts. {words}")
    with b:
        receiver = linked(
            "Receiver", forecast.actors, "receiver", forecast.actors[first[1]], f"Who is acted upon. {words}"
        )
    i, j = forecast.actors.index(sender), forecast.actors.index(receiver)
    show(draw_dyad(forecast, series, (i, j), action), "dyad", f"History of {sender} to {receiver} with its forecast")
    low, middle, high = (part[step, i, j, action] for part in (forecast.lower, forecast.mean, forecast.upper))
    st.caption(
        f"{series.period.capitalize()} of {forecast.dates[step]}: about {number(middle)}, {forecast.level:.0%} interval "
        f"{number(low)} to {number(high)}; last observed {number(forecast.last_values[i, j, action])}."
    )
