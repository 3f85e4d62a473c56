"""Values as bytes that hold data and nothing else: a tree of JSON, and arrays as NPZ without objects.

What is read decides nothing about its own type: the reader says what it expects (the annotation of the function that
was called), and anything else is refused.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from pydantic import ConfigDict, TypeAdapter, ValidationError

from trnn_core.errors import TRNNError

ARRAY, TREE = "$array", "tree"
_BROKEN = (OSError, ValueError, KeyError, TypeError, EOFError, MemoryError, RecursionError, zipfile.BadZipFile)


def pack(value: Any) -> bytes:
    """Text, numbers, lists, tables, arrays, and dataclasses made of these; arrays keep every bit."""
    arrays: dict[str, np.ndarray] = {}

    def plain(x: Any) -> Any:
        if isinstance(x, np.ndarray) and not x.dtype.hasobject:
            arrays[str(len(arrays))] = x
            return {ARRAY: str(len(arrays) - 1)}
        if is_dataclass(x) and not isinstance(x, type):
            return {f.name: plain(getattr(x, f.name)) for f in fields(x)}
        if isinstance(x, dict):
            return {k: plain(v) for k, v in x.items()}
        if isinstance(x, list | tuple):
            return [plain(v) for v in x]
        if isinstance(x, np.generic):
            return x.item()
        if x is None or isinstance(x, bool | int | float | str):
            return x
        raise TRNNError(f"Only data can be sent to a cluster. Got a {type(x).__name__} instead.")

    tree = np.frombuffer(json.dumps(plain(value)).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{TREE: tree}, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def unpack(content: bytes, expected: Any) -> Any:
    """What `pack` wrote, as a value of the expected type."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}

        def whole(x: dict[str, Any]) -> Any:
            return arrays[x[ARRAY]] if x.keys() == {ARRAY} else x

        tree = json.loads(arrays.pop(TREE).tobytes(), object_hook=whole)
        # In a list, because a dataclass at the top would not be told that arrays are taken as they are.
        kind = TypeAdapter(list[expected], config=ConfigDict(arbitrary_types_allowed=True))  # type: ignore[valid-type]
        return kind.validate_python([tree])[0]
    except (*_BROKEN, ValidationError) as e:
        raise TRNNError("A message must hold data of the kind that was asked for. It does not.") from e
