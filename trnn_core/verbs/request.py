"""What every verb is made of: a request with typed fields, and a result that can be told.

    class Request(BaseRequest):
        run: RunName
        horizon: Annotated[int, Option("periods ahead (default: 1)")] = 1

    def run(request: Request, context: Context) -> Result: ...

The command line is made from the fields that carry an `Option`; the others are for pages and Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from trnn_core.errors import TRNNError


@dataclass(frozen=True)
class Option:
    """How a field is typed on the command line; what is not given here follows from its name and type.

    words       its help
    flag        how it is spelt; by default two dashes and the field's name
    positional  no flag, but a place
    parse       text -> value, for what is more than text or a number
    kind        int, float or str.lower, for a part that has no annotation of its own (see `parts`)
    required    must be typed, though Python and pages may leave it out
    present     the value that the flag alone stands for
    repeat      may be given several times
    parts       for a field that is a settings object: its parts, each with an option
    role        "asked": determines the result; "resources": how it is made, and no part of what was asked; "here": only
                for whoever asks here and now, never stored
    """

    words: str = ""
    flag: str = ""
    positional: bool = False
    metavar: str | None = None
    parse: Callable[[Any], Any] | None = None
    kind: Callable[[str], Any] | None = None
    choices: Sequence[str] | None = None
    required: bool = False
    present: Any = None
    repeat: bool = False
    parts: Mapping[str, Option] = field(default_factory=dict)
    role: Literal["asked", "resources", "here"] = "asked"


class BaseRequest(BaseModel):
    """Plain, frozen values; a field that nobody knows, or of the wrong type, raises TRNNError."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    in_store: ClassVar[bool] = True  # whether it is about a folder of runs, which the context names
    machines: ClassVar[bool] = True  # whether its result can be had as JSON

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as e:
            first = e.errors()[0]
            told = first.get("ctx", {}).get("error")
            if isinstance(told, TRNNError):  # a sentence of our own
                raise told from None
            where = ".".join(str(part) for part in first["loc"]) or "request"
            reason = first["msg"][0].lower() + first["msg"][1:]
            raise TRNNError(f"'{where}' must be what is asked for. Got {first['input']!r:.80} ({reason}).") from e

    @classmethod
    def option(cls, name: str) -> Option | None:
        return next((m for m in cls.model_fields[name].metadata if isinstance(m, Option)), None)

    @classmethod
    def role(cls, name: str) -> str:
        option = cls.option(name)
        return option.role if option else "asked"

    def stored(self, role: str = "asked") -> dict[str, Any]:
        """The fields of a role as plain JSON values; the run is told beside them."""
        names = {name for name in type(self).model_fields if self.role(name) == role and name != "run"}
        return self.model_dump(mode="json", include=names)


class Result(Protocol):
    """What a verb found: words for people, plain facts for machines, and an exit code."""

    @property
    def code(self) -> int: ...

    def words(self) -> str: ...

    def facts(self) -> Any: ...


@dataclass(frozen=True)
class Said:
    """A result that is known in words; `value` is the thing itself, for Python."""

    text: str
    plain: Any = None
    code: int = 0
    value: Any = None

    def words(self) -> str:
        return self.text

    def facts(self) -> Any:
        return self.plain


def commas(text: str | Sequence[str]) -> tuple[str, ...]:
    """'a, b,c' as its parts."""
    return tuple(part.strip() for part in text.split(",") if part.strip()) if isinstance(text, str) else tuple(text)
