"""A talk from a run: PPTX with titles and tables to edit, figures at full resolution, and the protocol in the notes."""

from __future__ import annotations

import io
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from pptx import Presentation
from pptx.dml.color import RGBColor
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.util import Emu, Inches, Pt

from trnn_core.export import pictures
from trnn_core.export.blocks import Bullets, Chart, Section, Table, Text
from trnn_core.export.citation import about_text, one_line, provenance
from trnn_core.export.graphs import FORBIDDEN
from trnn_core.export.html_report import heading
from trnn_core.export.images import Size, to_images
from trnn_core.export.material import Material
from trnn_core.export.sections import choose, write_sections
from trnn_core.jobs.context import Progress, quiet, within
from trnn_core.training.recipes import recipe_text

WIDE, TALL = Inches(13.333), Inches(7.5)
LEFT, TOP, ROOM, DEEP = Inches(0.6), Inches(1.35), Inches(12.13), Inches(5.3)
INK, FAINT, MARK, ACCENT = (RGBColor.from_string(c) for c in ("1C2733", "5B6B7A", "B45309", "1B5E8C"))
PICTURE = Size(width_mm=308, dpi=160, design_width=1180)  # 1,941 pixels wide
TABLE_ROWS = 10
BULLETS = 6
SKIPPED = ("recipe", "citation")  # told on the last slide and in the notes


@dataclass(frozen=True)
class Slide:
    """What one slide shows: bullets, a table or a chart, under a title."""

    title: str
    content: Bullets | Table | Chart


def slides(material: Material, sections: Sequence[str] | None = None, progress: Progress = quiet) -> bytes:
    """The sections of the report as slides; one browser start draws all their figures."""
    steps = len(choose(sections)) + 2  # drawing and writing are one more step each
    found = write_sections(material, sections, within(progress, 0.0, 1 - 2 / steps))
    plan = [slide for section in found if section.name not in SKIPPED for slide in _plan(section, material)]
    charts = [slide.content for slide in plan if isinstance(slide.content, Chart)]
    progress(1 - 2 / steps, f"drawing {len(charts)} figures")
    # Figures of a slide are as wide as it is, and as tall as is left under the title.
    drawn = [_fitted(chart) for chart in charts]
    images = iter(to_images(drawn, "png", PICTURE, about=one_line(material)))
    progress(1 - 1 / steps, "writing the slides")
    deck = Presentation()
    deck.slide_width, deck.slide_height = WIDE, TALL
    properties = deck.core_properties
    properties.title, properties.author, properties.comments = heading(material), "TRNN Studio", one_line(material)
    _opening(deck, material)
    for slide in plan:
        _add(deck, material, slide, images)
    _closing(deck, material)
    out = io.BytesIO()
    deck.save(out)
    progress(1.0, "done")
    return out.getvalue()


def _plan(section: Section, material: Material) -> list[Slide]:
    """Long texts become bullets, the rest one slide each."""
    said: list[str] = []
    plan: list[Slide] = []
    for block in section.blocks:
        if isinstance(block, Text) and block.tone != "note":
            said.append(block.text)
        elif isinstance(block, Bullets):
            said += block.items
        elif isinstance(block, Table):
            plan.append(Slide(block.caption.rstrip("."), block))
        elif isinstance(block, Chart):
            plan.append(Slide(_title_of(block), block))
    if section.name == "forecast":
        plan += [
            Slide(_title_of(c), c)
            for c in (pictures.change_network(material, k) for k in range(len(material.forecast.actions)))
        ]
        said = []
    size = math.ceil(len(said) / max(1, math.ceil(len(said) / BULLETS)))  # no slide with a lonely last point
    pages = [tuple(said[i : i + size]) for i in range(0, len(said), size)] if said else []
    return [Slide(section.title, Bullets(page)) for page in pages] + plan


def _title_of(chart: Chart) -> str:
    """The chart's own title, as text."""
    text = str(chart.figure.layout.title.text or chart.alt).replace("<b>", "").replace("</b>", "")
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _fitted(chart: Chart):
    """The slide has the title; the figure keeps its subtitle, which says when and whether it is simulated."""
    figure = type(chart.figure)(chart.figure)
    square = any(trace.type == "heatmap" for trace in figure.data)
    wide, tall = (960, 640) if square else (PICTURE.design_width, round(PICTURE.design_width * DEEP / ROOM))
    figure.update_layout(width=wide, height=tall, title={"text": " "})
    return figure


def _add(deck, material: Material, slide: Slide, images) -> None:
    page = _page(deck, material, slide.title)
    content = slide.content
    if isinstance(content, Chart):
        picture = next(images)
        wide, tall = struct.unpack(">II", picture[16:24])  # of a PNG's first chunk
        scale = min(ROOM / wide, DEEP / tall)
        shape = page.shapes.add_picture(
            io.BytesIO(picture),
            Emu(round(LEFT + (ROOM - wide * scale) / 2)),
            TOP,
            Emu(round(wide * scale)),
            Emu(round(tall * scale)),
        )
        shape._element.nvPicPr.cNvPr.set("descr", clean(content.alt))  # read out to those who do not see it
    elif isinstance(content, Table):
        _table(page, content)
    else:
        _bullets(page, content)


