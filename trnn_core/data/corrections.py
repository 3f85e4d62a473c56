"""The user's decisions about spellings, kept in a small JSON file and used again at the next import."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from trnn_core.errors import TRNNError


def load_corrections(path: str | Path) -> dict[str, str]:
    """Original spelling -> readable name or own actor; an absent file means no decisions yet."""
    path = Path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as e:
        raise TRNNError(
            f"{path.name}: must be a JSON file of corrections (spelling: name). It cannot be read ({e})."
        ) from e
    if not isinstance(content, dict) or not all(isinstance(v, str) and v.strip() for v in content.values()):
        raise TRNNError(f"{path.name}: must hold one JSON object of spelling: name. Correct or remove the file.")
    return content


def save_corrections(corrections: Mapping[str, str], path: str | Path) -> None:
    """Write all decisions at once: the file is the old one or the whole new one."""
    path = Path(path)
    for spelling, name in corrections.items():
        if not name.strip():
            raise TRNNError(f"The spelling {spelling!r} must be given a name. Got an empty one instead.")
    text = json.dumps(dict(sorted(corrections.items())), ensure_ascii=False, indent=1) + "\n"
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        temporary = Path(name)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as e:
        raise TRNNError(f"{path}: the corrections cannot be written ({e.strerror or e}).") from e
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def add_corrections(path: str | Path, more: Mapping[str, str]) -> dict[str, str]:
    """Add decisions to those in the file (a newer one replaces an older one) and return all."""
    corrections = load_corrections(path) | dict(more)
    save_corrections(corrections, path)
    return corrections
