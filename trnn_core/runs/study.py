"""Searches for good settings, as they stand on disk; Optuna, which writes them, is not needed to read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trnn_core.errors import TRNNError
from trnn_core.files import read_sealed
from trnn_core.runs import layout
from trnn_core.runs.store import RunStore


@dataclass(frozen=True)
class Study:
    """A search as it stands on disk."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    def read(self) -> Mapping[str, Any]:
        """What study.json says."""
        return read_sealed(self.folder / layout.STUDY)


def study_folder(store: RunStore, name: str) -> Path:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", name):
        raise TRNNError(
            f"The name of a search must be letters, digits, '-', '_' or '.', at most 64. Got {name!r} instead."
        )
    return store.root / layout.STUDIES / name


def list_studies(store: RunStore) -> list[Study]:
    """All searches of a store, newest first."""
    root = store.root / layout.STUDIES
    found = [p for p in root.iterdir() if (p / layout.STUDY).exists()] if root.is_dir() else []
    return [Study(p) for p in sorted(found, key=lambda p: (p / layout.STUDY).stat().st_mtime, reverse=True)]
