"""Charts as PNG and SVG at the size and resolution journals ask for, drawn by plotly itself in a windowless
Chromium."""

from __future__ import annotations

import base64
import json
import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from trnn_core.errors import TRNNError
from trnn_core.export.browser import run_page

Format = Literal["png", "svg"]
FORMATS: tuple[Format, ...] = ("png", "svg")
CSS_DPI = 96  # pixels per inch of a chart's own measures
MAX_SIDE = 16_000  # pixels; beyond this a browser draws nothing

_DRAW = """
(async () => {
  const jobs = JSON.parse(document.getElementById("jobs").textContent), out = [];
  for (const job of jobs) {
    try { out.push(await Plotly.toImage(job.figure, job.options)); }
    catch (e) { out.push("error:" + e); }
  }
  const pre = document.createElement("pre");
  pre.id = "images";
  pre.textContent = JSON.stringify(out.map(encodeURIComponent));
  document.body.replaceChildren(pre);
})();
"""


@dataclass(frozen=True)
class Size:
    """A width on paper and a resolution; charts keep their own height in proportion."""

    width_mm: float = 180.0
    dpi: int = 300
    design_width: int = 900  # the width in pixels at which the chart is laid out

    def __post_init__(self) -> None:
        if not 20 <= self.width_mm <= 2000:
            raise TRNNError(f"The width must be from 20 to 2000 mm. Got {self.width_mm:g} instead.")
        if not 30 <= self.dpi <= 2400 or self.pixels > MAX_SIDE:
            raise TRNNError(
                f"The resolution must be from 30 to 2400 dpi and the image at most {MAX_SIDE:,} pixels wide. Got"
                f" {self.dpi} dpi, {self.pixels:,} pixels instead."
            )

    @property
    def pixels(self) -> int:
        return math.ceil(self.width_mm / 25.4 * self.dpi)


def to_images(
    figures: Sequence[go.Figure], format: Format = "png", size: Size | None = None, *, about: str = ""
) -> list[bytes]:
    """All figures with one start of the browser; `about` is written into each file as its description."""
    if format not in FORMATS:
        raise TRNNError(f"An image must be {' or '.join(FORMATS)}. Got {format!r} instead.")
    if not figures:
        return []
    size = size or Size()
    jobs = [_job(figure, format, size) for figure in figures]
    page = (
        "<!doctype html><meta charset='utf-8'><body>"
        f"<script type='application/json' id='jobs'>{script_json(jobs)}</script>"
        f"<script>{get_plotlyjs()}</script><script>{_DRAW}</script>"
    )
    found = [unquote_to_bytes(text) for text in json.loads(run_page(page, "images"))]
    finish = _finish_png if format == "png" else _finish_svg
    return [finish(_decode(uri), size, about) for uri in found]


def _job(figure: go.Figure, format: Format, size: Size) -> dict[str, object]:
    chart = json.loads(figure.to_json())
    chart["layout"].update(paper_bgcolor="#ffffff", plot_bgcolor="#ffffff")
    height, width = int(chart["layout"].get("height") or 500), int(chart["layout"].get("width") or size.design_width)
    scale = size.pixels / size.design_width if format == "png" else 1
    return {
        "figure": {"data": chart["data"], "layout": chart["layout"]},
        "options": {"format": format, "width": width, "height": height, "scale": scale},
    }


def script_json(value: object) -> str:
    """JSON that can stand inside a script element: nothing in it can end the element or begin another.

    >>> script_json("</script><script>")
    '"\\\\u003c/script\\\\u003e\\\\u003cscript\\\\u003e"'
    """
    text = value if isinstance(value, str) and value.startswith("{") else json.dumps(value)
    for bad, good in (
        ("&", "\\u0026"),
        ("<", "\\u003c"),
        (">", "\\u003e"),
        ("\u2028", "\\u2028"),
        ("\u2029", "\\u2029"),
    ):
        text = text.replace(bad, good)
    return text


def _decode(uri: bytes) -> bytes:
    head, _, body = uri.partition(b",")
    if not head.startswith(b"data:image/"):
        raise TRNNError(f"The browser could not draw a chart: {uri[:200].decode(errors='replace')}.")
    return base64.b64decode(body) if head.endswith(b";base64") else unquote_to_bytes(body)


def _finish_png(content: bytes, size: Size, about: str) -> bytes:
    """Say the resolution, so that the picture has its width on paper, and where it came from; pixels stay untouched."""
    head = 8 + 25  # signature and IHDR
    if content[:8] != b"\x89PNG\r\n\x1a\n" or content[12:16] != b"IHDR":
        raise TRNNError("The browser drew something other than a PNG image; name another Chromium with TRNN_BROWSER.")
    per_metre = round(size.dpi / 0.0254)
    chunks = _chunk(b"pHYs", struct.pack(">IIB", per_metre, per_metre, 1))
    if about:
        chunks += _chunk(b"iTXt", b"Description\0\0\0\0\0" + about.encode())
    return content[:head] + chunks + content[head:]


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _finish_svg(content: bytes, size: Size, about: str) -> bytes:
    ElementTree.register_namespace("", "http://www.w3.org/2000/svg")
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    root = ElementTree.fromstring(content)
    wide, tall = float(root.get("width", "1")), float(root.get("height", "1"))
    root.set("viewBox", f"0 0 {wide:g} {tall:g}")
    root.set("width", f"{size.width_mm:g}mm")
    root.set("height", f"{size.width_mm * tall / wide:.2f}mm")
    if about:
        note = ElementTree.Element("{http://www.w3.org/2000/svg}desc")
        note.text = about
        root.insert(0, note)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
