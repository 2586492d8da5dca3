"""Figures as files for print and screen."""

from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from datamodules.files import whole_file

Chart = alt.Chart | alt.LayerChart | alt.FacetChart
ENDINGS = ("svg", "png", "pdf")
PNG_SCALE = 2


def as_spec(chart: Chart) -> dict[str, Any]:
    """The chart as Vega-Lite, which was checked piece by piece when it was put together."""
    return chart.to_dict(validate=False)


def save_chart(chart: Chart, stem: Path) -> None:
    """Write ``stem.svg``, ``stem.png`` (at double size) and ``stem.pdf``, each whole or not."""
    svg = vl_convert.vegalite_to_svg(as_spec(chart))  # laid out once for all three
    made = (
        svg.encode(),
        vl_convert.svg_to_png(svg, scale=PNG_SCALE),
        vl_convert.svg_to_pdf(svg),
    )
    for ending, content in zip(ENDINGS, made, strict=True):
        with whole_file(stem.with_name(f"{stem.name}.{ending}")) as temporary:
            temporary.write_bytes(content)
