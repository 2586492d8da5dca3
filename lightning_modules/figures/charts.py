"""Files of figures for print and screen."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert
from altair.utils.schemapi import debug_mode

from datamodules.files import whole_file

Chart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.ConcatChart
ENDINGS = ("svg", "png", "pdf")
Pictures = tuple[bytes, bytes, bytes]
"""A picture as the contents of files with these endings."""
PNG_SCALE = 2


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
    """Write ``stem.svg``, ``stem.png`` (at double size) and ``stem.pdf``, none of them in part."""
    write_pictures(draw(as_spec(chart)), stem)


def draw(spec: Mapping[str, Any]) -> Pictures:
    """Draw Vega-Lite as the contents of files; other threads of Python can run meanwhile."""
    svg = vl_convert.vegalite_to_svg(dict(spec))  # one layout for all three files
    return svg.encode(), vl_convert.svg_to_png(svg, scale=PNG_SCALE), vl_convert.svg_to_pdf(svg)


def write_pictures(pictures: Pictures, stem: Path) -> None:
    """Write a picture as files with the name of ``stem`` and their endings."""
    for ending, content in zip(ENDINGS, pictures, strict=True):
        with whole_file(stem.with_name(f"{stem.name}.{ending}")) as temporary:
            temporary.write_bytes(content)
