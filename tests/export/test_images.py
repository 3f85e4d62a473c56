"""Images at publication size, opened by readers that did not make them."""

from __future__ import annotations

import io

import pytest
from lxml import etree
from PIL import Image

from tests.export.conftest import NASTY
from trnn_core.errors import TRNNError
from trnn_core.export.citation import one_line
from trnn_core.export.images import Size, to_images
from trnn_core.export.material import Material
from trnn_core.export.pictures import expected_heatmap, expected_network

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.browser
def test_png_has_its_width_on_paper_and_says_where_it_came_from(material: Material) -> None:
    size = Size(width_mm=90, dpi=600)
    chart = expected_heatmap(material, 0)
    content = to_images([chart.figure], "png", size, about=one_line(material))[0]
    with Image.open(io.BytesIO(content)) as image:
        image.load()
        assert abs(image.width / image.info["dpi"][0] * 25.4 - 90) < 0.2
        assert round(image.info["dpi"][0]) == 600
        assert abs(image.height / image.width - chart.figure.layout.height / size.design_width) < 0.01
        assert image.text["Description"] == one_line(material) and "SIMULATED" in image.text["Description"]
        assert len(image.convert("RGB").getcolors(1 << 24)) > 50  # drawn, not blank
        assert image.convert("RGB").getpixel((1, image.height - 2)) == (255, 255, 255)


@pytest.mark.browser
def test_svg_is_sound_xml_with_names_as_text_and_nothing_that_runs(material: Material) -> None:
    charts = [expected_heatmap(material, 1), expected_network(material, 1)]
    for content in to_images([c.figure for c in charts], "svg", about=one_line(material)):
        root = etree.fromstring(content)
        assert root.get("width") == "180mm" and root.get("viewBox").startswith("0 0 900 ")
        shown = list(root.itertext())
        assert not [
            e
            for e in root.iter()
            if isinstance(e.tag, str) and etree.QName(e).localname in ("script", "foreignObject", "iframe")
        ]
        assert not [a for e in root.iter() for a in e.attrib if a.lower().startswith("on")]
        assert root.findtext(f"{SVG}desc") == one_line(material)
        short = [n if len(n) <= 22 else n[:21] for n in NASTY]
        text = "".join(shown).replace("\xa0", " ")
        assert [n for n in short if n not in text] == []


@pytest.mark.parametrize(
    ("size", "said"),
    [({"width_mm": 5}, "from 20 to 2000 mm"), ({"width_mm": 1000, "dpi": 1200}, "at most 16,000 pixels wide")],
)
def test_an_impossible_size_is_told(size: dict, said: str) -> None:
    with pytest.raises(TRNNError, match=said):
        Size(**size)


def test_an_unknown_format_is_told(material: Material) -> None:
    with pytest.raises(TRNNError, match=r"must be png or svg. Got 'gif' instead"):
        to_images([], "gif")  # type: ignore[arg-type]


def test_no_figures_need_no_browser(no_browser) -> None:
    assert to_images([], "png") == []
