"""Settings: frozen groups of values whose every mistake is told in one sentence that names the setting. No torch
here."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from trnn_core.errors import TRNNError


class Settings(BaseModel):
    """A frozen group of settings; unknown names are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    section: ClassVar[str] = ""

    def __init__(self, /, **settings: Any):
        try:
            super().__init__(**settings)
        except ValidationError as e:
            raise explain(e, type(self), self.section) from None

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # nested groups keep their full path in errors


class OneOf:
    """Marks a setting as one of a table's names, looked up when it is set: what was added at run time counts too."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.table = table

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._check, core_schema.str_schema())

    def _check(self, name: Any) -> str:
        if name not in self.table:
            *most, last = [repr(known) for known in self.table]
            expected = f"{', '.join(most)} or {last}"
            raise PydanticCustomError("literal_error", "Input should be {expected}", {"expected": expected})
        return name


def explain(error: ValidationError, group: type[BaseModel], section: str = "") -> TRNNError:
    """The first mistake as one sentence; how many more there are."""
    first, more = error.errors()[0], error.error_count() - 1
    at = ([section] if section else []) + [str(p) for p in first["loc"]]
    where = ".".join(p for p in at if not p.isdigit())
    rest = f" ({more} more setting{'s are' if more > 1 else ' is'} wrong too.)" if more else ""
    if first["type"] == "extra_forbidden":
        owner = _group_of(at[0], group) if len(at) > 1 else group
        known = [".".join([*at[:-1], name]) for name in owner.model_fields]
        return TRNNError(f"{unknown(where, known)}{rest}")
    wanted = _wanted(first)
    got = first.get("input")
    if first["type"] == "value_error" and not first["loc"]:
        return TRNNError(f"The setting {wanted}.{rest}")
    return TRNNError(f"The setting '{where}' {wanted}. Got {got!r} instead.{rest}")


def _wanted(problem: Mapping[str, Any]) -> str:
    context = problem.get("ctx", {})
    kind = problem["type"]
    if kind == "value_error":
        return str(context["error"]).rstrip(".")
    fixed = {
        "greater_than_equal": "must be at least {ge}",
        "greater_than": "must be more than {gt}",
        "less_than_equal": "must be at most {le}",
        "less_than": "must be less than {lt}",
        "literal_error": "must be one of {expected}",
        "missing": "must be given",
        "finite_number": "must be a finite number",
    }
    if kind in fixed:
        return fixed[kind].format(**context)
    for word, wanted in (
        ("int", "a whole number"),
        ("float", "a number"),
        ("bool", "yes or no (true, false)"),
        ("tuple", "a list, for example 14,14,4"),
        ("string", "a text"),
        ("model", "a group of settings"),
        ("dict", "a group of settings"),
    ):
        if kind.startswith(word):
            return f"must be {wanted}"
    return f"is wrong: {problem['msg']}"


def unknown(name: str, known: list[str]) -> TRNNError:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    hint = f"did you mean '{near[0]}'?" if near else f"known settings are {', '.join(known)}."
    return TRNNError(f"Unknown setting '{name}'; {hint}")


def _group_of(name: str, group: type[BaseModel]) -> type[BaseModel]:
    """The group a section's name stands for."""
    found = group.model_fields[name].annotation if name in group.model_fields else None
    return found if isinstance(found, type) and issubclass(found, BaseModel) else group
