"""All files that can be taken away from a run, by kind: each kind is a function from the material to named files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from trnn_core.errors import TRNNError
from trnn_core.export import graph_files, pictures, sections, sheets
from trnn_core.export.blocks import Progress, Table, silent
from trnn_core.export.citation import about_text, bibtex, one_line
from trnn_core.export.html_report import html_report, pdf_report
from trnn_core.export.images import FORMATS, Size, to_images
from trnn_core.export.material import Material
from trnn_core.export.presentation import presentation
from trnn_core.export.slides import slides
from trnn_core.export.tables import to_csv
from trnn_core.files import explain_os_error, write_atomic
from trnn_core.training.recipes import recipe_text

Files = Iterator[tuple[str, bytes]]


def report_files(m: Material) -> Files:
    yield "report.html", html_report(m).encode()


def pdf_files(m: Material) -> Files:
    yield "report.pdf", pdf_report(m)


def slide_files(m: Material) -> Files:
    yield "slides.pptx", slides(m)


def presentation_files(m: Material) -> Files:
    yield "presentation.html", presentation(m).encode()


def table_files(m: Material) -> Files:
    """The forecast for R, Stata and Excel, the largest changes for a paper."""
    table = sheets.forecast_table(m)
    yield "tables/forecast.csv", to_csv(table)
    yield "tables/forecast.parquet", sheets.to_parquet(table, m)
    yield "tables/forecast.dta", sheets.to_stata(table, m)
    book = {"forecast": table.drop(columns=["dataset", "run", "licence"])}  # told on the sheet About
    changes = [block for block in sections.changes(m) if isinstance(block, Table)]
    for block, name in zip(changes, _names(changes), strict=True):
        book[name] = block.frame
        yield f"tables/{name}.tex", sheets.to_latex(block, m, name).encode()
    yield "tables/forecast.xlsx", sheets.to_excel(book, m)


def _names(changes: Sequence[Table]) -> list[str]:
    return ["largest-falls" if "falls" in block.caption else "largest-rises" for block in changes]


def network_files(m: Material) -> Files:
    for k, action in enumerate(m.forecast.actions):
        name = f"networks/{k + 1}-{pictures.slug(action)}"
        yield f"{name}.graphml", graph_files.static_graphml(m, k)
        yield f"{name}.gexf", graph_files.static_gexf(m, k)
        yield f"{name}-over-time.graphml", graph_files.dynamic_graphml(m, k)
        yield f"{name}-over-time.gexf", graph_files.dynamic_gexf(m, k)


def image_files(m: Material, size: Size | None = None) -> Files:
    charts = pictures.all_charts(m)
    for form in FORMATS:
        drawn = to_images([chart.figure for chart in charts], form, size, about=one_line(m))
        for number, (chart, content) in enumerate(zip(charts, drawn, strict=True), start=1):
            yield f"images/{number:02d}-{chart.name}.{form}", content


def source_files(m: Material) -> Files:
    """What goes with everything: where it came from, how to cite it, how to make it again."""
    yield "ABOUT.txt", about_text(m).encode()
    yield "citation.bib", bibtex(m).encode()
    yield "recipe.toml", recipe_text(m.run.recipe).encode()


KINDS: dict[str, tuple[str, Callable[[Material], Files]]] = {
    "report": ("the report as HTML", report_files),
    "pdf": ("the report as PDF", pdf_files),
    "slides": ("slides", slide_files),
    "presentation": ("the presentation", presentation_files),
    "tables": ("tables as CSV, Parquet, Stata, Excel and LaTeX", table_files),
    "networks": ("networks as GraphML and GEXF", network_files),
    "images": ("images as PNG and SVG", image_files),
}


def bundle(
    m: Material, kinds: Sequence[str] | None = None, progress: Progress = silent, size: Size | None = None
) -> Files:
    """Files of the kinds asked for (all by default), always with their source; `size` is that of the images."""
    wanted = list(KINDS) if kinds is None else list(kinds)
    for kind in wanted:
        if kind not in KINDS:
            raise TRNNError(f"What to export must be among {', '.join(KINDS)}. Got {kind!r} instead.")
    yield from source_files(m)
    for i, kind in enumerate(wanted):
        words, make = KINDS[kind]
        progress(i, len(wanted), words)
        yield from image_files(m, size) if kind == "images" else make(m)
    progress(len(wanted), len(wanted), "done")


def write_bundle(
    m: Material, folder: Path, kinds: Sequence[str] | None = None, progress: Progress = silent, size: Size | None = None
) -> list[Path]:
    """Write the files into a folder, each whole or not at all."""
    written = []
    for name, content in bundle(m, kinds, progress, size):
        path = Path(folder) / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise explain_os_error(e, path.parent) from e
        write_atomic(path, content, durable=False)
        written.append(path)
    return written


def zip_bundle(m: Material, kinds: Sequence[str] | None = None, progress: Progress = silent) -> bytes:
    """The same as one ZIP file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in bundle(m, kinds, progress):
            archive.writestr(name, content)
    return out.getvalue()
