"""A finished backtest: what is looked at, who was best, when it went wrong. In detail: ui/evaluate_details.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from trnn_core.charts import accuracy as charts
from trnn_core.charts.look import Look
from trnn_core.evaluation import views
from trnn_core.evaluation.findings import headline, p_text, speaker
from trnn_core.evaluation.metrics import score_words
from trnn_core.evaluation.results import ALL, BacktestResult
from trnn_core.words import percent
from ui.links import linked, select
from ui.page import look, show
from ui.phrases import escape, sentence
from ui.table_columns import number, share, text

SCORE_HELP = (
    "Squared and absolute error judge the expected figure on the log(1 + count) scale, so that busy pairs do not drown"
    " the others; CRPS judges the whole forecast with its uncertainty. Less is better. 'Of counts' means on the scale"
    " of the counts themselves."
)
LINES = 4  # models drawn at once
HELD = "90\u00a0% held"
PIT_GAP = number("PIT gap", "%.3f", "Largest gap between promised and true frequencies; below 0.02 is good.")


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


def picture_of(result: BacktestResult, title: str = "", subtitle: str = "") -> Look:
    return look(title, simulated=result.simulated, subtitle=subtitle)


def leaderboard(result: BacktestResult, choice: Choice) -> None:
    table = views.board(result, choice.metric, choice.step, choice.action)
    figure = charts.errors_by_model(
        table["model"].map(result.label).tolist(),
        table["error"].tolist(),
        result.label(choice.model),
        picture_of(result, subtitle=subtitle(result, choice)),
        unit=choice.unit,
    )
    show(figure, "board", "Error of each model, the best on top", file="leaderboard")
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
        column_config=board_columns(_metric_name(choice.metric), result.period),
    )
    if result.protocol.horizon > 1:
        by_step = views.by_step(result, choice.metric, choice.action)
        figure = charts.errors_by_group(
            by_step.rename(columns=result.label),
            labels(result, choice),
            picture_of(result, "Error by distance"),
            unit=choice.unit,
            axis=f"{result.period}s ahead",
        )
        show(figure, "steps", "Error by steps ahead", file="error-by-step")


def board_columns(score: str, period: str) -> dict[str, Any]:
    return {
        "model": "Model",
        "error": number(score, "%.5f", "Mean over all scored cells; less is better."),
        "skill_persistence": share(
            f"vs last {period}",
            f"How much less error than repeating the last {period}. More is better; 0 is no better.",
            signed=True,
        ),
        "skill_best": share(
            "vs best simple", "How much less error than the best of the simple methods (baselines).", signed=True
        ),
        "p": text(
            "p",
            "Diebold-Mariano test against the best simple method, two-sided, with a variance that allows for"
            " errors that hang together over time. Below 0.05 the difference is unlikely to be luck.",
        ),
        "luck": text(
            "Luck?", "The p-value in words: how far the difference from the best simple method could be chance."
        ),
        "mae": number("Absolute error", "%.4f"),
        "crps": number("CRPS", "%.4f", "Judges the whole forecast with its uncertainty."),
        "r2": number("R²", "%.3f", "Share of the variation explained."),
        "coverage90": share(
            HELD, "How often the 90\u00a0% interval held what came (randomised, as counts need). Should be 90."
        ),
        "pit_deviation": PIT_GAP,
        "auc": number(
            "AUC",
            "%.3f",
            "How well it ranks pairs by whether anything happens at all: 0.5 is guessing, 1 is perfect.",
        ),
        "precision20": number("Top 20", "%.2f", "Of the 20 largest predicted escalations, the share that rose."),
        "origins": number("Scored", None, f"{period.capitalize()}s really scored."),
        "about": st.column_config.TextColumn("What it is", width="medium"),
    }


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
        picture_of(result, subtitle=subtitle(result, choice)),
        unit=choice.unit,
        period=result.period,
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
