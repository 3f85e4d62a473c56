"""One table of formats: a new one is a line in it, and is there for the commands and the Report page alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from trnn_core.cli import main
from trnn_core.export import formats


def test_a_new_export_format_is_one_line(store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    def make(m, names, progress) -> bytes:
        progress(1.0, "written")
        return f"{m.title}: {len(names or ())}".encode()

    form = formats.Format("plain text", "txt", "text/plain", make, "Text", "report.txt", sections=True)
    monkeypatch.setitem(formats.FORMATS, "text", form)
    out = tmp_path / "r.txt"
    assert main(["report", "nasty", "--out", str(out), "--sections", "question", "--runs", str(store.root)]) == 0
    assert out.read_bytes().endswith(b": 1") and "written" in capsys.readouterr().err
    folder = tmp_path / "all"
    assert main(["export", "nasty", "--out", str(folder), "--what", "text", "--runs", str(store.root)]) == 0
    assert (folder / "report.txt").exists() and formats.titles()["Text"].mime == "text/plain"
