"""`export RUN`: tables, networks, images, report and slides of a run, as files in a folder.

Asked for by a page, as a job, it makes one file of a form that the Report page offers. Stopping is heard at every step
told and, while a browser prints or draws, several times a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import Field

from trnn_core import __version__
from trnn_core.errors import TRNNError
from trnn_core.export.browser import while_waiting
from trnn_core.export.formats import FORMATS, parts, titles, write_bundle
from trnn_core.export.images import Size
from trnn_core.export.material import gather
from trnn_core.jobs.context import Context
from trnn_core.runs import layout
from trnn_core.runs.run import Run
from trnn_core.verbs.common import RunName, counted, store_of
from trnn_core.verbs.request import BaseRequest, Option, Result, Said, commas

HELP = "write a run's tables, networks, images, report and slides into a folder"
KIND, RESULT = "export", "file"
READ = (
    layout.FORECAST,
    layout.SUMMARY,
    layout.BACKTEST_SCORES,
    layout.BACKTEST_ABOUT,
    layout.BACKTEST_DYADS,
    layout.EXPLANATION,
)
_WHAT = "; ".join(f"{kind}: {FORMATS[kind].words}" for kind in parts())


class Request(BaseRequest):
    """A folder of files of the kinds in `what`, or, for a page, one file.

    form      as the Report page calls it; with `sections`, the run's `name`, when the files that it is told from were
              `written`, the day it is `made` and the `version` of the program it is all that determines the file
    """

    run: RunName
    out: Annotated[str | None, Option("the folder to write into", metavar="DIR", role="here", required=True)] = None
    what: Annotated[
        tuple[str, ...] | None,
        Option(f"only these (default: all). {_WHAT}", metavar="A,B,C", parse=commas, role="here"),
    ] = None
    width_mm: Annotated[float, Option("width of the images on paper (default: 180)", role="here")] = 180.0
    dpi: Annotated[int, Option("resolution of the PNG images (default: 300)", role="here")] = 300
    form: str | None = None
    sections: tuple[str, ...] = ()
    name: str | None = None
    written: dict[str, int] = Field(default_factory=dict)
    made: str | None = None
    version: str | None = None


def request_of(run: Run, form: str, sections: Sequence[str]) -> Request:
    """All that determines the file, so that a run that has learnt more is told anew."""
    return Request(
        run=run.run_id,
        form=form,
        sections=tuple(sections),
        name=run.name,
        written={name: (run.folder / name).stat().st_mtime_ns for name in READ if (run.folder / name).exists()},
        made=date.today().isoformat(),
        version=__version__,
    )


def run(request: Request, context: Context) -> Result:
    if request.form is not None:
        return _run_one(request, context)
    if request.out is None:
        raise TRNNError("An export needs a folder to write into, or a form of one file.")
    size = Size(width_mm=request.width_mm, dpi=request.dpi)
    material = gather(request.run, store_of(context))
    progress = counted(context.progress, len(parts() if request.what is None else request.what))
    with while_waiting(context.check):
        written = write_bundle(material, Path(request.out), request.what, progress, size)
    files = [str(p.relative_to(request.out)) for p in written]
    return Said(f"{len(files)} files in {request.out}.", {"out": request.out, "files": files})


def _run_one(request: Request, context: Context) -> Result:
    """The file, left in the context."""
    form = titles().get(str(request.form))
    if form is None:
        raise TRNNError(f"The form must be one of {', '.join(titles())}. Got {request.form!r} instead.")

    def progress(done: float, message: str) -> None:
        context.check()
        context.progress(0.99 * done, message[:1].upper() + message[1:])

    context.progress(0.0, "Gathering")
    material = gather(request.run, store_of(context), request.made)
    with while_waiting(context.check):
        content = form.make(material, request.sections, progress)
    context.write(RESULT, content)
    words = f"{len(content):,} bytes."
    context.progress(1.0, words)
    return Said(words, {"form": request.form, "bytes": len(content)}, value=content)
