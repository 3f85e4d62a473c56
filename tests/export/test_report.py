"""The report: complete, one file, honest about what is missing; opened by a parser, a PDF reader and a real browser."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from pathlib import Path

import pytest
from lxml import html as lxml_html
from playwright.sync_api import Browser
from pypdf import PdfReader

from tests.export.conftest import NASTY, TITLE
from trnn_core.errors import TRNNError
from trnn_core.export.forecasts import largest_changes
from trnn_core.export.html_report import html_report, pdf_report
from trnn_core.export.material import Material, gather
from trnn_core.export.sections import SECTIONS, write_sections
from trnn_core.words import percent


@pytest.fixture(scope="module")
def page(material: Material) -> str:
    return html_report(material)


@pytest.fixture(scope="module")
def tree(page: str):
    return lxml_html.document_fromstring(page)


def text_of(tree) -> str:
    return " ".join(tree.xpath("string(//header)").split()) + " ".join(tree.xpath("string(//main)").split())


def test_every_section_is_there_in_order(tree) -> None:
    assert tree.xpath("//section/@id") == list(SECTIONS)
    assert tree.xpath("//section/h2/text()") == [title for title, _ in SECTIONS.values()]


def test_a_choice_of_sections_keeps_limits_and_source(material: Material) -> None:
    chosen = lxml_html.document_fromstring(html_report(material, ["changes", "question"]))
    assert chosen.xpath("//section/@id") == ["question", "changes", "limits", "citation"]


def test_an_unknown_section_is_named(material: Material) -> None:
    with pytest.raises(TRNNError, match=r"must be one of question, data.*Got 'weather' instead"):
        html_report(material, ["weather"])


def test_nothing_is_fetched_from_elsewhere(tree) -> None:
    """No element refers to anything outside the file; the policy forbids connections."""
    assert tree.xpath("//@src | //link | //iframe | //object") == []
    assert [h for h in tree.xpath("//@href") if not h.startswith("#")] == []
    policy = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    assert "default-src 'none'" in policy and "unsafe-eval" not in policy and "http" not in policy


def test_the_policy_allows_just_the_two_scripts_of_the_report(tree, page: str) -> None:
    scripts = [s.text for s in tree.xpath("//script[not(@type)]")]
    assert len(scripts) == 2 and page.count("plotly.js v") <= 2
    policy = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    allowed = re.findall(r"'sha256-([^']+)'", policy)
    assert allowed == [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]


def test_shown_by_a_server_it_is_the_same_without_the_library(material: Material, page: str) -> None:
    served = html_report(material, library="library.js")
    tree = lxml_html.document_fromstring(served)
    assert tree.xpath("//script/@src") == ["library.js"] and len(served) < len(page) - 4_000_000
    policy = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    assert "script-src 'self' 'sha256-" in policy and policy.count("sha256-") == 1 and "http" not in policy
    assert text_of(tree) == text_of(lxml_html.document_fromstring(page))


def test_charts_are_figures_with_titles_and_the_simulated_mark(tree, material: Material) -> None:
    charts = [json.loads(s.text) for s in tree.xpath("//script[@type='application/json']")]
    n_actions = len(material.forecast.actions)
    assert len(charts) >= 2 + 2 * n_actions
    for chart in charts:
        title = chart["layout"]["title"]
        assert title["text"] and "SIMULATED" in title["subtitle"]["text"]


def test_the_forecast_charts_hold_the_forecast(tree, material: Material) -> None:
    """The cells of the first heatmap are the expected counts of the first action, read back from the file."""
    import numpy as np

    chart = next(json.loads(s.text) for s in tree.xpath("//script[starts-with(@data-name, 'forecast-heatmap')]"))
    z = next(t for t in chart["data"] if t["type"] == "heatmap")["z"]
    found = np.frombuffer(base64.b64decode(z["bdata"]), dtype=z["dtype"]).reshape(
        [int(n) for n in z["shape"].split(",")]
    )
    order = material.order
    assert np.allclose(np.expm1(found), material.forecast.mean[0][np.ix_(order, order)][..., 0], atol=1e-5)


def test_it_says_what_was_asked_found_and_known(tree, material: Material) -> None:
    text = text_of(tree)
    assert f"{len(NASTY)} actors" in text and "Largest expected rise" in text
    assert "No backtest is stored with this run" in text and "No explanation is stored" in text
    assert "SIMULATED data: these events never happened" in text
    assert material.run.config["data"]["fingerprint"] in text and "@article{bai2017tensorial" in text
    assert "[train]" in text and "--recipe recipe.toml" in text


def test_the_largest_changes_stand_in_a_table_with_their_intervals(tree, material: Material) -> None:
    rows = tree.xpath("//section[@id='changes']//table[1]/tbody/tr")
    top = largest_changes(material.forecast, 0, 10)
    assert len(rows) >= len(top)
    assert [c.text_content() for c in rows[0]][:3] == [top["source"][0], top["target"][0], top["action"][0]]


def test_with_a_backtest_there_are_leaderboard_calibration_and_misses(backtested: Material) -> None:
    tree = lxml_html.document_fromstring(html_report(backtested, ["past"]))
    captions = [c.text_content() for c in tree.xpath("//section[@id='past']//caption")]
    assert captions[0].startswith("Leaderboard one week ahead") and "12 origins" in captions[0]
    assert any("Largest misses" in c for c in captions) and any("pairs and actions" in c for c in captions)
    board = [[c.text_content() for c in row] for row in tree.xpath("//section[@id='past']//table[1]/tbody/tr")]
    assert [row[0] for row in board[:3]] == ["plain tGRU", "<b>ewma</b>", "last week repeated"]
    mse = backtested.backtest.mean("mse")
    assert board[0][1] == f"{mse['tgru']:.5f}" and board[0][-1] == percent(
        1 - mse["tgru"] / mse["persistence"], 1, signed=True
    )
    names = tree.xpath("//section[@id='past']//script/@data-name")
    assert names == ["leaderboard", "calibration", "error-over-time"]
    assert "Rolling origins: 12 origins <of> the test." in text_of(tree)
    assert "No backtest is stored" not in text_of(tree)


def test_with_an_explanation_it_is_told_and_drawn(backtested: Material) -> None:
    tree = lxml_html.document_fromstring(html_report(backtested, ["explanation"]))
    assert tree.xpath("//section[@id='explanation']//script/@data-name") == ["influence-sender", "influence-receiver"]
    assert "Association is not cause" in text_of(tree)


def test_a_damaged_backtest_is_one_sentence(backtested: Material, tmp_path: Path) -> None:
    import shutil

    from trnn_core.runs.store import RunStore

    shutil.copytree(backtested.run.folder.parent, tmp_path / "runs")
    (tmp_path / "runs" / "nasty" / "backtest.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(TRNNError, match=r"backtest.parquet cannot be read"):
        gather("nasty", RunStore(tmp_path / "runs"))


def test_a_run_without_forecast_cannot_be_reported(unforecast) -> None:
    with pytest.raises(TRNNError, match="has no forecast yet: it is queued"):
        gather("new", unforecast)


def test_progress_counts_up_to_the_end(material: Material) -> None:
    seen: list[float] = []
    write_sections(material, None, lambda done, what: seen.append(done))
    assert seen == [i / len(SECTIONS) for i in range(len(SECTIONS) + 1)]


def test_a_report_of_observed_data_does_not_say_simulated_but_reminds_of_the_licence(real: Material) -> None:
    page = html_report(real)
    text = text_of(lxml_html.document_fromstring(page))
    assert "SIMULATED" not in page.split("<script>")[0] and "Licence of the data: research & <education> only." in text


def test_without_a_browser_the_pdf_says_what_to_do(material: Material, no_browser) -> None:
    with pytest.raises(
        TRNNError, match=r"need Chromium or Chrome, and TRNN_BROWSER=.*HTML reports, tables and networks work without"
    ):
        pdf_report(material, ["question"])


@pytest.mark.browser
def test_every_page_of_the_pdf_says_simulated_and_names_survive(material: Material) -> None:
    reader = PdfReader(io.BytesIO(pdf_report(material)))
    texts = [page.extract_text() for page in reader.pages]
    assert len(texts) > 4
    for number, text in enumerate(texts, start=1):
        assert "SIMULATED DATA" in text and f"Page {number} of {len(texts)}" in text
    whole = "".join("".join(texts).split())
    assert "".join(TITLE.split()) in whole
    wanted = set(largest_changes(material.forecast, 0, 10)["source"])
    assert [name for name in wanted if "".join(name.split()) not in whole] == []
    assert {(round(float(p.mediabox.width)), round(float(p.mediabox.height))) for p in reader.pages} == {(595, 842)}


@pytest.mark.browser
def test_a_real_browser_draws_all_charts_fetches_nothing_and_runs_no_name(
    chromium: Browser, page: str, tree, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text(page, encoding="utf-8")
    window = chromium.new_page(viewport={"width": 1280, "height": 900})
    asked, errors = [], []
    window.on("request", lambda r: asked.append(r.url) if not r.url.startswith(("file:", "data:", "blob:")) else None)
    window.on("pageerror", lambda e: errors.append(str(e)))
    window.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    window.goto(path.as_uri())
    drawn = window.locator("figure .plot-container").count()
    hacked = window.evaluate("window.hacked")
    text = window.inner_text("body")
    wide = window.evaluate("document.documentElement.scrollWidth")
    window.close()
    assert (asked, errors, hacked) == ([], [], None)
    assert drawn == len(tree.xpath("//figure"))
    assert TITLE in text and wide <= 1280
