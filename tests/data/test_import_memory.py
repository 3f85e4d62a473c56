"""Memory grows with the unique events, not with the file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.event_files import icews_row, icews_text

CHILD = """
import sys
from trnn_core.data.readers import ImportOptions, read_series
read_series(sys.argv[1], options=ImportOptions(period="day", keep_partial=True))
line = next(x for x in open("/proc/self/status") if x.startswith("VmHWM"))
print(int(line.split()[1]) / 1024)
"""


def peak_mb(path: Path) -> float:
    told = subprocess.run(
        [sys.executable, "-c", CHILD, str(path)], cwd=Path(__file__).parents[2], capture_output=True, check=True
    )
    return float(told.stdout)


def test_a_file_five_times_as_long_needs_no_more_memory(tmp_path: Path) -> None:
    rows = [
        icews_row(f"2014-01-{d:02}", s, c, t, Publisher="x" * 400)
        for d in range(1, 29)
        for s in ("Iran", "Iraq")
        for t in ("Oman", "Qatar")
        for c in ("040", "112")
    ]
    text = icews_text(rows).encode()
    header, body = text.split(b"\n", 1)
    peaks = []
    for n, times in (("short", 250), ("long", 1250)):
        path = tmp_path / n
        path.write_bytes(header + b"\n" + body * times)
        peaks.append(peak_mb(path))
    assert path.stat().st_size > 120e6
    assert peaks[1] - peaks[0] < 30
