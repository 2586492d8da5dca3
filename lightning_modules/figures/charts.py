"""Files of figures for print and screen."""

import re
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert
from altair.utils.schemapi import debug_mode

from datamodules.files import whole_file
from lightning_modules.figures.sizes import INCH

Chart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.ConcatChart
ENDINGS = ("svg", "png", "pdf")
CAPTION = "txt"
"""Ending of the text beside a picture."""
Pictures = Mapping[str, bytes]
"""The files of a picture by their endings; a caption is a text beside it."""
PNG_SCALE = 3
"""Pixels of a PNG for each point."""


def data_of(rows: Iterable[Mapping[str, object]]) -> alt.Data:
    """Return the data of a chart, one mapping for each mark.

    Layers share the data of their chart: Altair copies what a chart holds with every step.
    """
    with debug_mode(False):  # to check every value would take longer than to draw a heat map
        return alt.Data(values=list(rows))


def as_spec(chart: Chart) -> dict[str, Any]:
    """Return the chart as Vega-Lite; Altair checked its parts when they were made."""
    return chart.to_dict(validate=False)


def save_chart(chart: Chart, stem: Path) -> None:
    """Write the files of a chart with the name of ``stem``, none of them in part."""
    write_pictures(draw(as_spec(chart)), stem)


def draw(spec: Mapping[str, Any]) -> Pictures:
    """Draw Vega-Lite as the contents of files; other threads of Python can run meanwhile.

    One unit of the description is one point of 1/72 inch. PDF has its fonts inside.
    """
    svg = vl_convert.vegalite_to_svg(dict(spec))  # one layout for all files
    pdf, png = vl_convert.svg_to_pdf(svg), vl_convert.svg_to_png(svg, scale=PNG_SCALE)
    description = spec.get("description", "")
    texts = (spec.get("usermeta", {}).get("caption", ""), description)
    caption = "\n\n".join(text for text in texts if text)
    pictures = {"svg": _in_inches(svg, description).encode(), "png": png, "pdf": pdf}
    return pictures | ({CAPTION: f"{caption}\n".encode()} if caption else {})


def _in_inches(svg: str, description: str) -> str:
    """Give the root of an SVG its size on paper, and what screen readers say."""
    head, end, rest = svg.partition(">")
    head = re.sub(
        r'\b(width|height)="([\d.]+)"', lambda m: f'{m[1]}="{float(m[2]) / INCH:.4g}in"', head
    )
    said = f' role="img" aria-label="{escape(description)}"' if description else ""
    return f"{head}{said}{end}{rest}"


def write_pictures(pictures: Pictures, stem: Path) -> None:
    """Write a picture as files with the name of ``stem`` and their endings."""
    for ending, content in pictures.items():
        with whole_file(stem.with_name(f"{stem.name}.{ending}")) as temporary:
            temporary.write_bytes(content)
