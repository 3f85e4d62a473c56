"""All exports of the demo and of a real set of 25 countries: ready in time, opened again, and looked at as pictures."""

from __future__ import annotations

import io
import shutil
import subprocess
import time
from pathlib import Path

import igraph
import numpy as np
import pandas as pd
import pytest
from lxml import etree
from lxml import html as lxml_html
from PIL import Image
from pypdf import PdfReader

from tests.shared_data import REPOSITORY, shared_file
from trnn_core.data.readers.npz import read_npz
from trnn_core.export.formats import write_bundle
from trnn_core.export.html_report import html_report
from trnn_core.export.material import Material, gather
from trnn_core.runs.execute import train_run
from trnn_core.runs.store import RunStore
from trnn_core.training.config import Recipe

SETS = ("demo", "icews0515_weekly_hoff25_quad")


@pytest.fixture(scope="module", params=SETS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Material:
    """One short epoch is enough: the exports are as large as those of a long training."""
    path = REPOSITORY / "data" / "demo.npz" if request.param == "demo" else shared_file(f"{request.param}.npz")
    store = RunStore(tmp_path_factory.mktemp(request.param) / "runs")
    recipe = Recipe(data={"window": 3}, model={"cell": "gru", "hidden_shape": (2, 2, 2)}, train={"epochs": 1})
    train_run(store, store.create(recipe, read_npz(path), run_id="one"))
    return gather("one", store)


def test_tables_and_networks_of_25_countries_are_read_back(run: Material, tmp_path: Path) -> None:
    write_bundle(run, tmp_path, ["tables", "networks"])
    table = pd.read_parquet(tmp_path / "tables" / "forecast.parquet")
    assert len(table) == len(run.forecast.dates) * 25 * 24 * 4
    assert set(table["data"]) == {"simulated" if run.simulated else "observed"}
    for k in range(4):
        path = next((tmp_path / "networks").glob(f"{k + 1}-*[!e].graphml"))
        graph = igraph.Graph.Read_GraphML(str(path))
        assert graph.vs["label"] == list(run.series.actors)
        found = np.zeros((25, 25))
        for edge in graph.es:
            found[edge.source, edge.target] = edge["weight"]
        expected = run.forecast.mean[0, ..., k] * (1 - np.eye(25))
        assert np.array_equal(found, expected)
    for path in (tmp_path / "networks").glob("*.gexf"):
        described = etree.parse(path).getroot().findtext("{*}meta/{*}description")
        assert ("SIMULATED" in described) == run.simulated


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.browser
def test_a_report_of_25_countries_is_ready_in_under_ten_seconds(run: Material) -> None:
    begun = time.monotonic()
    text = html_report(run)
    seconds = time.monotonic() - begun
    assert len(lxml_html.document_fromstring(text).xpath("//figure")) >= 10
    assert seconds < 10, f"took {seconds:.1f} s"


def pictures_of(pdf: Path, out: Path, dpi: int = 60) -> list[Image.Image]:
    program = shutil.which("pdftoppm")
    if program is None:
        pytest.skip("pdftoppm is not here (Debian: poppler-utils)")
    subprocess.run([program, "-r", str(dpi), "-png", pdf, out / "page"], check=True, timeout=120)
    return [Image.open(p).convert("RGB") for p in sorted(out.glob("page*.png"))]


def ink(image: Image.Image) -> np.ndarray:
    return (np.asarray(image).min(axis=2) < 235).astype(int)


@pytest.mark.slow
@pytest.mark.browser
def test_the_printed_report_is_full_and_nothing_is_cut(run: Material, tmp_path: Path) -> None:
    write_bundle(run, tmp_path, ["pdf"])
    pages = pictures_of(tmp_path / "report.pdf", tmp_path)
    texts = [page.extract_text() for page in PdfReader(tmp_path / "report.pdf").pages]
    assert len(pages) == len(texts) >= 8
    assert all(("SIMULATED DATA" in text) == run.simulated for text in texts)
    for page in pages:
        drawn = ink(page)
        margin = round(14 / 25.4 * 60)  # millimetres of paper that must stay white on both sides
        assert drawn.sum() > 200 and drawn[:, :margin].sum() == 0 and drawn[:, -margin:].sum() == 0


@pytest.mark.slow
@pytest.mark.browser
def test_slides_open_in_libreoffice_one_picture_each(run: Material, tmp_path: Path) -> None:
    office = shutil.which("soffice") or shutil.which("libreoffice")
    if office is None:
        pytest.skip("LibreOffice is not here (Debian: libreoffice-impress)")
    write_bundle(run, tmp_path, ["slides"])
    profile = f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}"
    subprocess.run(
        [office, profile, "--headless", "--convert-to", "pdf", "--outdir", tmp_path, tmp_path / "slides.pptx"],
        check=True,
        timeout=280,
        capture_output=True,
    )
    texts = [page.extract_text() for page in PdfReader(tmp_path / "slides.pdf").pages]
    pages = pictures_of(tmp_path / "slides.pdf", tmp_path)
    assert len(pages) == len(texts) > 15
    assert all(("SIMULATED DATA" in text) == run.simulated for text in texts)
    for page in pages:
        drawn = ink(page)
        assert drawn.sum() > 100 and drawn[:, -6:].sum() == 0 and drawn[-6:].sum() == 0  # nothing runs off the slide


@pytest.mark.slow
@pytest.mark.browser
def test_every_image_is_drawn_at_publication_size(run: Material, tmp_path: Path) -> None:
    write_bundle(run, tmp_path, ["images"])
    images = sorted((tmp_path / "images").glob("*.png"))
    assert len(images) >= 14 and len(images) == len(list((tmp_path / "images").glob("*.svg")))
    for path in images:
        with Image.open(io.BytesIO(path.read_bytes())) as image:
            assert abs(image.width / image.info["dpi"][0] * 25.4 - 180) < 0.3
            assert ink(image.convert("RGB")).mean() > 0.005
            assert ("SIMULATED" in image.text["Description"]) == run.simulated
        etree.parse(path.with_suffix(".svg"))
