"""The history of one pair, chosen by a click or by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from trnn_core.charts.theme import number
from trnn_core.words import percent
from ui.forecast_view import ForecastView
from ui.links import linked
from ui.page import is_dark, show

CLICK_HELP = "Or click an arrow or a cell in the view."


def follow_click(clicked: tuple[int, int] | None, actors: Sequence[str]) -> None:
    """A new click on a picture chooses the pair; an old one does not override a later choice by name."""
    if clicked is None or clicked == st.session_state.get("last_click") or clicked[0] == clicked[1]:
        return
    st.session_state["last_click"] = clicked
    st.session_state["sender"], st.session_state["receiver"] = actors[clicked[0]], actors[clicked[1]]


def pick_pair(actors: Sequence[str], first: tuple[int, int]) -> tuple[int, int]:
    """Sender and receiver by name, both in the link."""
    a, b = st.columns(2)
    with a:
        sender = linked("Sender", actors, "sender", actors[first[0]], f"Who acts (i). {CLICK_HELP}")
    with b:
        receiver = linked("Receiver", actors, "receiver", actors[first[1]], f"Who is acted upon (j). {CLICK_HELP}")
    return list(actors).index(sender), list(actors).index(receiver)


def dyad_panel(view: ForecastView) -> None:
    """Two names, the fan, and the figure in words."""
    f, step = view.forecast, view.step
    expected = np.nan_to_num(f.mean[step, ..., view.action], nan=-np.inf) - 1e18 * np.eye(len(f.actors))
    largest = np.unravel_index(int(expected.argmax()), expected.shape)
    i, j = pick_pair(f.actors, (int(largest[0]), int(largest[1])))
    names = f"{f.actors[i]} to {f.actors[j]}"
    show(view.dyad((i, j), dark=is_dark()), "dyad", f"History of {names} with its forecast", file="pair")
    low, middle, high = (part[step, i, j, view.action] for part in (f.lower, f.mean, f.upper))
    sentence = (
        f"{view.series.period.capitalize()} of {f.dates[step]}: about {number(middle)}, {percent(f.interval_level)}"
        f" interval {number(low)} to {number(high)}; last observed {number(f.last_values[i, j, view.action])}"
    )
    if f.observed is not None and f.is_past(step):
        sentence += f"; what happened: {number(f.observed[step, i, j, view.action])}"
    st.caption(f"{sentence}.")
