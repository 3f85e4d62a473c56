"""The forecast of a run, drawn: shared by the home page and the forecast page."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import plotly.graph_objects as go

from trnn_core.charts.chord import chord
from trnn_core.charts.edges import strongest
from trnn_core.charts.heatmap import MANY, heatmap
from trnn_core.charts.lines import Fan, dyad_history, unit_of
from trnn_core.charts.look import Kind, Look, Measure
from trnn_core.charts.map import map_frame
from trnn_core.charts.node_link import Scene, network
from trnn_core.data.series import RelationalSeries
from trnn_core.models.forecast import Forecast
from trnn_core.words import percent
from ui.data_access import blocs, order, positions
from ui.forecast_options import Options, Show

MEANINGS = {
    "Forecast": "thicker, stronger colour: more",
    "Last observed": "thicker, stronger colour: more",
    "What happened": "thicker, stronger colour: more",
    "Uncertainty": "thicker, stronger colour: less sure",
    "Expected change": "orange: more, blue: less than last observed",
    "Forecast error": "orange: too many, blue: too few expected",
}


FIGURES = {
    "Forecast": "mean",
    "Last observed": "last_values",
    "Expected change": "change",
    "Uncertainty": "width",
    "What happened": "observed",
    "Forecast error": "error",
}


@dataclass(frozen=True)
class ForecastView:
    """One view of a forecast: which figures, of which period and action, drawn how."""

    forecast: Forecast
    series: RelationalSeries
    show: Show = "Forecast"
    step: int = 0
    action: int = 0
    options: Options = field(default_factory=Options)

    @property
    def action_name(self) -> str:
        return self.forecast.actions[self.action]

    @property
    def kind(self) -> Kind:
        if self.show in ("Expected change", "Forecast error"):
            return "change"
        return "count" if self.series.source.kind == "count" or self.show == "Uncertainty" else "value"

    @property
    def measure(self) -> Measure:
        return Measure(self.kind, unit_of(self.series))

    def matrix(self) -> np.ndarray:
        """What is drawn, (N, N)."""
        figures = getattr(self.forecast, FIGURES[self.show])
        return np.broadcast_to(figures, self.forecast.mean.shape)[self.step, ..., self.action]

    def titles(self) -> tuple[str, str]:
        """Title and subtitle."""
        day = self.forecast.last_date if self.show == "Last observed" else self.forecast.dates[self.step]
        words = {
            "Forecast": f"Expected {self.action_name}",
            "Last observed": f"Last observed {self.action_name}",
            "Expected change": f"Expected change in {self.action_name}",
            "Uncertainty": f"Width of the {percent(self.forecast.interval_level)} interval, {self.action_name}",
            "What happened": f"What happened: {self.action_name}",
            "Forecast error": f"Expected minus what happened, {self.action_name}",
        }
        past = "" if self.forecast.observed is None else f", forecast after {self.forecast.last_date}"
        past = "" if self.show in ("Last observed", "What happened") else past
        return words[self.show], f"{self.series.period} of {day}{past}"

    def figure(self, *, dark: bool, height: int | None = None) -> go.Figure:
        return self._heatmap(dark) if self.options.view == "Heatmap" else self._graph(dark, height or 660)

    def _graph(self, dark: bool, height: int) -> go.Figure:
        """Arrows between places, or ribbons inside a circle, of the strongest relations."""
        options, actors = self.options, self.forecast.actors
        matrix, hidden = np.array(self.matrix(), dtype=float), options.hidden(len(actors))
        matrix[list(hidden), :] = 0
        matrix[:, list(hidden)] = 0
        title, when = self.titles()
        edges = strongest(matrix, top=options.top, threshold=options.threshold, ego=options.ego)
        meaning = MEANINGS[self.show]
        if options.view == "Chord" and self.kind != "change":
            meaning = "wide at the sender, coloured by it"
        who = "" if options.ego is None else f" of {actors[options.ego]}"
        note = f"{when} · {len(edges)} strongest relations{who} · {meaning}"
        look = Look(title, simulated=self.forecast.simulated, subtitle=note, dark=dark, height=height)
        if options.view == "Chord":
            rows = order(self.series, options.order)
            return chord(matrix, actors, look, order=rows, measure=self.measure, edges=edges)
        frame = map_frame(actors) if options.layout == "geography" else None
        scene = Scene(blocs(self.series) if options.by_bloc else None, frame, hidden)
        places = positions(self.series, options.layout)
        return network(matrix, actors, places, look, measure=self.measure, edges=edges, scene=scene)

    def _heatmap(self, dark: bool) -> go.Figure:
        title, when = self.titles()
        hidden = self.options.hidden(len(self.forecast.actors))
        rows = [i for i in order(self.series, self.options.order) if i not in hidden]
        of = blocs(self.series).of if self.options.order == "bloc" else ()
        breaks = [at for at in range(1, len(rows)) if of and of[rows[at]] != of[rows[at - 1]]]
        note = f"{when} · {self.meaning_of_colours()}"
        return heatmap(
            self.matrix(),
            self.forecast.actors,
            Look(title, simulated=self.forecast.simulated, subtitle=note, dark=dark),
            measure=self.measure,
            order=rows,
            details=self._details() if len(rows) <= MANY else None,
            breaks=breaks,
        )

    def meaning_of_colours(self) -> str:
        return MEANINGS[self.show].removeprefix("thicker, ")

    def _details(self) -> np.ndarray:
        """The interval of each cell, and what happened where it is known."""
        f, at = self.forecast, (self.step, ..., self.action)
        texts = [
            f"{percent(f.interval_level)} interval {a:.3g} to {b:.3g}"
            for a, b in zip(f.lower[at].ravel(), f.upper[at].ravel(), strict=True)
        ]
        if f.observed is not None:
            known = f.observed[at].ravel()
            texts = [f"{t}; happened {x:.3g}" if np.isfinite(x) else t for t, x in zip(texts, known, strict=True)]
        return np.array(texts, dtype=object).reshape(f.lower[at].shape)

    def dyad(self, pair: tuple[int, int], *, dark: bool) -> go.Figure:
        """History of one pair, the fan of the forecast, and what happened after it."""
        f, at = self.forecast, (slice(None), *pair, self.action)
        fan = Fan(f.dates, f.mean[at], f.lower[at], f.upper[at], f.interval_level)
        origin = int(np.searchsorted(self.series.dates, f.last_date)) if f.observed is not None else None
        look = Look(simulated=self.series.source.simulated, dark=dark)
        return dyad_history(self.series, (*pair, self.action), look, fan=fan, origin=origin)
