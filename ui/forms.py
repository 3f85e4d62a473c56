"""Widgets for the settings of a recipe, made from the settings themselves: name, bounds and words come from the
core."""

from __future__ import annotations

import types
from math import floor, log10
from typing import Any, Literal, Union, get_args, get_origin

import streamlit as st
from annotated_types import Ge, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from trnn_core.data import designs, transforms
from trnn_core.models.settings import OneOf
from ui.links import is_number, judge
from ui.setting_words import HELP, LABELS, WORDS
from ui.words import sentence

LARGEST = 2**53  # what a browser can count exactly


def widget(section: str, name: str, info: FieldInfo, value: Any, prefix: str) -> Any:
    """The widget of one setting, and what it is set to; kept in the address bar unless it is as it began."""
    label = LABELS.get(name, name.replace("_", " ").capitalize())
    words = HELP.get(name) or sentence(info.description or label)
    about: dict[str, Any] = {"help": f"{words}.", "key": f"{prefix}.{section}.{name}", "bind": "query-params"}
    kind, optional = _kind(info)
    if name == "transform":
        return st.selectbox(
            label, _with(list(transforms.NAMES), value), index=_place(list(transforms.NAMES), value), **about
        )
    if name == "slices":
        return (
            tuple(st.multiselect(label, _with_all(list(designs.BASES), value), default=list(value), **about)) or value
        )
    if options := _options(kind, info):
        judge(about["key"], [said(o) for o in options], label)
        return st.selectbox(label, options, index=options.index(value), format_func=said, **about)
    if kind is bool:
        return st.toggle(label, value, **about)
    if kind in (int, float):
        return _number(label, kind, info, value, optional, about)
    return value


def said(option: object) -> str:
    return WORDS.get(str(option), str(option).replace("_", " "))


def fields(section: str, group: type[BaseModel], names: list[str], values: BaseModel, prefix: str) -> dict[str, Any]:
    """Widgets for some settings of a group: the settings as `section.name`."""
    return {f"{section}.{n}": widget(section, n, group.model_fields[n], getattr(values, n), prefix) for n in names}


def shape_widget(values: tuple[int, ...], prefix: str) -> tuple[int, ...]:
    """The hidden tensor's size, one number per mode."""
    words = ("senders", "receivers", "actions")
    columns = st.columns(3, vertical_alignment="bottom")
    return tuple(
        column.number_input(
            f"Hidden {word}",
            1,
            200,
            size,
            key=f"{prefix}.hidden.{word}",
            bind="query-params",
            help=(
                f"Size of the hidden tensor H_t in the mode of {word}. More can remember more, learns slower and"
                " overfits sooner."
            ),
        )
        for column, word, size in zip(columns, words, values, strict=True)
    )


def _number(label: str, kind: type, info: FieldInfo, value: Any, optional: bool, about: dict[str, Any]) -> Any:
    """Bounds that the widget can keep are kept there; all others the recipe refuses in a sentence."""
    options: dict[str, Any] = {"value": value, "placeholder": "none", **about}
    options |= {"step": 1} if kind is int else {"step": _step(value), "format": "%g"}
    for mark in info.metadata:
        if isinstance(mark, Ge):
            options["min_value"] = kind(mark.ge)
        elif isinstance(mark, Le) and kind(mark.le) < LARGEST:
            options["max_value"] = kind(mark.le)
    judge(about["key"], is_number(-LARGEST, LARGEST), label)
    given = st.number_input(label, **options)
    if given is None:
        return None if optional else value
    return kind(given)


def _step(value: float | None) -> float:
    """One step of the buttons: a unit of the first digit."""
    return 0.1 if not value else 10.0 ** floor(log10(abs(value)))


def _kind(info: FieldInfo) -> tuple[Any, bool]:
    """The type of a setting, and whether it may be left out."""
    annotation = info.annotation
    if get_origin(annotation) in (Union, types.UnionType):
        kinds = [a for a in get_args(annotation) if a is not type(None)]
        return kinds[0], len(kinds) < len(get_args(annotation))
    return annotation, False


def _options(kind: Any, info: FieldInfo) -> list[Any]:
    """What a setting can be, where it is one of a few."""
    named = [list(mark.table) for mark in info.metadata if isinstance(mark, OneOf)]
    return named[0] if named else list(get_args(kind)) if get_origin(kind) is Literal else []


def _with(options: list[str], value: str) -> list[str]:
    return options if value in options else [value, *options]


def _with_all(options: list[str], values: tuple[str, ...]) -> list[str]:
    return [*options, *(v for v in values if v not in options)]


def _place(options: list[str], value: str) -> int:
    return _with(options, value).index(value)
