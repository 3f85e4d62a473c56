"""The commands `report` and `export`, as typed."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from trnn_core.cli import main
from trnn_core.export.formats import zip_bundle
from trnn_core.export.material import Material
from trnn_core.runs.store import RunStore
from trnn_core.training.recipes import read_recipe


def test_report_writes_html_and_tells_its_progress(store: RunStore, tmp_path: Path, capsys) -> None:
    out = tmp_path / "r.html"
    assert (
        main(["report", "nasty", "--out", str(out), "--runs", str(store.root), "--sections", "question,changes"]) == 0
    )
    told = capsys.readouterr()
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>") and str(out) in told.out
    assert "[0/4] What was asked" in told.err and "[4/4]" in told.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nasty", "--out", "r.docx"], "must end in .html, .htm, .pdf, .pptx. Got 'r.docx'"),
        (["nasty", "--out", "r.html", "--sections", "weather"], "A section must be one of question"),
        (["gone", "--out", "r.html"], "There is no run 'gone'"),
        (["nasty", "--out", "no/such/folder/r.html", "--sections", "question"], "no/such/folder"),
    ],
)
def test_mistakes_are_one_sentence_and_code_2(store: RunStore, arguments, said, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", *arguments, "--runs", str(store.root)]) == 2
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert said in last and last.startswith("trnn_core report: ")
    assert list(tmp_path.iterdir()) == []


def test_export_writes_tables_and_networks_with_their_source(
    store: RunStore, material: Material, tmp_path: Path, capsys
) -> None:
    out = tmp_path / "out"
    assert (
        main(["export", "nasty", "--out", str(out), "--what", "tables,networks", "--runs", str(store.root), "--json"])
        == 0
    )
    files = json.loads(capsys.readouterr().out)["files"]
    assert {
        "ABOUT.txt",
        "citation.bib",
        "recipe.toml",
        "tables/forecast.csv",
        "tables/forecast.parquet",
        "tables/forecast.dta",
        "tables/forecast.xlsx",
        "tables/largest-rises.tex",
    } <= set(files)
    assert sum(f.endswith(".gexf") for f in files) == sum(f.endswith(".graphml") for f in files) == 8
    assert all((out / f).stat().st_size > 0 for f in files)
    assert read_recipe(out / "recipe.toml") == material.run.recipe
    assert "SIMULATED" in (out / "ABOUT.txt").read_text()


def test_an_unknown_kind_is_told_before_anything_is_made(store: RunStore, tmp_path: Path, capsys) -> None:
    assert main(["export", "nasty", "--out", str(tmp_path / "x"), "--what", "songs", "--runs", str(store.root)]) == 2
    assert "must be among report, pdf" in capsys.readouterr().err and not (tmp_path / "x").exists()


def test_the_zip_holds_the_same_files(material: Material, tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    path.write_bytes(zip_bundle(material, ["tables"]))
    with zipfile.ZipFile(path) as archive:
        assert (
            archive.testzip() is None
            and "ABOUT.txt" in archive.namelist()
            and "tables/forecast.csv" in archive.namelist()
        )


@pytest.mark.slow
@pytest.mark.browser
def test_images_have_the_size_asked_for(store: RunStore, tmp_path: Path) -> None:
    size = ["--width-mm", "60", "--dpi", "150"]
    assert (
        main(
            ["export", "nasty", "--out", str(tmp_path), "--what", "images", *size, "--runs", str(store.root), "--json"]
        )
        == 0
    )
    found = sorted((tmp_path / "images").glob("*.png"))
    assert len(found) >= 14
    with Image.open(found[0]) as image:
        assert image.width == 355 and round(image.info["dpi"][0]) == 150
    assert 'width="60mm"' in found[0].with_suffix(".svg").read_text()[:600]
    assert main(["export", "nasty", "--out", str(tmp_path), "--dpi", "9", "--runs", str(store.root)]) == 2
