"""Real data beside the checkout: for tests here only, never committed (its licence is research use)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


def shared_file(name: str) -> Path:
    """A file or folder of shared/data; the calling test is skipped, saying so, where it is absent."""
    path = Path(os.environ.get("TRNN_SHARED", REPOSITORY.parent / "shared")) / "data" / name
    if not path.exists():
        pytest.skip(f"the real data {name} is not here (looked for {path}; set TRNN_SHARED)")
    return path
