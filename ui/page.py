"""The frame of every page: title, guard, and the look of figures on this side of the theme."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from trnn_core.charts.look import Look
from ui.guard import guard, show_notes
from ui.links import close_link, open_link
from ui.login import gate

ROOT = Path(__file__).resolve().parents[1]
ICONS = {
    "Data": "table_chart",
    "Train": "model_training",
    "Forecast": "hub",
    "Evaluate": "leaderboard",
    "Explain": "psychology",
    "Report": "summarize",
}


@st.cache_resource(show_spinner=False)
def spare_modules(n_modules: int) -> None:
    """Take what was imported out of the garbage collector's rounds, anew for every number of modules.

    Streamlit orders a full round after every rerun, for which all sessions wait. Modules never become garbage, and
    pages and charts bring theirs when they are first used.
    """
    gc.collect()
    gc.freeze()


@contextmanager
def page(title: str) -> Iterator[None]:
    """Set up a page and keep its mistakes from the reader."""
    st.set_page_config(
        page_title=f"{title} · TRNN Studio",
        page_icon=str(ROOT / "ui" / "icon.svg"),
        layout="wide",
        initial_sidebar_state=220,
    )
    spare_modules(len(sys.modules))
    st.html(ROOT / "ui" / "style.css")
    with guard():
        gate()
        navigation()
        open_link(title)
        with st.container():  # a place of its own: what stands below keeps its own when there is something to tell
            show_notes()
        notes = st.container()
        try:
            yield
        finally:
            close_link(notes)


def navigation() -> None:
    """Links to the pages that are there; a page is found by its place, `pages/<n>_<Name>.py`."""
    with st.sidebar:
        st.markdown("### :material/hub: TRNN Studio")
        st.page_link("app.py", label="Home", icon=":material/home:")
        for path in sorted((ROOT / "pages").glob("[0-9]_*.py")):
            name = path.stem.partition("_")[2].replace("_", " ")
            st.page_link(f"pages/{path.name}", label=name, icon=f":material/{ICONS.get(name, 'article')}:")


def is_dark() -> bool:
    return getattr(st.context.theme, "type", "light") == "dark"


def look(title: str = "", *, simulated: bool, subtitle: str = "", height: int = 0) -> Look:
    """Of a chart on this side of the theme."""
    return Look(title, simulated=simulated, subtitle=subtitle, dark=is_dark(), height=height)


def show(figure: go.Figure, key: str, alt: str, *, clicks: bool = False, file: str = "chart") -> tuple[int, int] | None:
    """Draw a figure. With `clicks`, the (sender, receiver) last clicked on it, or None."""
    config: dict[str, Any] = {
        "displaylogo": False,
        "scrollZoom": False,
        "toImageButtonOptions": {"format": "svg", "filename": file},
        "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d"],
    }
    place = st.container(key=f"wide-{key}") if figure.layout.meta["wide"] else st  # on a phone, swiped sideways
    if not clicks:
        place.plotly_chart(figure, theme=None, key=f"chart-{key}", config=config, alt=alt)
        return None
    event = place.plotly_chart(
        figure, theme=None, key=f"chart-{key}", config=config, alt=alt, on_select="rerun", selection_mode="points"
    )
    points = event["selection"]["points"]  # type: ignore[index]
    pair = points[0].get("customdata") if points else None
    return (int(pair[0]), int(pair[1])) if pair is not None and len(pair) >= 2 else None


def simulated_badge(simulated: bool) -> None:
    if simulated:
        st.badge(
            "Simulated data",
            icon=":material/science:",
            color="orange",
            help=(
                "Made by a random model, not observed. Good for learning the tool, not for conclusions about the world."
            ),
        )


ADD = ("pages/1_Data.py", "Add data", ":material/upload_file:", {"do": "Add data"})
TRAIN = ("pages/2_Train.py", "Train a network", ":material/model_training:", None)


def empty(sentence: str, later: str, way_on: tuple[str, str, str, dict[str, str] | None]) -> None:
    """A page with nothing to show says why, what will stand here, and where to go; then it stops."""
    target, label, icon, asked = way_on
    with st.container(border=True):
        st.markdown(f"#### {sentence}")
        st.markdown(later)
        if st.button(label, type="primary", icon=icon, help="The next step."):
            st.switch_page(target, query_params=asked)
    st.stop()
