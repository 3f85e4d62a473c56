"""Figures and names as words on a page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from trnn_core.data.series import RelationalSeries
from trnn_core.runs.run import Run, Status
from trnn_core.words import percent

STATE_ICONS = {
    "queued": ":material/schedule:",
    "running": ":material/play_circle:",
    "paused": ":material/pause_circle:",
    "stopped": ":material/stop_circle:",
    "finished": ":material/check_circle:",
    "cancelled": ":material/cancel:",
    "failed": ":material/error:",
    "diverged": ":material/trending_up:",
    "interrupted": ":material/power_off:",
    "damaged": ":material/broken_image:",
}


def escape(text: str) -> str:
    """A name as it stands, whatever Markdown would make of it."""
    return re.sub(r"([\\\\`*_{}\[\]()<>#+\-.!|~$:^])", r"\\\1", str(text))


def about_series(series: RelationalSeries) -> str:
    return (
        f"{len(series.actors)} countries, {len(series.actions)} actions, {len(series):,} {series.period}s,"
        f" {span(series)}"
    )


def span(series: RelationalSeries) -> str:
    return f"{series.dates[0].item():%d %b %Y} to {series.dates[-1].item():%d %b %Y}"


@dataclass(frozen=True)
class Scores:
    """How a run did, one period ahead, on periods it had not learnt from."""

    skill: float  # share of the squared error of repeating the last period that the run avoids
    part: str
    n_origins: int
    coverage: float | None  # share of outcomes inside the interval
    scale: str


def scores_of(run: Run) -> Scores | None:
    """On the test periods, else on the validation ones; None when the run was not scored."""
    summary = run.summary() or {}
    for part in ("test", "validation"):
        found = summary.get(part)
        if isinstance(found, Mapping) and found.get("skill") is not None:
            scale = str(found.get("scale", "log1p"))
            return Scores(float(found["skill"]), part, int(found["n_origins"]), found.get("coverage90"), scale)
    return None


def trust(scores: Scores | None, level: float, period: str) -> str:
    """How far the forecast may be believed, in a sentence or two."""
    if scores is None:
        return "This run has not been scored against past data, so nothing is known about how far to trust it."
    n = f"{scores.n_origins} {scores.part} {period}s" if scores.n_origins > 1 else f"{scores.part} {period}"
    past = f"On the {n} it had not learnt from"
    rival = f"repeating the last {period}"
    if scores.skill > 0:
        said = (
            f"{past}, its squared error ({scores.scale} scale) was {percent(scores.skill)} lower than that of {rival}."
        )
    else:
        said = f"{past}, it was no better than {rival} ({percent(scores.skill, signed=True)}): do not rely on it."
    if scores.coverage is None:
        return said
    return f"{said} The {percent(level)} interval held the true figure in {percent(scores.coverage)} of cases."


def sentence(words: str) -> str:
    """With a capital, unless its first word has its own; without a full stop.

    >>> sentence("many periods."), sentence("tGRU, hidden 25 x 25 x 4")
    ('Many periods', 'tGRU, hidden 25 x 25 x 4')
    """
    first = words.split()[0]
    return (words if first != first.lower() else words[0].upper() + words[1:]).rstrip(".")


def progress(status: Status) -> str:
    return f"{status.epoch} of {status.epochs} epochs" if status.epochs else "not started"
