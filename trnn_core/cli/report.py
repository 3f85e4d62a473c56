"""`report RUN`: what a run found, as a file to read, print or present."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from trnn_core.cli.train import add_store
from trnn_core.errors import TRNNError
from trnn_core.export.blocks import Progress
from trnn_core.export.html_report import html_report, pdf_report
from trnn_core.export.material import Material, gather
from trnn_core.export.sections import SECTIONS
from trnn_core.export.slides import slides
from trnn_core.files import write_atomic
from trnn_core.runs.store import RunStore

HELP = "write a run's report: .html (one file, works offline), .pdf, or .pptx slides"


def _html(m: Material, sections: Sequence[str] | None, progress: Progress) -> bytes:
    return html_report(m, sections, progress).encode()


FORMS: dict[str, Callable[[Material, Sequence[str] | None, Progress], bytes]] = {
    ".html": _html,
    ".htm": _html,
    ".pdf": pdf_report,
    ".pptx": slides,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="RUN")
    parser.add_argument(
        "--out", metavar="R.html", required=True, help="the file to write; its ending chooses .html, .pdf or .pptx"
    )
    parser.add_argument(
        "--sections",
        metavar="A,B,C",
        help=f"only these, and limits and source always (default: all): {', '.join(SECTIONS)}",
    )
    add_store(parser)
    parser.add_argument("--json", action="store_true", help="for machines")


def run(args: argparse.Namespace) -> int:
    out = Path(args.out)
    form = FORMS.get(out.suffix.lower())
    if form is None:
        raise TRNNError(f"A report must end in {', '.join(FORMS)}. Got {out.name!r} instead.")
    chosen = [name.strip() for name in args.sections.split(",") if name.strip()] if args.sections else None
    begun = time.monotonic()
    content = form(gather(args.name, RunStore(args.runs)), chosen, teller(args.json))
    write_atomic(out, content)
    told = {"out": str(out), "bytes": len(content), "seconds": round(time.monotonic() - begun, 2)}
    print(json.dumps(told) if args.json else f"{out}: {len(content):,} bytes in {told['seconds']} s.")
    return 0


def teller(quiet: bool) -> Progress:
    """Progress on stderr: one line kept up to date on a terminal, a line per step where it is piped."""
    live = sys.stderr.isatty()

    def tell(done: int, total: int, what: str) -> None:
        if not quiet:
            words = f"[{done}/{total}] {what}"
            print(
                f"\r{words:<70}" if live else words,
                end="" if live and done < total else "\n",
                file=sys.stderr,
                flush=True,
            )

    return tell
