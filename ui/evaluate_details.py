"""A finished backtest in detail: where it erred, whether the stated uncertainty was true, the largest misses."""

from __future__ import annotations

import numpy as np
import streamlit as st

from trnn_core.charts import accuracy as charts
from trnn_core.charts.heatmap import heatmap
from trnn_core.charts.look import Measure
from trnn_core.evaluation import views
from trnn_core.evaluation.intervals import GROUPS
from trnn_core.evaluation.results import BacktestResult
from trnn_core.words import percent
from ui.evaluate_views import HELD, PIT_GAP, Choice, labels, picture_of, subtitle
from ui.links import segments
from ui.page import show
from ui.phrases import escape
from ui.table_columns import RELATION, number, share


def where(result: BacktestResult, choice: Choice) -> None:
    by_action = views.by_action(result, choice.metric, choice.step)
    mine = f"{result.label(choice.model)}, {subtitle(result, choice)}"
    left, right = st.columns(2, gap="medium")
    with left:
        figure = charts.errors_by_group(
            by_action.rename(columns=result.label),
            labels(result, choice),
            picture_of(result, "Error by action", subtitle(result, choice).partition(", ")[2]),
            unit=choice.unit,
            axis="action",
        )
        show(figure, "actions", "Error by action", file="error-by-action")
        countries = views.by_country(result, choice.model, choice.metric, choice.step, choice.action)
        figure = charts.errors_by_country(countries, picture_of(result, subtitle=mine), unit=choice.unit)
        show(figure, "countries", "Error by country, as sender and as receiver", file="error-by-country")
    with right:
        matrix = views.by_pair(result, choice.model, choice.metric, choice.step, choice.action)
        figure = heatmap(
            matrix,
            result.actors,
            picture_of(result, "Error by pair", mine),
            measure=Measure("value", choice.unit),
            order=np.argsort(-np.nansum(matrix, axis=1), kind="stable").tolist(),
        )
        show(figure, "pairs", "Matrix of errors, senders in rows", file="error-by-pair")
        hard = views.hardest_pairs(result, choice.model, choice.metric, choice.step, choice.action)
        st.markdown("**The pairs that are hardest to forecast**")
        st.dataframe(
            hard.assign(share=100 * hard["share"]),
            hide_index=True,
            key="hardest",
            column_config={
                **RELATION,
                "error": number("Mean error", "%.4g"),
                "share": share("of all error", "Its part of the error summed over all pairs and actions."),
            },
        )


def calibration(result: BacktestResult, choice: Choice) -> None:
    left, right = st.columns(2, gap="medium")
    table = views.coverage_groups(result, choice.step)
    with left:
        group = segments(
            "Pairs",
            GROUPS,
            "group",
            "All pairs; or the quieter half, those between, or the busiest tenth, by their activity before the test.",
        )
        bars = views.pit_bars(result, choice.model, choice.step, group)
        note = f"{result.label(choice.model)} · {group} pairs; dashed: as it should be"
        figure = charts.pit_histogram(bars, picture_of(result, subtitle=note))
        show(figure, "pit", "Histogram of the randomised PIT", file="pit")
        st.caption(
            "Each thing that came falls somewhere in its forecast: into its lowest tenth, its second, and so on. Where"
            " the forecast is honest, each tenth gets a tenth. High ends: too sure of itself. A high middle: too"
            " unsure. Counts jump, so each is spread evenly over its jump (randomised PIT)."
        )
    with right:
        named = table.replace({"model": {m: result.label(m) for m in result.scores}})
        figure = charts.coverage_by_group(named, labels(result, choice), GROUPS, picture_of(result))
        show(figure, "coverage", "How often the 90\u00a0% interval held, by activity of the pairs", file="coverage")
        mine = table[table["model"] == choice.model].assign(coverage90=lambda t: 100 * t["coverage90"])
        st.dataframe(
            mine[["group", "coverage90", "pit_deviation", "n"]],
            hide_index=True,
            key="coverage-table",
            column_config={
                "group": "Pairs",
                "coverage90": share(HELD),
                "pit_deviation": PIT_GAP,
                "n": number("Outcomes", "localized"),
            },
        )


def misses(result: BacktestResult, choice: Choice) -> None:
    table = result.misses(choice.model, choice.step, choice.action, n=50)
    if table.empty:
        st.info("There were no misses at all.", icon=":material/check:")
        return
    worst = table.iloc[0]
    unit = f"{worst['action']} events" if result.kind == "count" else worst["action"]
    st.markdown(
        f"The largest miss of **{escape(result.label(choice.model))}**: in the {result.period} of {worst['period']},"
        f" {escape(worst['source'])} to {escape(worst['target'])}, it expected {worst['expected']:.3g} {escape(unit)}"
        f" (90\u00a0% interval {worst['lower']:.3g} to {worst['upper']:.3g}). There came **{worst['observed']:.4g}**."
    )
    outside = float(((table["observed"] < table["lower"]) | (table["observed"] > table["upper"])).mean())
    st.dataframe(
        table.drop(columns="error"),
        hide_index=True,
        key="misses",
        height=460,
        column_config={
            "period": f"{result.period.capitalize()} of",
            **RELATION,
            "expected": number("Expected"),
            "lower": number("90\u00a0% from"),
            "upper": number("90\u00a0% to"),
            "observed": number("What came", "%.4g"),
        },
    )
    st.caption(
        f"The {len(table)} largest, by squared error on the log(1 + count) scale; {percent(outside)} of them lay"
        " outside the 90\u00a0% interval. One outcome in ten lies outside by design."
    )
