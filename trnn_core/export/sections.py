"""A report's sections: each a function from the material of a run to blocks. Plain words first, evidence beside
them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from trnn_core import __version__
from trnn_core.charts.lines import best_epoch
from trnn_core.data import import_report
from trnn_core.errors import TRNNError
from trnn_core.export import pictures
from trnn_core.export.blocks import Block, Bullets, Code, Section, Table, Text
from trnn_core.export.citation import SIMULATED, bibtex, licence_note, provenance
from trnn_core.export.evidence import explanation, past
from trnn_core.export.forecasts import headlines, largest_changes
from trnn_core.export.material import Material
from trnn_core.export.summaries import most_active, shares
from trnn_core.jobs.context import Progress, quiet
from trnn_core.training.recipes import recipe_text
from trnn_core.words import percent


def question(m: Material) -> list[Block]:
    series, forecast = m.series, m.forecast
    asked = (
        f"Given what {len(series.actors)} actors did to each other in {len(series):,} {series.period}s up to"
        f" {series.dates[-1]}: who is expected to do how much to whom in the next {len(forecast.dates)}"
        f" {series.period}{'s' if len(forecast.dates) > 1 else ''}, and how sure is that? Counted are"
        f" {_list(series.actions)}."
    )
    found = [sentence[0].upper() + sentence[1:] + "." for sentence in headlines(forecast)]
    blocks: list[Block] = [Text(asked, "lead")]
    if found:
        blocks += [Text(f"In short, for the next {series.period} ({forecast.dates[0]}):"), Bullets(tuple(found))]
    else:
        blocks.append(Text(f"In short: no change is expected in the next {series.period}."))
    return blocks


def data(m: Material) -> list[Block]:
    series = m.series
    part = shares(series)
    words = (
        f"{m.title}: {len(series.actors)} actors, {len(series.actions)} actions, {len(series):,} {series.period}s from"
        f" {series.dates[0]} to {series.dates[-1]}. {percent(part['zero'], 1)} of the observed cells between different"
        f" actors are zero; {percent(part['missing'], 1)} were not observed."
    )
    blocks: list[Block] = [Text(words), Text(licence_note(m), "note"), pictures.activity_chart(m)]
    active = most_active(series, 10).rename(columns={"actor": "Actor", "sent": "Sent", "received": "Received"})
    blocks.append(Table(active, f"The ten most active actors, total over all {series.period}s and actions."))
    return blocks + _import_report(series.source.report)


def _import_report(found: dict[str, Any]) -> list[Block]:
    if "rows_read" in found:
        try:
            return [Text("How the data was read:"), Bullets(tuple(import_report.summary(found)))]
        except KeyError:
            pass  # written by another version: told fact by fact below
    facts = tuple(
        f"{key.replace('_', ' ')}: {_short(value)}" for key, value in found.items() if value not in ("", None, {}, [])
    )
    return (
        [Text("What is recorded about the making of the data:"), Bullets(facts)]
        if facts
        else [Text("No import report came with the data.", "note")]
    )


def model(m: Material) -> list[Block]:
    recipe, summary = m.run.recipe, m.summary
    words = str(m.forecast.meta.get("model") or summary.get("model") or "A tensorial recurrent network")
    facts = [
        (
            f"It reads windows of {recipe.data.window} {m.period}s and predicts the {m.period} that follows; values are"
            f" worked on after the transform {recipe.data.transform}."
        ),
        f"Inputs: {', '.join(recipe.data.slices)}.",
        (
            f"Chronological split: the last {percent(recipe.data.test)} of the {m.period}s were kept for the test, the"
            f" {percent(recipe.data.validation)} before them chose the best epoch; neither was learnt from."
        ),
    ]
    if summary.get("n_parameters"):
        facts.insert(0, f"{summary['n_parameters']:,} parameters.")
    return [Text(f"{words.rstrip('.')}."), Bullets(tuple(facts))]


def training(m: Material) -> list[Block]:
    status, history = m.run.status(), m.run.history_frame()
    words = (
        f"The training is {status.state}: {len(history)} of {m.run.recipe.train.epochs} epochs in"
        f" {status.seconds:,.0f} s."
    )
    best = best_epoch(history)
    if best is not None:
        words += (
            f" The validation loss was lowest, {best[1]:.5g}, after epoch {best[0]}; the weights of that epoch are"
            " used."
        )
    if scale := m.summary.get("loss_scale"):
        words += f" Loss: {scale}."
    return [Text(words), pictures.loss_chart(m)]


def forecast(m: Material) -> list[Block]:
    intro = (
        f"Expected {m.unit} for the {m.period} of {m.forecast.dates[0]}, action by action: as a network of the"
        " strongest relations, and as a matrix with senders in rows and receivers in columns."
    )
    blocks: list[Block] = [Text(intro)]
    for k in range(len(m.forecast.actions)):
        blocks += [pictures.expected_network(m, k), pictures.expected_heatmap(m, k)]
    return blocks


def changes(m: Material) -> list[Block]:
    blocks: list[Block] = []
    for falls, word in ((False, "rises"), (True, "falls")):
        rows = largest_changes(m.forecast, 0, 10, falls=falls)
        if len(rows):
            blocks.append(
                changes_table(
                    m, rows, f"Largest expected {word} from {m.forecast.last_date} to {m.forecast.dates[0]}, {m.unit}."
                )
            )
        else:
            blocks.append(Text(f"No {word} are expected."))
    if words := m.forecast.meta.get("intervals"):
        blocks.append(Text(f"{str(words).rstrip('.')}.", "note"))
    return blocks + list(pictures.top_pair_charts(m))


def changes_table(m: Material, rows: pd.DataFrame, caption: str) -> Table:
    level = percent(m.forecast.interval_level)
    names = {
        "source": "Sender",
        "target": "Receiver",
        "action": "Action",
        "last_observed": "Last",
        "forecast": "Expected",
        "lower": f"{level} from",
        "upper": f"{level} to",
        "change": "Change",
    }
    return Table(rows[list(names)].rename(columns=names), caption, signed=("Change",))


def limits(m: Material) -> list[Block]:
    points = [
        (
            "The forecast continues what the data show. It knows nothing of plans, talks or events that left no trace"
            " in them."
        ),
        (
            "Intervals say how wrong the network was lately at this distance. A break with the past can fall outside"
            f" them more often than the {percent(m.forecast.interval_level)} suggest."
        ),
        f"Errors grow with the distance; steps beyond the first {m.period} feed on the network's own forecasts.",
        (
            "Event data count reports, not deeds: countries that are written about less seem quieter than they are, and"
            " coding errors stay in."
        ),
        "Association is not cause: that one country's acts precede another's does not mean that they bring them about.",
    ]
    if m.simulated:
        points.insert(0, f"{SIMULATED} Nothing here says anything about the world.")
    if m.backtest is None:
        points.append(
            "No backtest is stored with this run: its past errors are known only from the short test above, against one"
            " simple rival."
        )
    return [Bullets(tuple(points))]


def recipe(m: Material) -> list[Block]:
    versions = ", ".join(f"{name} {version}" for name, version in m.run.config.get("versions", {}).items())
    made = f"Made with TRNN Studio {__version__}; {versions}. Data fingerprint {m.run.config['data']['fingerprint']}."
    return [
        Text("The same recipe on the same data gives the same weights. Save it as recipe.toml and run:"),
        Code("python -m trnn_core train --data DATA.npz --recipe recipe.toml", "command"),
        Code(recipe_text(m.run.recipe), "recipe.toml"),
        Text(made, "note"),
    ]


def citation(m: Material) -> list[Block]:
    return [
        Bullets(tuple(provenance(m))),
        Text("Please cite the method and the software:"),
        Code(bibtex(m), "citation.bib"),
    ]


SECTIONS: dict[str, tuple[str, Callable[[Material], list[Block]]]] = {
    "question": ("What was asked", question),
    "data": ("The data", data),
    "model": ("The model in words", model),
    "training": ("How it was trained", training),
    "forecast": ("The expected networks", forecast),
    "changes": ("Largest expected changes", changes),
    "past": ("How good it was in the past", past),
    "explanation": ("Why: who moves whom", explanation),
    "limits": ("Limits", limits),
    "recipe": ("Recipe to reproduce it", recipe),
    "citation": ("Source, licence and citation", citation),
}
ALWAYS = ("limits", "citation")  # no export leaves without what it cannot know and where it came from


def choose(names: Sequence[str] | None) -> list[str]:
    """The sections asked for in the report's own order, with those that no report goes without.

    >>> choose(["changes", "question"])
    ['question', 'changes', 'limits', 'citation']
    """
    wanted = list(SECTIONS) if names is None else list(names)
    for name in wanted:
        if name not in SECTIONS:
            raise TRNNError(f"A section must be one of {', '.join(SECTIONS)}. Got {name!r} instead.")
    return [name for name in SECTIONS if name in wanted or name in ALWAYS]


def write_sections(m: Material, names: Sequence[str] | None = None, progress: Progress = quiet) -> list[Section]:
    chosen = choose(names)
    sections = []
    for i, name in enumerate(chosen):
        title, write = SECTIONS[name]
        progress(i / len(chosen), title)
        sections.append(Section(name, title, tuple(write(m))))
    progress(1.0, "all sections are written")
    return sections


def _list(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _short(value: Any, length: int = 300) -> str:
    if isinstance(value, dict):
        value = ", ".join(f"{k} {v}" for k, v in value.items())
    text = str(value)
    return text if len(text) <= length else text[: length - 1] + "…"
