"""What a report is made of, whatever it is printed on: texts, lists, tables, charts and code, in sections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd
import plotly.graph_objects as go

from trnn_core.charts.theme import number
from trnn_core.words import SIGN


@dataclass(frozen=True)
class Text:
    """A paragraph; `lead` stands out, a `note` steps back."""

    text: str
    tone: str = "plain"


@dataclass(frozen=True)
class Bullets:
    items: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Columns as they are to be read: header -> texts or numbers. `signed` columns show a plus, `formats` are exact."""

    frame: pd.DataFrame
    caption: str
    signed: tuple[str, ...] = ()
    formats: Mapping[str, str] = field(default_factory=dict)  # column -> format, for scores that differ in late digits

    def cells(self) -> list[list[tuple[str, bool]]]:
        """Every cell as text, with whether it is a figure (set to the right)."""
        columns = [_texts(self.frame[name], name in self.signed, self.formats.get(name)) for name in self.frame.columns]
        return [list(row) for row in zip(*columns, strict=True)]


@dataclass(frozen=True)
class Chart:
    """A figure with what it shows in words; `name` is its file name."""

    figure: go.Figure
    name: str
    alt: str


@dataclass(frozen=True)
class Code:
    text: str
    file: str = ""


Block = Text | Bullets | Table | Chart | Code


@dataclass(frozen=True)
class Section:
    name: str
    title: str
    blocks: tuple[Block, ...]

    @property
    def charts(self) -> tuple[Chart, ...]:
        return tuple(b for b in self.blocks if isinstance(b, Chart))


def _texts(column: pd.Series, signed: bool, form: str | None) -> list[tuple[str, bool]]:
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        texts = [_figure(float(x), form) if form else number(float(x), signed) for x in column.fillna(0)]
        return [("" if pd.isna(x) else text, True) for x, text in zip(column, texts, strict=True)]
    return [("" if x is None else str(x), False) for x in column]


def _figure(x: float, form: str) -> str:
    return f"{100 * x:{form.removesuffix('%')}f}{SIGN}" if form.endswith("%") else f"{x:{form}}"
