"""The largest expected changes, and what can be taken away from a forecast."""

from __future__ import annotations

import streamlit as st

from trnn_core.charts.lines import unit_of
from trnn_core.data.series import RelationalSeries
from trnn_core.export.forecasts import RunForecast
from trnn_core.export.graphs import to_gexf, to_graph, to_graphml
from trnn_core.export.tables import to_csv
from ui.forecast_options import Options
from ui.forecast_view import Show, matrix_of, title_of
from ui.store import positions


def changes_table(forecast: RunForecast, series: RelationalSeries, step: int, action: str) -> None:
    everything = st.toggle(
        "All actions",
        key="all_actions",
        bind="query-params",
        help="Rises and falls of every action, not only the one chosen above.",
    )
    sides = st.columns(2, gap="medium")
    for side, falls in zip(sides, (False, True), strict=True):
        with side:
            rows = forecast.largest(step, 10, falls=falls, action=None if everything else action)
            st.markdown("**Falls**" if falls else "**Rises**")
            if rows.empty:
                st.caption("None expected.")
                continue
            st.dataframe(
                rows[["source", "target", "action", "last_observed", "forecast", "lower", "upper", "change"]],
                hide_index=True,
                key=f"changes-{falls}",
                column_config={
                    "source": "Sender",
                    "target": "Receiver",
                    "action": "Action" if everything else None,
                    "last_observed": st.column_config.NumberColumn("Last", format="%.3g", help=f"Last observed, {unit_of(series)}"),
                    "forecast": st.column_config.NumberColumn("Expected", format="%.3g"),
                    "lower": st.column_config.NumberColumn("From", format="%.3g", help=f"Lower end of the {forecast.level:.0%} interval"),
                    "upper": st.column_config.NumberColumn("To", format="%.3g", help=f"Upper end of the {forecast.level:.0%} interval"),
                    "change": st.column_config.NumberColumn("Change", format="%+.3g"),
                },
            )  # fmt: skip
    if forecast.simulated:
        st.caption("Simulated data: these countries' figures are made up.")


def downloads(
    forecast: RunForecast, series: RelationalSeries, shown: Show, step: int, action: int, options: Options
) -> None:
    """Files are made when asked for, not at every change of a control."""
    matrix, _ = matrix_of(forecast, shown, step, action)
    name = f"forecast-{forecast.dates[step]}"

    def graph():
        title = ", ".join(title_of(forecast, shown, step, action, series.period))
        extra = {"lower": forecast.lower[step, ..., action], "upper": forecast.upper[step, ..., action]}
        return to_graph(
            matrix, forecast.actors, title=title, simulated=forecast.simulated, attributes=extra,
            positions=positions(series, options.layout),
        )  # fmt: skip

    with st.container(horizontal=True):
        st.download_button(
            "Table (CSV)", lambda: to_csv(forecast.table()), f"{name}.csv", "text/csv", icon=":material/table:", on_click="ignore",
            help="The whole forecast, one row per week, sender, receiver and action, with intervals. Opens in Excel, R and Stata.",
        )  # fmt: skip
        st.download_button(
            "Network (GraphML)", lambda: to_graphml(graph()), f"{name}.graphml", "application/xml", icon=":material/hub:", on_click="ignore",
            help="The network shown, all relations, for Cytoscape, igraph and Gephi.",
        )  # fmt: skip
        st.download_button(
            "Network (GEXF)", lambda: to_gexf(graph()), f"{name}.gexf", "application/xml", icon=":material/hub:", on_click="ignore",
            help="The network shown, all relations, for Gephi.",
        )  # fmt: skip
        st.caption("Images: the camera in the corner of each picture.")
