"""What a page can show before an import."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.corpus import SEEDS
from trnn_core.data.readers.preview import preview

FORMAT = {"csv": "table", "tsv": "table", "parquet": "table", "xlsx": "table", "frostt": "tns", "gzip": "icews", "zip": "icews", "npz with a mask": "npz"}  # fmt: skip


@pytest.mark.parametrize("name", SEEDS)
def test_the_format_and_first_rows_are_shown(name: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(SEEDS[name])
    seen = preview(tmp_path / "f", 3)
    assert seen.format == FORMAT.get(name, name)
    if seen.format in ("icews", "polecat", "gdelt", "table"):
        assert len(seen.rows) == 3 and all(len(r) == len(seen.columns) for r in seen.rows)
    if seen.format == "table":
        assert seen.roles == {r: r for r in ("date", "source", "target", "action", "value")}


def test_a_strange_header_is_shown_with_the_problem(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(SEEDS["csv"].replace(b"source", b"wer"))
    seen = preview(tmp_path / "f")
    assert seen.columns[1] == "wer" and len(seen.rows) == 20
    assert "No column looks like source" in seen.problem
