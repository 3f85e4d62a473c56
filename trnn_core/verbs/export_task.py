"""The task kind "export": a run as PDF, slides, presentation or all files at once, made beside the page that asks.

Stopping is heard at every step told and, while a browser prints or draws, several times a second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from trnn_core import __version__
from trnn_core.export.blocks import Progress
from trnn_core.export.browser import while_waiting
from trnn_core.export.bundle import zip_bundle
from trnn_core.export.html_report import pdf_report
from trnn_core.export.material import Material, gather
from trnn_core.export.presentation import presentation
from trnn_core.export.slides import slides
from trnn_core.jobs.process import JobContext
from trnn_core.jobs.requests import sweep
from trnn_core.runs import layout
from trnn_core.runs.run import Run

KIND, RESULT = "export", "file"
KEPT = 20  # files of this kind that wait to be saved; a ZIP takes some megabytes
READ = (
    layout.FORECAST,
    layout.SUMMARY,
    layout.BACKTEST_SCORES,
    layout.BACKTEST_ABOUT,
    "backtest.dyads.parquet",
    layout.EXPLANATION,
)


@dataclass(frozen=True)
class Form:
    """A form in which a run can be taken away; `make` is given the material, the sections and where to tell
    progress."""

    make: Callable[[Material, Sequence[str], Progress], bytes]
    ending: str
    mime: str


FORMS = {
    "PDF": Form(pdf_report, "pdf", "application/pdf"),
    "Slides (PPTX)": Form(slides, "pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    "Presentation (HTML)": Form(
        lambda m, names, tell: presentation(m, progress=tell).encode(), "presentation.html", "text/html"
    ),
    "Everything (ZIP)": Form(lambda m, names, tell: zip_bundle(m, progress=tell), "zip", "application/zip"),
}


class Stopped(Exception):
    """The person has asked to stop."""


def arguments_of(run: Run, form: str, sections: Sequence[str]) -> dict[str, Any]:
    """All that determines the file, so that a run that has learnt more is told anew."""
    written = {name: (run.folder / name).stat().st_mtime_ns for name in READ if (run.folder / name).exists()}
    return {
        "form": form,
        "sections": list(sections),
        "name": run.name,
        "written": written,
        "made": date.today().isoformat(),
        "version": __version__,
    }


class Teller:
    """Steps told by a maker as one share: each stage, counted from 0 again, takes half of what is left."""

    def __init__(self, context: JobContext):
        self.context, self.stage, self.last = context, 0, 0.0

    def __call__(self, done: int, total: int, what: str) -> None:
        self.look()
        within = done / max(total, 1)
        self.stage += within < self.last
        self.last = within
        self.context.progress(1 - 0.5**self.stage * (1 - within / 2), what.capitalize())

    def look(self) -> None:
        if self.context.stopping():
            raise Stopped


def run(context: JobContext) -> None:
    asked, tell = context.request, Teller(context)
    context.progress(0.0, "Gathering")
    material = gather(str(context.run_id), context.store, asked["made"])
    try:
        with while_waiting(tell.look):
            content = FORMS[asked["form"]].make(material, asked["sections"], tell)
    except Stopped:
        return
    context.write(RESULT, content)
    sweep(context.store, KIND, most=KEPT)
    context.progress(1.0, f"{len(content):,} bytes.")
