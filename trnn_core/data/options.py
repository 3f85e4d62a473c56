"""ImportOptions: every choice a user can make about an import, with its default."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from trnn_core.data.series import Period
from trnn_core.errors import TRNNError

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
Value = Literal["events", "rows", "sum", "mean"]


class ImportOptions(BaseModel):
    """What to make of the rows of event files or tables.

    >>> ImportOptions(actors="USA, China").actors
    ('USA', 'China')
    >>> ImportOptions(period="fortnight")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    trnn_core.errors.TRNNError: Import option 'period' must be one the importer knows. Got 'fortnight' instead (...).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    period: Period | None = None  # None: week for event files, a table's own
    week_start: Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] = "monday"
    actors: int | Literal["all"] | tuple[str, ...] = 25  # the N most active, all, or these in this order
    # quad class, CAMEO root (event type for POLECAT), the file's own column, or a grouping own code -> label
    actions: Literal["quad", "root", "own"] | dict[str, str] | None = None  # None: quad for events, own for tables
    value: Value | None = None  # None: unique events; for a table with a value column, that column (one row per cell)
    diagonal: bool = False  # keep what an actor does to itself
    gaps: Literal["zero", "missing"] = "zero"  # counts in a period without a single row
    keep_partial: bool = False  # keep a first and last period that the files cover only in part
    countries: bool | None = None  # map names to one identity; None: for event files yes, for tables where all fit
    scheme: str | None = None  # how a table spells its countries (name, iso2, iso3, cow, cameo, ...); None: found out
    corrections: dict[str, str] = Field(default_factory=dict)  # the user's decisions: spelling -> actor
    columns: dict[str, str] = Field(default_factory=dict)  # for tables: date/source/target/action/value -> header
    sheet: str | None = None  # for Excel
    encoding: Literal["utf-8", "latin-1"] | None = None  # None: UTF-8; POLECAT falls back to Latin-1, and says so
    start: str | None = None  # for .tns: the first period's date
    labels: str | None = None  # for .tns: side file with the labels
    title: str = ""
    licence: str = ""
    allowed_root: Path | None = None  # refuse files outside this folder (the server's pages set it)
    max_bytes: int = Field(default=16 * 2**30, gt=0)  # refuse input that unpacks to more than this
    max_cells: int = Field(default=2**28, gt=0)  # refuse a tensor with more cells than this
    threads: int = Field(default=2, ge=1, le=64)

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as e:
            first = e.errors()[0]
            where = str(first["loc"][0]) if first["loc"] else "?"
            reason = first["msg"][0].lower() + first["msg"][1:]
            raise TRNNError(
                f"Import option '{where}' must be one the importer knows. Got {first['input']!r} instead ({reason})."
            ) from e

    @field_validator("actors", mode="before")
    @classmethod
    def _read_actors(cls, given: Any) -> Any:
        """'25', 'all' or 'A;B;C' (or with commas) as typed on the command line."""
        if not isinstance(given, str):
            return given
        text = given.strip()
        if text.lower() == "all":
            return "all"
        if text.lstrip("-").isdigit():
            return int(text)
        parts = [p.strip() for p in text.split(";" if ";" in text else ",")]
        return tuple(p for p in parts if p)

    @field_validator("actors")
    @classmethod
    def _check_actors(cls, actors: Any) -> Any:
        if isinstance(actors, int) and actors < 2:
            raise ValueError("a relation needs at least two actors")
        if isinstance(actors, tuple) and len(set(actors)) < max(2, len(actors)):
            raise ValueError("a list of actors needs at least two names, each once")
        return actors
