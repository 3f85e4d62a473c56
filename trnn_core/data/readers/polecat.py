"""POLECAT (PLOVER): tab separated, header, columns by name; a field may list several countries, all pairs count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trnn_core.data.cameo import QUAD_BY_NUMBER
from trnn_core.data.options import ImportOptions
from trnn_core.data.readers.dates import iso_day
from trnn_core.data.readers.event_columns import ActionRule, EventLayout
from trnn_core.data.readers.event_files import named_columns, read_events
from trnn_core.data.readers.inputs import Input
from trnn_core.data.series import QUAD_ACTIONS, RelationalSeries
from trnn_core.jobs.context import Progress, quiet

TYPES = (
    "AGREE",
    "CONSULT",
    "SUPPORT",
    "CONCEDE",
    "COOPERATE",
    "AID",
    "RETREAT",
    "REQUEST",
    "ACCUSE",
    "REJECT",
    "THREATEN",
    "PROTEST",
    "SANCTION",
    "MOBILIZE",
    "COERCE",
    "ASSAULT",
)
_QUAD = {**QUAD_BY_NUMBER, **{q.upper(): q for q in QUAD_ACTIONS}}
_KEY = ("Event Date", "Event Type", "Event Mode", "Actor Name", "Actor Country", "Recipient Name", "Recipient Country")
LAYOUT = EventLayout(
    format="polecat",
    date="Event Date",
    source="Actor Country",
    target="Recipient Country",
    intensity="Intensity",
    event_key=_KEY,
    record_key=("Event Date", "Event ID"),
    identifier="Event ID",
    read_day=iso_day,
    scheme="iso3",
    missing=frozenset({"", "None"}),
    separator=";",
    latin_fallback=True,
    needs=("Event ID", "Quad Code", *_KEY),
)


def recognise(head: bytes, name: str) -> bool:
    first = head.split(b"\n", 1)[0]
    return all(c in first for c in (b"Event Type", b"Actor Country", b"Recipient Country", b"Quad Code"))


def read(inputs: Sequence[Input], options: ImportOptions, progress: Progress = quiet) -> RelationalSeries:
    return read_events(inputs, LAYOUT, _rule(options), _columns, options, progress)[0]


def _columns(line: bytes, name: str) -> tuple[list[str], bool]:
    """Newer files call the intensity 'Event Intensity'."""
    columns, header = named_columns(line, name, LAYOUT)
    if LAYOUT.intensity not in columns and "Event Intensity" in columns:
        columns[columns.index("Event Intensity")] = LAYOUT.intensity
    if LAYOUT.intensity not in columns:
        named_columns(line, name, replace(LAYOUT, needs=(*LAYOUT.needs, "Intensity")))
    return columns, header


def _rule(options: ImportOptions) -> ActionRule:
    """The file's own quad code is used: the manual contradicts itself on SANCTION."""
    wanted = options.actions or "quad"
    if wanted == "quad":
        return ActionRule("Quad Code", lambda t: _QUAD.get(_clean(t)), QUAD_ACTIONS, "not a quad code")
    if wanted in ("root", "own"):
        return ActionRule(
            "Event Type", lambda t: _clean(t) if _clean(t) in TYPES else None, TYPES, "not an event type of PLOVER"
        )
    groups = {k.upper(): v for k, v in wanted.items()}  # type: ignore[union-attr]
    order = tuple(dict.fromkeys(groups.values()))
    return ActionRule("Event Type", lambda t: groups.get(_clean(t)), order, "not in the grouping of actions")


def _clean(text: str) -> str:
    return text.strip().strip('"').replace("_", " ").upper()
