"""Where countries lie on the map, from places.tsv beside this file (its source is stated there). No network needed."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from trnn_core.data.countries import resolve


def place_of(name: str) -> tuple[float, float] | None:
    """Latitude and longitude of an actor, None for one that is no country.

    >>> place_of("Korea, South"), place_of("Ruritania")
    ((37.5, 127.0), None)
    """
    actor = resolve(name).actor
    return None if actor is None else _table().get(actor.id)


@cache
def _table() -> dict[str, tuple[float, float]]:
    text = Path(__file__).with_name("places.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.split("\n") if line and not line.startswith("#")][1:]
    return {row[0]: (float(row[1]), float(row[2])) for row in rows}
