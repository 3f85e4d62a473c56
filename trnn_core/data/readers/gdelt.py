"""GDELT events, 1.0 and 2.0: tab separated, no header; the version is told by the number of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trnn_core.data.cameo import QUAD_BY_NUMBER
from trnn_core.data.options import ImportOptions
from trnn_core.data.readers.dates import compact_day
from trnn_core.data.readers.event_columns import EventLayout
from trnn_core.data.readers.event_files import read_events
from trnn_core.data.readers.icews import cameo_rule
from trnn_core.data.readers.inputs import Input
from trnn_core.data.series import QUAD_ACTIONS, RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.jobs.context import Progress, quiet

WIDTHS = {57: "1.0 without SOURCEURL", 58: "1.0", 61: "2.0"}
_NAMED = {  # columns 0 to 34 are the same in all versions
    0: "GLOBALEVENTID",
    1: "SQLDATE",
    7: "Actor1CountryCode",
    17: "Actor2CountryCode",
    25: "IsRootEvent",
    26: "EventCode",
    28: "EventRootCode",
    29: "QuadClass",
    30: "GoldsteinScale",
    31: "NumMentions",
    34: "AvgTone",
}
LAYOUT = EventLayout(
    format="gdelt",
    date="SQLDATE",
    source="Actor1CountryCode",
    target="Actor2CountryCode",
    intensity="GoldsteinScale",
    event_key=("GLOBALEVENTID",),
    record_key=("GLOBALEVENTID",),
    identifier="GLOBALEVENTID",
    read_day=compact_day,
    scheme="cameo",
)


def recognise(head: bytes, name: str) -> bool:
    fields = head.split(b"\n", 1)[0].split(b"\t")
    return len(fields) > 34 and fields[0].isdigit() and len(fields[1]) == 8 and fields[1].isdigit()


def read(inputs: Sequence[Input], options: ImportOptions, progress: Progress = quiet) -> RelationalSeries:
    wanted = options.actions or "quad"
    if wanted == "quad":
        rule = replace(
            cameo_rule("QuadClass", options),
            label=lambda t: QUAD_BY_NUMBER.get(t.strip()),
            order=QUAD_ACTIONS,
            otherwise="QuadClass is not 1 to 4",
        )
    else:
        rule = cameo_rule("EventRootCode" if wanted == "root" else "EventCode", options)
    return read_events(inputs, LAYOUT, rule, _columns, options, progress)[0]


def _columns(line: bytes, name: str) -> tuple[list[str], bool]:
    n = line.count(b"\t") + 1
    if n not in WIDTHS:
        widths = ", ".join(f"{k} ({v})" for k, v in WIDTHS.items())
        raise TRNNError(f"{name}, line 1: a GDELT event file must have {widths} tab-separated columns. Got {n}.")
    return column_names(n), False


def column_names(n: int) -> list[str]:
    """GDELT's own names for the columns that are used, numbers for the others."""
    return [_NAMED.get(i, f"column {i}") for i in range(n)]
