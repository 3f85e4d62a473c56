"""What surrounds the figures of every chart: title, subtitle, the mark of simulated data, fonts, grounds, height."""

from __future__ import annotations

import textwrap
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import plotly.graph_objects as go

from trnn_core.charts.theme import DARK, FONT, LIGHT, Palette, number, palette, plain
from trnn_core.errors import TRNNError

Kind = Literal["count", "change", "value"]


@dataclass(frozen=True)
class Look:
    """What a chart is told besides its figures. What is left empty the chart fills in itself.

    subtitle   what the picture is of, parts joined by " · "
    height     in pixels; 0 leaves it to the chart
    """

    title: str = ""
    _: KW_ONLY
    simulated: bool
    subtitle: str = ""
    dark: bool = False
    height: int = 0

    @property
    def colours(self) -> Palette:
        return palette(self.dark)

    def or_else(self, title: str = "", *, subtitle: str = "", height: int = 0) -> Look:
        """With the chart's own title, subtitle and height where nothing was asked for."""
        return replace(
            self, title=self.title or title, subtitle=self.subtitle or subtitle, height=self.height or height
        )


@dataclass(frozen=True)
class Measure:
    """What the figures of relations are: counts, changes (more or less than before) or other values; and their unit."""

    kind: Kind = "count"
    unit: str = "events"

    def words(self, x: float) -> str:
        return f"{number(x, signed=self.kind == 'change')} {plain(self.unit)}"


EVENTS = Measure()


def _template(colours: Palette) -> go.layout.Template:
    """All that does not change from chart to chart, made once: setting it piece by piece costs plotly 20 ms a chart."""
    axis = {
        "gridcolor": colours.grid,
        "linecolor": colours.grid,
        "zerolinecolor": colours.grid,
        "color": colours.faint,
        "automargin": True,
        "ticks": "outside",  # keeps the first label of one axis clear of that of the other
        "ticklen": 6,
        "tickcolor": "rgba(0,0,0,0)",
        "title": {"font": {"size": 13, "color": colours.faint}, "standoff": 8},
    }
    return go.layout.Template(
        layout={
            "title": {
                "font": {"size": 17, "color": colours.ink},
                "subtitle": {"font": {"size": 13, "color": colours.faint}},
                "x": 0,
                "xref": "container",
                "xanchor": "left",
                "y": 1,
                "yref": "container",
                "yanchor": "top",
                "pad": {"t": 10, "l": 4},
            },
            "font": {"family": FONT, "size": 13, "color": colours.ink},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "hoverlabel": {
                "bgcolor": colours.ground,
                "bordercolor": colours.grid,
                "font": {"color": colours.ink, "family": FONT, "size": 13},
            },
            "legend": {"orientation": "h", "x": 0, "yanchor": "top", "font": {"color": colours.ink}},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": colours.faint, "activecolor": colours.ink},
            "xaxis": axis,
            "yaxis": axis,
        }
    )


TEMPLATES = {False: _template(LIGHT), True: _template(DARK)}


def wrap(text: str, width: int = 60) -> list[str]:
    """Lines that a phone can show, broken between its parts where that is possible.

    >>> wrap("SIMULATED data · week of 2014-07-03 · 60 strongest relations · thicker: more")
    ['SIMULATED data · week of 2014-07-03 · 60 strongest relations', 'thicker: more']
    """
    lines = [""]
    for part in text.split(" · "):
        joined = f"{lines[-1]} · {part}" if lines[-1] else part
        if len(joined) <= width:
            lines[-1] = joined
        else:
            lines = [*filter(None, lines), *textwrap.wrap(part, width)]
    return lines


def finish(
    figure: go.Figure,
    look: Look,
    *,
    margin: tuple[int, int, int, int] = (60, 20, 64, 50),
    wide: bool = False,
    **layout: Any,
) -> go.Figure:
    """Title, mark for simulated data, fonts and grounds: the same on every chart. Margin: left, right, top, bottom.

    wide: unreadable on a phone unless it may be wider than the screen.
    All in one step, with what else the layout needs: update_layout takes plotly ten milliseconds.
    """
    if not look.title:
        raise TRNNError("Every chart needs a title.")
    note = wrap(" · ".join(part for part in ("SIMULATED data" if look.simulated else "", look.subtitle) if part))
    below = "<br>" if len(note) == 1 else ""  # plotly sets a single line lower, onto the picture
    left, right, top, bottom = margin
    more = 17 * (len(note) - 1)  # pixels of further lines
    height, top = (look.height or 460) + more, top + more
    old = figure.layout.to_plotly_json()
    figure.layout = {
        **old,
        "template": TEMPLATES[look.dark],
        "title": {"text": f"<b>{plain(look.title)}</b>", "subtitle": {"text": "<br>".join(map(plain, note)) + below}},
        "height": height,
        "margin": {"l": left, "r": right, "t": top, "b": bottom},
        "legend": {**old.get("legend", {}), "y": -55 / max(height - top - bottom, 100)},
        "meta": {"simulated": look.simulated, "wide": wide},
        **layout,
    }
    return figure
