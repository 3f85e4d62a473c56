"""What a backtest found, in sentences a reader who does not know the scores can use."""

from __future__ import annotations

import math

from trnn_core.evaluation.forecasters import RUN_NETWORK, is_baseline
from trnn_core.evaluation.metrics import score_words
from trnn_core.evaluation.results import ALL, BacktestResult
from trnn_core.evaluation.significance import diebold_mariano
from trnn_core.words import percent


def speaker(result: BacktestResult) -> str:
    """The model the page speaks about: the run's network, else the best network, else the best of all."""
    if RUN_NETWORK in result.scores:
        return RUN_NETWORK
    order = result.leaderboard()["model"].tolist()
    return next((name for name in order if not is_baseline(name)), order[0])


def headline(result: BacktestResult, model: str, metric: str = "mse", step: int = 1, action: str = ALL) -> list[str]:
    """How the model did against repeating the last period and against the best simple method, and its intervals."""
    row = next(r for r in result.leaderboard(step, action).to_dict("records") if r["model"] == model)
    ahead = f"one {result.period} ahead" if step == 1 else f"{step} {result.period}s ahead"
    past = f"On {row['n_origins']} past {result.period}s, {ahead}"
    said = []
    if model != "persistence" and "persistence" in result.scores:
        told = compare(result, model, "persistence", metric, step, action)
        said.append(f"{past}, {result.label(model)} was {told[0]} repeating the last {result.period} ({told[1]}).")
    best = result.best_baseline(metric, step, action)
    start = "It" if said else f"{past}, {result.label(model)}"
    if best == model:
        said.append(f"{start} was the best of the simple methods tried.")
    elif best is not None and best != "persistence":
        told = compare(result, model, best, metric, step, action)
        said.append(
            f"{start} was {told[0]} the best simple method, {result.label(best)}"
            f" ({told[1].partition(', ')[2] if said else told[1]})."
        )
    held = float(row["coverage90"])
    if math.isfinite(held):
        said.append(f"Its 90\u00a0% intervals held {percent(held, 1)} of what came: {_honest(held)}.")
    return said


def compare(result: BacktestResult, model: str, rival: str, metric: str, step: int, action: str) -> tuple[str, str]:
    """'3.2 % better than', and in brackets by which score and how surely."""
    skill = result.skill(model, rival, metric, step, action)
    p = p_value(result, model, rival, metric, step, action)
    words = f"{score_words().get(metric, metric)}, {p_text(p)}: {significance_words(p)}"
    if not math.isfinite(skill) or abs(skill) < 5e-4:
        return "as good as", words
    return f"{percent(abs(skill), 1)} {'better' if skill > 0 else 'worse'} than", words


def significance_words(p: float) -> str:
    """How far a difference could be luck.

    >>> [significance_words(p) for p in (0.003, 0.04, 0.08, 0.4)]
    ['hardly luck', 'unlikely to be luck', 'a weak sign', 'may be luck']
    """
    if not math.isfinite(p):
        return "too few periods to tell"
    for bound, words in ((0.01, "hardly luck"), (0.05, "unlikely to be luck"), (0.1, "a weak sign")):
        if p < bound:
            return words
    return "may be luck"


def p_text(p: float) -> str:
    """
    >>> [p_text(p).replace("\\u00a0", " ") for p in (0.00001, 0.0312, 0.4)]  # no line ends within
    ['p < 0.001', 'p = 0.031', 'p = 0.40']
    """
    if not math.isfinite(p):
        return "no test"
    return "p\u00a0<\u00a00.001" if p < 0.001 else f"p\u00a0=\u00a0{p:.{3 if p < 0.1 else 2}f}"


def p_value(result: BacktestResult, model: str, rival: str, metric: str, step: int, action: str) -> float:
    """Diebold-Mariano's, two-sided; NaN where there are too few origins."""
    if len(result.dates) - step + 1 < 8 or model == rival:
        return float("nan")
    mine, theirs = (result.losses(m, metric, step, action) for m in (model, rival))
    return diebold_mariano(mine, theirs, step).p_value


def _honest(held: float) -> str:
    if 0.88 <= held <= 0.92:
        return "as they promise"
    return "they promise too much" if held < 0.88 else "they are wider than they need to be"
