"""The report: one HTML file that needs nothing else, with charts that answer the mouse; or the same, printed to PDF.

Names from the data stand in it as text only. A content policy lets the browser run the two scripts of the report and no
other, and fetch nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from trnn_core import __version__
from trnn_core.export.blocks import Chart, Section
from trnn_core.export.browser import print_pdf
from trnn_core.export.citation import one_line
from trnn_core.export.images import script_json
from trnn_core.export.material import Material
from trnn_core.export.sections import choose, write_sections
from trnn_core.jobs.context import Progress, quiet, within


def html_report(
    material: Material, sections: Sequence[str] | None = None, progress: Progress = quiet, library: str = ""
) -> str:
    """The report as the text of one HTML file; `sections` chooses among trnn_core.export.sections.SECTIONS.

    library    where a server has the chart library, for a page shown by that server; the file then lacks it, which is
               most of its bytes
    """
    return render(material, write_sections(material, sections, progress), library)


def pdf_report(material: Material, sections: Sequence[str] | None = None, progress: Progress = quiet) -> bytes:
    """The same report on A4."""
    written = len(choose(sections)) / (len(choose(sections)) + 1)  # printing is one more step
    page = html_report(material, sections, within(progress, 0.0, written))
    progress(written, "printing")
    content = print_pdf(page)
    progress(1.0, "printed")
    return content


def render(material: Material, sections: Sequence[Section], library: str = "") -> str:
    template = compile_template("report.html.jinja")
    # Ours, not the reader's data: these three may stand unescaped.
    plotly, draw = "" if library else get_plotlyjs(), read_template("draw.js")
    css = read_template("report.css") + (read_template("simulated.css") if material.simulated else "")
    return template.render(
        title=heading(material),
        subtitle=(
            f"Run {material.run.name} on {material.title}; data up to {material.series.dates[-1]}, report of"
            f" {material.made}"
        ),
        sections=sections,
        simulated=material.simulated,
        footer=one_line(material),
        version=__version__,
        policy=content_policy([text for text in (plotly, draw) if text], _uses_webgl(sections), bool(library)),
        css=Markup(css),
        library=library,
        plotly=Markup(plotly),
        draw=Markup(draw),
        kind_of=lambda block: type(block).__name__,
        chart_json=lambda chart: Markup(script_json(chart.figure.to_json())),
    )


def heading(material: Material) -> str:
    return f"Relations expected for the {material.period} of {material.forecast.dates[0]}"


def content_policy(scripts: Sequence[str], webgl: bool = False, served: bool = False) -> str:
    """Only these scripts, by their hashes, and those of the page's own server where it has one; no connection anywhere.

    WebGL charts compile their shaders' glue code.
    """
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    allowed = (
        ("'self' " if served else "") + " ".join(f"'sha256-{h}'" for h in hashes) + (" 'unsafe-eval'" if webgl else "")
    )
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:;"
        " base-uri 'none'; form-action 'none'"
    )


def _uses_webgl(sections: Sequence[Section]) -> bool:
    charts: list[Chart] = [chart for section in sections for chart in section.charts]
    return any(trace.type.endswith("gl") for chart in charts for trace in chart.figure.data)


def compile_template(name: str) -> Template:
    """Everything put into a template is escaped unless it is marked as ours."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.from_string(read_template(name))


def read_template(name: str) -> str:
    return files("trnn_core.export").joinpath("templates", name).read_text(encoding="utf-8")
