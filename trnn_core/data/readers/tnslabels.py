"""Labels for a sparse tensor, which has none: from a side file, typed in, or known for the data of Hoff (2015)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trnn_core.data.options import ImportOptions
from trnn_core.data.readers.inputs import Input, allowed_path, short
from trnn_core.data.series import PERIODS, QUAD_ACTIONS, Period
from trnn_core.errors import TRNNError

HOFF_ACTORS = (
    "North Korea",
    "Georgia",
    "Japan",
    "Ukraine",
    "South Korea",
    "Russian Federation",
    "United Kingdom",
    "Germany",
    "China",
    "Turkey",
    "Taiwan",
    "United States",
    "Australia",
    "Egypt",
    "Iran",
    "France",
    "India",
    "Afghanistan",
    "Lebanon",
    "Syria",
    "Iraq",
    "Israel",
    "Pakistan",
    "Occupied Palestinian Territory",
    "Sudan",
)
HOFF_SIZES, HOFF_START = (25, 25, 4, 548), "2004-01-01"
HOFF_TOTALS = (5439, 5501, 7227, 7339, 6907, 7647, 6967, 7141, 7080, 6826)  # of the first ten weeks


@dataclass(frozen=True)
class TensorLabels:
    actors: tuple[str, ...]
    actions: tuple[str, ...]
    start: str
    period: Period
    note: str


def find_labels(
    source: Input, sizes: tuple[int, int, int, int], totals: np.ndarray, options: ImportOptions
) -> TensorLabels:
    """A side file (`labels`, or FILE.labels.json beside it), else what was typed in, else Hoff's when it is his
    data."""
    name = source.name
    side = allowed_path(options.labels, options.allowed_root) if options.labels else Path(f"{source.path}.labels.json")
    if options.labels or side.is_file():
        given, note = _read_side(side), f"labels from {side.name}"
    elif sizes == HOFF_SIZES and tuple(totals[:10]) == HOFF_TOTALS:
        given = {"actors": list(HOFF_ACTORS), "actions": list(QUAD_ACTIONS), "start": HOFF_START, "period": "week"}
        note = "recognised as the ICEWS data of Hoff (2015) by its size and first weeks; his labels were put on"
    else:
        given, note = {}, "labels as typed in, numbers where none were"
    typed = _typed(sizes, options)
    given = {**given, **{k: v for k, v in typed.items() if k not in given or k in ("start", "period")}}
    actors, actions = tuple(given["actors"]), tuple(given["actions"])
    if (len(actors), len(actions)) != (sizes[0], sizes[2]):
        raise TRNNError(
            f"{name}: there must be a label for each of the {sizes[0]} actors and {sizes[2]} actions. Got {len(actors)}"
            f" and {len(actions)}."
        )
    if "start" not in given:
        raise TRNNError(
            f"{name}: a tensor has no dates. Give the first period's date (start, for instance 2004-01-01) and the"
            " period."
        )
    return TensorLabels(actors, actions, _start(str(given["start"]), given["period"], name), given["period"], note)


def _typed(sizes: tuple[int, int, int, int], options: ImportOptions) -> dict[str, Any]:
    actors: Any = [f"actor {i + 1}" for i in range(sizes[0])]
    if isinstance(options.actors, tuple) and len(options.actors) == sizes[0]:
        actors = list(options.actors)
    actions: Any = [f"action {k + 1}" for k in range(sizes[2])]
    if isinstance(options.actions, dict):
        actions = [options.actions.get(str(k + 1), a) for k, a in enumerate(actions)]
    elif options.actions == "quad" and sizes[2] == 4:
        actions = list(QUAD_ACTIONS)
    typed: dict[str, Any] = {"actors": actors, "actions": actions}
    if options.start:
        typed["start"] = options.start
    if options.period or "start" in typed:
        typed["period"] = options.period or "week"
    return typed


def _start(text: str, period: Any, name: str) -> str:
    try:
        start = np.datetime64(text, "D")
        if np.isnat(start) or not 1500 <= int(str(start)[:4]) <= 2200:
            raise ValueError("no such day")
    except ValueError as e:
        raise TRNNError(f"{name}: the first period's date must be like 2004-01-01. Got {text[:40]!r} instead.") from e
    if period not in PERIODS:
        raise TRNNError(f"{name}: the period must be one of {', '.join(PERIODS)}. Got {str(period)[:40]!r} instead.")
    first = start.astype("datetime64[M]" if period == "month" else "datetime64[Y]").astype("datetime64[D]")
    if period in ("month", "year") and start != first:
        raise TRNNError(f"{name}: a {period} must start on its first day. Got {start}; take {first}.")
    return str(start)


def _read_side(path: Path) -> dict[str, Any]:
    """JSON with actors, actions, start and period."""
    try:
        if path.stat().st_size > 2**24:
            raise TRNNError(f"{path.name}: a file of labels may have at most 16 MB.")
        given = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as e:
        raise TRNNError(f"{path.name}: must be a JSON file of labels. It cannot be read ({short(e)}).") from e
    lists = isinstance(given, dict) and all(
        isinstance(given.get(k, []), list) and all(isinstance(x, str) for x in given.get(k, []))
        for k in ("actors", "actions")
    )
    if not lists:
        raise TRNNError(
            f"{path.name}: must be one JSON object with lists of text 'actors' and 'actions', and 'start' and 'period'."
        )
    given.setdefault("period", "week")
    return {k: given[k] for k in ("actors", "actions", "start", "period") if k in given}
