"""Citations agree with CITATION.cff; every export knows its source and reminds of the licence."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from trnn_core import __version__
from trnn_core.export.citation import about_text, bibtex, licence_note, one_line
from trnn_core.export.material import Material

CFF = (Path(__file__).resolve().parents[2] / "CITATION.cff").read_text(encoding="utf-8")


def entries(text: str) -> dict[str, dict[str, str]]:
    """A small reading of BibTeX: key -> fields."""
    found = {}
    for key, body in re.findall(r"@\w+\{(\w+),\n(.*?)\n\}", text, re.S):
        found[key] = {k.strip(): v for k, v in re.findall(r"^\s*(\w+)\s*=\s*\{(.*?)\},?$", body, re.M)}
    return found


def test_bibtex_says_what_the_citation_file_says(material: Material) -> None:
    paper, software = entries(bibtex(material)).values()
    assert f'title: "{paper["title"]}"' in CFF and f"arXiv:{paper['eprint']}" in CFF and f"year: {paper['year']}" in CFF
    for author in paper["author"].split(" and "):
        family, given = author.split(", ")
        assert f"family-names: {family}" in CFF and f"given-names: {given}" in CFF
    assert f'title: "{software["title"]}"' in CFF and f"version: {software['version']}" in CFF
    assert software["version"] == __version__ and software["year"] == material.made[:4]


def test_braces_are_balanced(material: Material) -> None:
    assert bibtex(material).count("{") == bibtex(material).count("}")


def test_the_licence_is_named_or_its_absence_is(material: Material, real: Material) -> None:
    assert "stays marked as simulated" in licence_note(material)
    assert "research & <education> only" in licence_note(real)
    unknown = replace(real.series, source=replace(real.series.source, licence=" "))
    assert "was not recorded" in licence_note(replace(real, series=unknown))


def test_every_short_and_long_note_says_simulated_only_where_it_is(material: Material, real: Material) -> None:
    for write in (one_line, about_text):
        assert "SIMULATED" in write(material) and "SIMULATED" not in write(real)
        assert "nasty" in write(material) and material.title in write(material)
