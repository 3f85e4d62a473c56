"""A finished backtest, looked at from all sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from trnn_core.charts import evaluation as charts
from trnn_core.charts.heatmap import heatmap
from trnn_core.evaluation import views
from trnn_core.evaluation.intervals import GROUPS
from trnn_core.evaluation.metrics import score_words
from trnn_core.evaluation.results import ALL, BacktestResult
from trnn_core.evaluation.words import headline, p_text, speaker
from trnn_core.words import percent
from ui.links import linked, segments, select
from ui.page import is_dark, show
from ui.words import escape, sentence

PARTS = ("Leaderboard", "Over time", "Where", "Calibration", "Misses")
SCORE_HELP = (
    "Squared and absolute error judge the expected figure on the log(1 + count) scale, so that busy pairs do not drown"
    " the others; CRPS judges the whole forecast with its uncertainty. Less is better. 'Of counts' means on the scale"
    " of the counts themselves."
)
LINES = 4  # models drawn at once


@dataclass(frozen=True)
class Choice:
    """What is looked at; every choice is in the link."""

    metric: str
    step: int
    action: str
    model: str

    @property
    def unit(self) -> str:
        return score_words()[self.metric]


def pick_choice(result: BacktestResult) -> Choice:
    names = result.leaderboard()["model"].tolist()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        model = linked(
            "Model",
            names,
            "model",
            speaker(result),
            "The model the sentences, places and misses are about.",
            result.label,
        )
        metric = select("Score", list(score_words()), "score", SCORE_HELP, name=_metric_name)
        steps = [str(h) for h in range(1, result.protocol.horizon + 1)]
        step = linked("Steps ahead", steps, "step", "1", f"How many {result.period}s ahead.") if len(steps) > 1 else "1"
        action = linked("Action", [ALL, *result.actions], "act", ALL, "All kinds of acts together, or one of them.")
    return Choice(metric, int(step), action, model)


def _metric_name(metric: str) -> str:
    words = score_words()[metric]
    return words if metric.startswith("crps") else words.capitalize()


def say(result: BacktestResult, choice: Choice) -> None:
    """What it found, in plain sentences."""
    sentences = headline(result, choice.model, choice.metric, choice.step, choice.action)
    if sentences:
        st.markdown(f"##### {escape(sentences[0])}")
        st.markdown(escape(" ".join(sentences[1:])))


def subtitle(result: BacktestResult, choice: Choice) -> str:
    ahead = f"{choice.step} {result.period}{'s' if choice.step > 1 else ''} ahead"
    return f"{'all actions' if choice.action == ALL else choice.action}, {ahead}"


def leaderboard(result: BacktestResult, choice: Choice) -> None:
    table = views.board(result, choice.metric, choice.step, choice.action)
    figure = charts.errors_by_model(
        table["model"].map(result.label).tolist(),
        table["error"].tolist(),
        result.label(choice.model),
        unit=choice.unit,
        subtitle=subtitle(result, choice),
        simulated=result.simulated,
        dark=is_dark(),
    )
    show(figure, "board", "Error of each model, the best on top", file="leaderboard")
    number, share = st.column_config.NumberColumn, st.column_config.NumberColumn
    st.dataframe(
        table.drop(columns=[choice.metric] if choice.metric in table else []).assign(
            model=table["model"].map(result.label),
            about=table["model"] + ": " + table["about"],
            p=[p_text(p).removeprefix("p\u00a0").removeprefix("=\u00a0").replace("no test", "–") for p in table["p"]],
            **{name: 100 * table[name] for name in ("skill_persistence", "skill_best", "coverage90")},
        ),
        hide_index=True,
        key="leaderboard",
        column_order=["model", "about", *(str(c) for c in table if c not in ("model", "about"))],
        column_config={
            "model": "Model",
            "error": number(
                _metric_name(choice.metric), format="%.5f", help="Mean over all scored cells; less is better."
            ),
            "skill_persistence": share(
                f"vs last {result.period}",
                format="%+.1f\u00a0%%",
                help=f"How much less error than repeating the last {result.period}. More is better; 0 is no better.",
            ),
            "skill_best": share(
                "vs best simple",
                format="%+.1f\u00a0%%",
                help="How much less error than the best of the simple methods (baselines).",
            ),
            "p": st.column_config.TextColumn(
                "p",
                help=(
                    "Diebold-Mariano test against the best simple method, two-sided, with a variance that allows for"
                    " errors that hang together over time. Below 0.05 the difference is unlikely to be luck."
                ),
            ),
            "luck": st.column_config.TextColumn(
                "Luck?",
                help="The p-value in words: how far the difference from the best simple method could be chance.",
            ),
            "mae": number("Absolute error", format="%.4f"),
            "crps": number("CRPS", format="%.4f", help="Judges the whole forecast with its uncertainty."),
            "r2": number("R²", format="%.3f", help="Share of the variation explained."),
            "coverage90": share(
                "90\u00a0% held",
                format="%.1f\u00a0%%",
                help="How often the 90\u00a0% interval held what came (randomised, as counts need). Should be 90.",
            ),
            "pit_deviation": number(
                "PIT gap", format="%.3f", help="Largest gap between promised and true frequencies; below 0.02 is good."
            ),
            "auc": number(
                "AUC",
                format="%.3f",
                help="How well it ranks pairs by whether anything happens at all: 0.5 is guessing, 1 is perfect.",
            ),
            "precision20": number(
                "Top 20", format="%.2f", help="Of the 20 largest predicted escalations, the share that rose."
            ),
            "origins": number("Scored", help=f"{result.period.capitalize()}s really scored."),
            "about": st.column_config.TextColumn("What it is", width="medium"),
        },
    )
    if result.protocol.horizon > 1:
        by_step = views.by_step(result, choice.metric, choice.action)
        figure = charts.errors_by_group(
            by_step.rename(columns=result.label),
            labels(result, choice),
            "Error by distance",
            unit=choice.unit,
            axis=f"{result.period}s ahead",
            simulated=result.simulated,
            dark=is_dark(),
        )
        show(figure, "steps", "Error by steps ahead", file="error-by-step")


def rivals(result: BacktestResult, choice: Choice) -> list[str]:
    """The model in hand, the best others, and repeating the last period."""
    order = views.board(result, choice.metric, choice.step, choice.action)["model"].tolist()
    others = [m for m in order if m != choice.model]
    chosen = others[: LINES - 1]
    if "persistence" in others and "persistence" not in chosen:
        chosen[-1] = "persistence"
    return [choice.model, *chosen]


def labels(result: BacktestResult, choice: Choice) -> list[str]:
    return [result.label(model) for model in rivals(result, choice)]


def over_time(result: BacktestResult, choice: Choice) -> None:
    table = views.over_time(result, choice.metric, choice.step, choice.action)
    figure = charts.errors_over_time(
        table.rename(columns=result.label),
        labels(result, choice),
        unit=choice.unit,
        period=result.period,
        subtitle=subtitle(result, choice),
        simulated=result.simulated,
        dark=is_dark(),
    )
    show(figure, "time", "Error of the models over time", file="error-over-time")
    mine = table[choice.model]
    worst = mine.idxmax()
    best = [m for m in table.columns if m != choice.model]
    wins = float((table[best].min(axis=1) > mine).mean()) if best else 1.0
    st.caption(
        f"{escape(sentence(result.label(choice.model)))} erred most in the {result.period} of {worst}"
        f" ({mine.max():.3g}, {mine.max() / mine.mean():.1f} times its mean). It had the least error of all models in"
        f" {percent(wins)} of the {len(mine)} {result.period}s."
    )


def where(result: BacktestResult, choice: Choice) -> None:
    by_action = views.by_action(result, choice.metric, choice.step)
    left, right = st.columns(2, gap="medium")
    with left:
        figure = charts.errors_by_group(
            by_action.rename(columns=result.label),
            labels(result, choice),
            "Error by action",
            unit=choice.unit,
            axis="action",
            subtitle=subtitle(result, choice).partition(", ")[2],
            simulated=result.simulated,
            dark=is_dark(),
        )
        show(figure, "actions", "Error by action", file="error-by-action")
        countries = views.by_country(result, choice.model, choice.metric, choice.step, choice.action)
        figure = charts.errors_by_country(
            countries,
            unit=choice.unit,
            subtitle=f"{result.label(choice.model)}, {subtitle(result, choice)}",
            simulated=result.simulated,
            dark=is_dark(),
        )
        show(figure, "countries", "Error by country, as sender and as receiver", file="error-by-country")
    with right:
        matrix = views.by_pair(result, choice.model, choice.metric, choice.step, choice.action)
        figure = heatmap(
            matrix,
            result.actors,
            "Error by pair",
            kind="value",
            unit=choice.unit,
            order=np.argsort(-np.nansum(matrix, axis=1), kind="stable").tolist(),
            subtitle=f"{result.label(choice.model)}, {subtitle(result, choice)}",
            simulated=result.simulated,
            dark=is_dark(),
        )
        show(figure, "pairs", "Matrix of errors, senders in rows", file="error-by-pair")
        hard = views.hardest_pairs(result, choice.model, choice.metric, choice.step, choice.action)
        st.markdown("**The pairs that are hardest to forecast**")
        st.dataframe(
            hard.assign(share=100 * hard["share"]),
            hide_index=True,
            key="hardest",
            column_config={
                "source": "Sender",
                "target": "Receiver",
                "action": "Action",
                "error": st.column_config.NumberColumn("Mean error", format="%.4g"),
                "share": st.column_config.NumberColumn(
                    "of all error",
                    format="%.1f\u00a0%%",
                    help="Its part of the error summed over all pairs and actions.",
                ),
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
        show(
            charts.pit_histogram(
                bars,
                result.label(choice.model),
                subtitle=f"{group} pairs; dashed: as it should be",
                simulated=result.simulated,
                dark=is_dark(),
            ),
            "pit",
            "Histogram of the randomised PIT",
            file="pit",
        )
        st.caption(
            "Each thing that came falls somewhere in its forecast: into its lowest tenth, its second, and so on. Where"
            " the forecast is honest, each tenth gets a tenth. High ends: too sure of itself. A high middle: too"
            " unsure. Counts jump, so each is spread evenly over its jump (randomised PIT)."
        )
    with right:
        show(
            charts.coverage_by_group(
                table.replace({"model": {m: result.label(m) for m in result.scores}}),
                labels(result, choice),
                GROUPS,
                simulated=result.simulated,
                dark=is_dark(),
            ),
            "coverage",
            "How often the 90\u00a0% interval held, by activity of the pairs",
            file="coverage",
        )
        mine = table[table["model"] == choice.model].assign(coverage90=lambda t: 100 * t["coverage90"])
        st.dataframe(
            mine[["group", "coverage90", "pit_deviation", "n"]],
            hide_index=True,
            key="coverage-table",
            column_config={
                "group": "Pairs",
                "coverage90": st.column_config.NumberColumn("90\u00a0% held", format="%.1f\u00a0%%"),
                "pit_deviation": st.column_config.NumberColumn(
                    "PIT gap",
                    format="%.3f",
                    help="Largest gap between promised and true frequencies; below 0.02 is good.",
                ),
                "n": st.column_config.NumberColumn("Outcomes", format="localized"),
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
            "source": "Sender",
            "target": "Receiver",
            "action": "Action",
            "expected": st.column_config.NumberColumn("Expected", format="%.3g"),
            "lower": st.column_config.NumberColumn("90\u00a0% from", format="%.3g"),
            "upper": st.column_config.NumberColumn("90\u00a0% to", format="%.3g"),
            "observed": st.column_config.NumberColumn("What came", format="%.4g"),
        },
    )
    st.caption(
        f"The {len(table)} largest, by squared error on the log(1 + count) scale; {percent(outside)} of them lay"
        " outside the 90\u00a0% interval. One outcome in ten lies outside by design."
    )
