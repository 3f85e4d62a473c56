"""ICEWS Coded Event Data: tab separated, header, twenty columns; daily and yearly files, zipped or not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from trnn_core.data.cameo import ROOTS, grouped, quad_class, root
from trnn_core.data.options import ImportOptions
from trnn_core.data.readers.dates import iso_day
from trnn_core.data.readers.event_columns import ActionRule, EventLayout
from trnn_core.data.readers.event_files import named_columns, read_events
from trnn_core.data.readers.inputs import Input
from trnn_core.data.series import QUAD_ACTIONS, RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.jobs.context import Progress, quiet

CODE = "CAMEO Code"
LAYOUT = EventLayout(
    format="icews",
    date="Event Date",
    source="Source Country",
    target="Target Country",
    intensity="Intensity",
    event_key=("Event Date", "Source Name", "Event Text", "Target Name"),
    record_key=("Event Date", "Event ID"),  # the ID alone repeats before 2014
    identifier="Event ID",
    read_day=iso_day,
    scheme="icews",
    missing=frozenset({"", "NA"}),
    needs=(
        "Event ID",
        "Event Date",
        "Source Name",
        "Source Country",
        "Event Text",
        CODE,
        "Intensity",
        "Target Name",
        "Target Country",
    ),
    licence="ICEWS: research and education only",
)
_NOT_CAMEO = "not a CAMEO code"


def recognise(head: bytes, name: str) -> bool:
    first = head.split(b"\n", 1)[0]
    return all(c in first for c in (b"Event Date", b"Source Name", b"CAMEO Code", b"Target Country"))


def read(inputs: Sequence[Input], options: ImportOptions, progress: Progress = quiet) -> RelationalSeries:
    columns_of = partial(named_columns, layout=LAYOUT)
    series, aggregator = read_events(inputs, LAYOUT, cameo_rule(CODE, options), columns_of, options, progress)
    _check_zeros(aggregator.dropped.get(_NOT_CAMEO), aggregator.rows_read)
    return series


def cameo_rule(column: str, options: ImportOptions) -> ActionRule:
    """Labels for a column of CAMEO codes."""
    wanted = options.actions or "quad"
    if wanted == "quad":
        return ActionRule(column, lambda t: quad_class(_clean(t)), QUAD_ACTIONS, _NOT_CAMEO)
    if wanted == "root":
        return ActionRule(column, lambda t: ROOTS.get(root(_clean(t)) or ""), tuple(ROOTS.values()), _NOT_CAMEO)
    if wanted == "own":
        return ActionRule(column, lambda t: _clean(t) if root(_clean(t)) else None, (), _NOT_CAMEO)
    groups: dict[str, str] = wanted  # type: ignore[assignment]
    order = tuple(dict.fromkeys(groups.values()))
    return ActionRule(
        column,
        lambda t: grouped(_clean(t), groups) if root(_clean(t)) else None,
        order,
        "not in the grouping of actions",
    )


def _clean(text: str) -> str:
    return text.strip().strip('"').strip()


def _check_zeros(dropped: tuple | None, rows: int) -> None:
    """A file saved by a spreadsheet has lost the leading zeros: '010' became '10', another root."""
    if dropped and dropped[0] > 0.02 * rows and dropped[1].text.isdigit():
        n, first = dropped
        raise TRNNError(
            f"{first.file}, line {first.line}: CAMEO codes must keep their leading zeros ('010'). Got {first.text!r}"
            f" and {n:,} of {rows:,} codes like it; the file was probably saved by a spreadsheet, so take the original."
        )
