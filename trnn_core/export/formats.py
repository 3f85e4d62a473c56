"""Every form in which a run can be taken away, in one table: for the commands `report` and `export`, the Report page
and its downloads. A new one is a function from the material to the bytes of a file, and one line here."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from trnn_core.errors import TRNNError
from trnn_core.export import graph_files, pictures, sections, sheets
from trnn_core.export.blocks import Table
from trnn_core.export.citation import about_text, bibtex, one_line
from trnn_core.export.html_report import html_report, pdf_report
from trnn_core.export.images import FORMATS as IMAGES
from trnn_core.export.images import Size, to_images
from trnn_core.export.material import Material
from trnn_core.export.presentation import presentation
from trnn_core.export.slides import slides
from trnn_core.export.tables import to_csv
from trnn_core.files import explain_os_error, write_atomic
from trnn_core.jobs.context import Progress, quiet
from trnn_core.training.recipes import recipe_text

Names = Sequence[str] | None
Files = Iterator[tuple[str, bytes]]
ZIP = "application/zip"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"


@dataclass(frozen=True)
class Format:
    """A form of a run, made from its material, the sections wanted (None: all) and where to tell progress.

    ending    of its file, after the run's name; `also` are other endings that mean it
    title     as the Report page offers it; empty: not there
    file      its name in a folder of them all
    sections  whether it is a report, told section by section
    more      steps that it tells after the sections
    files     for a form of many files, what they are; `make` then packs them into one
    """

    words: str
    ending: str
    mime: str
    make: Callable[[Material, Names, Progress], bytes]
    title: str = ""
    file: str = ""
    also: tuple[str, ...] = ()
    sections: bool = False
    more: int = 0
    files: Callable[[Material], Files] | None = None


def _html(m: Material, names: Names, progress: Progress) -> bytes:
    return html_report(m, names, progress).encode()


def _presentation(m: Material, names: Names, progress: Progress) -> bytes:
    return presentation(m, progress=progress).encode()


def _everything(m: Material, names: Names, progress: Progress) -> bytes:
    return zip_bundle(m, progress=progress)


def table_files(m: Material) -> Files:
    """The forecast for R, Stata and Excel, the largest changes for a paper."""
    table = sheets.forecast_table(m)
    yield "tables/forecast.csv", to_csv(table)
    yield "tables/forecast.parquet", sheets.to_parquet(table, m)
    yield "tables/forecast.dta", sheets.to_stata(table, m)
    book = {"forecast": table.drop(columns=["dataset", "run", "licence"])}  # told on the sheet About
    changes = [block for block in sections.changes(m) if isinstance(block, Table)]
    for block in changes:
        name = "largest-falls" if "falls" in block.caption else "largest-rises"
        book[name] = block.frame
        yield f"tables/{name}.tex", sheets.to_latex(block, m, name).encode()
    yield "tables/forecast.xlsx", sheets.to_excel(book, m)


def network_files(m: Material) -> Files:
    for k, action in enumerate(m.forecast.actions):
        name = f"networks/{k + 1}-{pictures.slug(action)}"
        yield f"{name}.graphml", graph_files.static_graphml(m, k)
        yield f"{name}.gexf", graph_files.static_gexf(m, k)
        yield f"{name}-over-time.graphml", graph_files.dynamic_graphml(m, k)
        yield f"{name}-over-time.gexf", graph_files.dynamic_gexf(m, k)


def image_files(m: Material, size: Size | None = None) -> Files:
    charts = pictures.all_charts(m)
    for form in IMAGES:
        drawn = to_images([chart.figure for chart in charts], form, size, about=one_line(m))
        for number, (chart, content) in enumerate(zip(charts, drawn, strict=True), start=1):
            yield f"images/{number:02d}-{chart.name}.{form}", content


def source_files(m: Material) -> Files:
    """What goes with everything: where it came from, how to cite it, how to make it again."""
    yield "ABOUT.txt", about_text(m).encode()
    yield "citation.bib", bibtex(m).encode()
    yield "recipe.toml", recipe_text(m.run.recipe).encode()


def _packed(files: Callable[[Material], Files], words: str, ending: str) -> Format:
    return Format(words, f"{ending}.zip", ZIP, lambda m, names, progress: pack(files(m)), files=files)


EVERYTHING = "everything"
FORMATS: dict[str, Format] = {
    "report": Format(
        "the report as HTML", "html", "text/html", _html, file="report.html", also=("htm",), sections=True
    ),
    "pdf": Format(
        "the report as PDF", "pdf", "application/pdf", pdf_report, "PDF", "report.pdf", sections=True, more=1
    ),
    "slides": Format("slides", "pptx", PPTX, slides, "Slides (PPTX)", "slides.pptx", sections=True, more=2),
    "presentation": Format("the presentation", "presentation.html", "text/html", _presentation, "Presentation (HTML)"),
    "tables": _packed(table_files, "tables as CSV, Parquet, Stata, Excel and LaTeX", "tables"),
    "networks": _packed(network_files, "networks as GraphML and GEXF", "networks"),
    "images": _packed(image_files, "images as PNG and SVG", "images"),
    EVERYTHING: Format("all of them", "zip", ZIP, _everything, "Everything (ZIP)"),
}


def parts() -> list[str]:
    """The forms that `everything` is made of."""
    return [name for name in FORMATS if name != EVERYTHING]


def titles() -> dict[str, Format]:
    """What the Report page offers to make, by the words it is offered under."""
    return {form.title: form for form in FORMATS.values() if form.title}


def report_endings() -> dict[str, Format]:
    """The endings of a report's file, each with the form it means."""
    reports = [form for form in FORMATS.values() if form.sections]
    return {f".{ending}": form for form in reports for ending in (form.ending, *form.also)}


def bundle(m: Material, kinds: Names = None, progress: Progress = quiet, size: Size | None = None) -> Files:
    """Files of the kinds asked for (all by default), always with their source; `size` is that of the images."""
    wanted = parts() if kinds is None else list(kinds)
    for kind in wanted:
        if kind not in parts():
            raise TRNNError(f"What to export must be among {', '.join(parts())}. Got {kind!r} instead.")
    yield from source_files(m)
    for i, kind in enumerate(wanted):
        form = FORMATS[kind]
        progress(i / len(wanted), form.words)
        if form.files is None:
            yield form.file or form.ending, form.make(m, None, quiet)
        else:
            yield from image_files(m, size) if kind == "images" else form.files(m)
    progress(1.0, "done")


def write_bundle(
    m: Material, folder: Path, kinds: Names = None, progress: Progress = quiet, size: Size | None = None
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


def zip_bundle(m: Material, kinds: Names = None, progress: Progress = quiet) -> bytes:
    """The same as one ZIP file."""
    return pack(bundle(m, kinds, progress))


def pack(files: Iterable[tuple[str, bytes]]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return out.getvalue()
