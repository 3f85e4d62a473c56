"""Slides, taken apart as what they are, a ZIP of XML: titles, tables and notes to edit, figures sharp, simulated on each."""

from __future__ import annotations

import io
import zipfile

import pytest
from lxml import etree
from PIL import Image

from tests.export.conftest import NASTY
from trnn_core.export.forecasts import largest_changes
from trnn_core.export.material import Material
from trnn_core.export.slides import slides

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"


@pytest.fixture(scope="module")
def deck(backtested: Material) -> dict[str, bytes]:
    steps: list[tuple[float, str]] = []
    content = slides(backtested, ["question", "changes", "past"], lambda done, what: steps.append((done, what)))
    assert steps[-1] == (1.0, "done") and [s for s, _ in steps] == sorted(s for s, _ in steps)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def parts(deck: dict[str, bytes], folder: str) -> list[etree._Element]:
    names = [n for n in deck if n.startswith(f"ppt/{folder}/") and n.endswith(".xml")]
    return [etree.fromstring(deck[n]) for n in sorted(names, key=lambda n: int("".join(filter(str.isdigit, n))))]


def text_of(part: etree._Element) -> str:
    return " ".join(t.text or "" for t in part.iter(f"{A}t"))


pytestmark = pytest.mark.browser


def test_every_slide_has_a_title_the_mark_and_its_source(deck) -> None:
    found = parts(deck, "slides")
    assert len(found) > 8
    for slide in found:
        titles = [sp for sp in slide.iter(f"{P}sp") if sp.find(f".//{P}ph[@type='title']") is not None]
        assert len(titles) == 1 and text_of(titles[0]).strip()
        assert "SIMULATED DATA" in text_of(slide) and "Run: nasty" in text_of(slide)


def test_tables_are_tables_and_names_stand_in_their_cells(deck, backtested: Material) -> None:
    tables = [t for slide in parts(deck, "slides") for t in slide.iter(f"{A}tbl")]
    first = [[text_of(c) for c in row.iter(f"{A}tc")] for row in tables[0].iter(f"{A}tr")]
    top = largest_changes(backtested.forecast, 0, 10)
    assert [row[:2] for row in first[1:]] == [[r.source, r.target] for r in top.itertuples()]
    assert any("plain tGRU" in text_of(t) for t in tables)


def test_notes_hold_the_protocol_the_citation_and_at_the_end_the_recipe(deck) -> None:
    notes = [text_of(n) for n in parts(deck, "notesSlides")]
    assert len(notes) == len(parts(deck, "slides"))
    assert all("Rolling origins: 12 origins <of> the test." in n and "bai2017tensorial" in n for n in notes)
    assert "[train]" in notes[-1]


def test_figures_are_sharp_and_described(deck) -> None:
    images = [Image.open(io.BytesIO(deck[n])) for n in deck if n.startswith("ppt/media/")]
    assert len(images) >= 5 and all(image.width >= 1900 for image in images)
    described = [
        p.get("descr") for s in parts(deck, "slides") for pic in s.iter(f"{P}pic") for p in pic.iter(f"{P}cNvPr")
    ]
    assert len(described) >= 5 and all(described)


def test_nothing_in_the_file_points_outside_or_runs(deck) -> None:
    assert not [n for n in deck if any(word in n.lower() for word in ("vba", "activex", "embeddings", "oleobject"))]
    assert not [n for n in deck if n.endswith(".rels") and b'TargetMode="External"' in deck[n]]
    assert NASTY[4] in " ".join(text_of(s) for s in parts(deck, "slides"))