def _opening(deck, material: Material) -> None:
    page = _page(deck, material, heading(material))
    title = page.shapes.title
    title.top, title.height, title.width = Inches(2.1), Inches(1.4), ROOM
    title.text_frame.paragraphs[0].runs[0].font.size = Pt(40)
    series = material.series
    words = f"{material.title}: {len(series.actors)} actors, {len(series):,} {series.period}s up to {series.dates[-1]}"
    under = page.shapes.add_textbox(LEFT, Inches(3.6), ROOM, Inches(0.8))
    _write(under.text_frame, f"{words}. Run {material.run.name}, {material.made}.", 20, FAINT)


def _closing(deck, material: Material) -> None:
    page = _page(
        deck, material, "Source, licence and citation", notes=f"recipe.toml\n\n{recipe_text(material.run.recipe)}"
    )
    cite = (
        "Cite: Bai, Zhang and Gao (2017), Tensorial Recurrent Neural Networks for Longitudinal Data Analysis,"
        " arXiv:1708.00185; and TRNN Studio. BibTeX and recipe are in the notes."
    )
    _bullets(page, Bullets((*provenance(material), cite)))


def _page(deck, material: Material, title: str, notes: str = ""):
    """An empty slide with title, simulated mark, footer and notes."""
    page = deck.slides.add_slide(deck.slide_layouts[5])
    box = page.shapes.title
    box.left, box.top, box.width, box.height = LEFT, Inches(0.35), Inches(9.7), Inches(0.9)
    _write(box.text_frame, title, 26, INK, bold=True)
    box.text_frame.vertical_anchor = MSO_ANCHOR.MIDDLE
    if material.simulated:
        mark = page.shapes.add_textbox(Inches(10.3), Inches(0.35), Inches(2.5), Inches(0.4))
        _write(mark.text_frame, "SIMULATED DATA", 14, MARK, bold=True, align=PP_ALIGN.RIGHT)
    foot = page.shapes.add_textbox(LEFT, Inches(6.95), ROOM, Inches(0.4))
    _write(foot.text_frame, one_line(material), 10, FAINT)
    page.notes_slide.notes_text_frame.text = clean("\n\n".join([_notes(material), notes]).strip())
    return page


def _notes(material: Material) -> str:
    protocol = material.backtest.protocol if material.backtest else "No backtest is stored with this run."
    test = material.summary.get("test") or {}
    scored = (
        f"Test: {test['n_origins']} {material.period}s, MSE {test['mse']:.5f} ({test['scale']}), that of repeating the"
        f" last {material.period} {test['mse_persistence']:.5f}."
        if test
        else "Not scored on test periods."
    )
    return f"Protocol. {protocol} {scored}\n\n{about_text(material)}"


def _bullets(page, content: Bullets) -> None:
    box = page.shapes.add_textbox(LEFT, TOP, ROOM, DEEP)
    frame = box.text_frame
    frame.word_wrap = True
    size = 20 if sum(map(len, content.items)) < 600 else 16
    for i, item in enumerate(content.items):
        paragraph = frame.paragraphs[0] if i == 0 else frame.add_paragraph()
        run = paragraph.add_run()
        run.text = clean(f"•  {item}")
        run.font.size, run.font.color.rgb = Pt(size), INK
        paragraph.space_after = Pt(10)


def _table(page, content: Table) -> None:
    """A native table: every cell can be edited."""
    rows = list(islice(content.cells(), TABLE_ROWS))
    names = list(content.frame.columns)
    shape = page.shapes.add_table(len(rows) + 1, len(names), LEFT, TOP, ROOM, Inches(0.42) * (len(rows) + 1))
    for j, name in enumerate(names):
        _cell(shape.table.cell(0, j), str(name), bool(rows) and rows[0][j][1], header=True)
        for i, row in enumerate(rows, start=1):
            _cell(shape.table.cell(i, j), *row[j])
    lengths = [max(len(str(n)), *(len(r[j][0]) for r in rows), 10) if rows else 10 for j, n in enumerate(names)]
    for j, length in enumerate(lengths):
        shape.table.columns[j].width = Emu(round(ROOM * length / sum(lengths)))


def _cell(cell, text: str, figure: bool, header: bool = False) -> None:
    colour = RGBColor(255, 255, 255) if header else INK
    _write(cell.text_frame, text, 14, colour, bold=header, align=PP_ALIGN.RIGHT if figure else PP_ALIGN.LEFT)
    if header:
        cell.fill.solid()
        cell.fill.fore_color.rgb = ACCENT


def _write(frame, text: str, size: int, colour: RGBColor, *, bold: bool = False, align=PP_ALIGN.LEFT) -> None:
    frame.word_wrap = True
    paragraph = frame.paragraphs[0]
    paragraph.alignment = align
    run = paragraph.add_run()
    run.text = clean(text)
    run.font.size, run.font.bold, run.font.color.rgb = Pt(size), bold, colour


def clean(text: str) -> str:
    """Text without the characters an XML file may not hold; line ends stay.

    >>> clean("a\\x00b")
    'a\ufffdb'
    """
    return FORBIDDEN.sub("\ufffd", text)
