"""Files in, RelationalSeries out; one file per format, and one line here for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from trnn_core.data.readers.npz import read_npz, write_npz
from trnn_core.data.readers.options import ImportOptions
from trnn_core.data.series import RelationalSeries

__all__ = ["ImportOptions", "read_npz", "read_series", "write_npz"]


def read_series(
    path_or_paths: str | Path | Iterable[str | Path],
    *,
    format: str | None = None,
    options: ImportOptions | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RelationalSeries:
    """Read one file, many files or a folder."""
    return read_npz(path_or_paths)  # type: ignore[arg-type]
