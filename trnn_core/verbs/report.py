"""`report RUN`: what a run found, as a file to read, print or present."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from trnn_core.errors import TRNNError
from trnn_core.export.browser import while_waiting
from trnn_core.export.formats import report_endings
from trnn_core.export.material import gather
from trnn_core.export.sections import SECTIONS, choose
from trnn_core.files import write_atomic
from trnn_core.jobs.context import Context
from trnn_core.verbs.common import RunName, counted, store_of
from trnn_core.verbs.request import BaseRequest, Option, Result, Said, commas

HELP = "write a run's report: .html (one file, works offline), .pdf, or .pptx slides"


class Request(BaseRequest):
    run: RunName
    out: Annotated[
        str, Option("the file to write; its ending chooses .html, .pdf or .pptx", metavar="R.html", role="here")
    ]
    sections: Annotated[
        tuple[str, ...] | None,
        Option(
            f"only these, and limits and source always (default: all): {', '.join(SECTIONS)}",
            metavar="A,B,C",
            parse=commas,
        ),
    ] = None


def run(request: Request, context: Context) -> Result:
    out, endings = Path(request.out), report_endings()
    form = endings.get(out.suffix.lower())
    if form is None:
        raise TRNNError(f"A report must end in {', '.join(endings)}. Got {out.name!r} instead.")
    begun = time.monotonic()
    material = gather(request.run, store_of(context))
    progress = counted(context.progress, len(choose(request.sections)) + form.more)
    with while_waiting(context.check):
        content = form.make(material, request.sections, progress)
    write_atomic(out, content)
    seconds = round(time.monotonic() - begun, 2)
    facts = {"out": str(out), "bytes": len(content), "seconds": seconds}
    return Said(f"{out}: {len(content):,} bytes in {seconds} s.", facts)
