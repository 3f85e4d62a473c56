"""An import asked for by a page: reads files into a series in a process of its own, with progress, until told to stop.

Arguments: `files`, `format`, `options` (the fields of ImportOptions as JSON), and `stamps` (size and time of each file,
so that a changed file is read again). The result is `series.npz`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from trnn_core.data.options import ImportOptions
from trnn_core.data.readers import read_npz, read_series, write_npz
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.jobs.process import JobContext

RESULT = "series.npz"


class _Stopped(Exception):
    """Leaves the reader at its next report."""


def run(context: JobContext) -> None:
    def progress(done: int, total: int) -> None:
        if context.stopping():
            raise _Stopped
        share = min(done / max(total, 1), 1.0)
        context.progress(0.95 * share, f"Reading: {done / 1e6:,.1f} of {total / 1e6:,.1f} MB")

    context.progress(0.0, "Opening the files")
    try:
        series = read_series(
            [Path(f) for f in context.request["files"]],
            format=context.request["format"],
            options=ImportOptions(**context.request["options"]),
            progress=progress,
        )
    except _Stopped:
        return
    if context.stopping():
        return
    context.progress(0.97, "Saving what was read")
    with tempfile.TemporaryDirectory(prefix="trnn-import-") as folder:
        context.write(RESULT, write_npz(series, Path(folder) / RESULT).read_bytes())
    t, n, _, k = series.shape
    context.progress(1.0, f"Read {t:,} {series.period}s, {n} actors and {k} actions.")


def arguments_of(files: list[Path], form: str, options: ImportOptions) -> dict[str, Any]:
    """What to ask for: equal files and options are the same import, a changed file is another one."""
    try:
        stamps = [[f.stat().st_size, f.stat().st_mtime_ns] for f in files]
    except OSError as e:
        raise TRNNError(f"{e.filename}: the file is not there any more; choose it again.") from e
    return {
        "files": [str(f) for f in files],
        "format": form,
        "stamps": stamps,
        "options": options.model_dump(mode="json", exclude_defaults=True),
    }


def series_of(content: bytes) -> RelationalSeries:
    """The series that an import left."""
    with tempfile.TemporaryDirectory(prefix="trnn-import-") as folder:
        path = Path(folder) / RESULT
        path.write_bytes(content)
        return read_npz(path)
