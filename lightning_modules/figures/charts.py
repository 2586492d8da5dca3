"""Files of figures for print and screen."""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any, Literal, NamedTuple

import altair as alt
import vl_convert
from altair.utils.schemapi import debug_mode

from datamodules.files import whole_file

Width = float | Literal["container"]
"""Width in points of 1/72 inch for a file, or ``container`` for a page that a browser lays out."""
INCH = 72
COLUMN: Width = 3.3 * INCH  # width of one of two columns of a paper
TEXT: Width = 6.9 * INCH  # width of the text of a paper of two columns
NARROW = "_column"  # end of the name of a figure as wide as a column
PAPER = {"": TEXT, NARROW: COLUMN}  # widths of a figure for papers, by the end of its name
WIDE = 5 * INCH  # width from which on labels fit beside the lines
KEY = 500  # size of the keys of dashed lines: long enough for their dashes
GREY = "#6b6b6b"
"""Colour of what is no system: rules, baselines, notes."""


class Style(NamedTuple):
    """Sizes of one figure: pixels on the page, points in files."""

    height: float  # height of the plot
    type: float
    line: float
    mark: float  # area of a mark
    labelled: bool  # whether there is room for labels at the ends of lines
    room: float  # width that is left for the plot, nearly

    @property
    def config(self) -> alt.Config:
        """The sizes as Vega-Lite's defaults."""
        axis = alt.AxisConfig(titleFontSize=self.type, labelFontSize=self.type - 1)
        if self.type == 8:
            axis = alt.AxisConfig(titleFontSize=8, labelFontSize=8, tickSize=3, labelPadding=2)
        return alt.Config(
            view=alt.ViewConfig(stroke=None),
            axis=axis,
            legend=alt.LegendConfig(
                labelFontSize=self.type, symbolSize=self.mark, offset=self.type / 2
            ),
            title=alt.TitleConfig(fontSize=self.type, anchor="start", offset=2 * self.type),
            text=alt.MarkConfig(fontSize=self.type),
        )


def style_of(width: Width) -> Style:
    """Return the sizes of a figure of this width."""
    if width == "container":
        return Style(340, 12, 2, 80, True, 640)
    if width < WIDE:
        return Style(130, 8, 1.2, 24, False, width - 36)
    return Style(190, 8, 1.2, 30, True, width - 160)


Chart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.ConcatChart
ENDINGS = ("svg", "png", "pdf")
CAPTION = "txt"  # ending of the text beside a picture
Pictures = Mapping[str, bytes]
"""The files of a picture by their endings; a caption is a text beside it."""
PNG_SCALE = 3  # pixels of a PNG for each point


class SharedData(alt.Data):
    """Data that charts share: Altair copies all that a chart holds with every layer and facet."""

    def __deepcopy__(self, memo: object) -> "SharedData":
        return self


def data_of(rows: Iterable[Mapping[str, object]]) -> SharedData:
    """Return the data of a chart, one mapping for each mark."""
    with debug_mode(False):  # to check every value would take longer than to draw a heat map
        return SharedData(values=list(rows))


def as_spec(chart: Chart) -> dict[str, Any]:
    """Return the chart as Vega-Lite; Altair checked its parts when they were made."""
    return chart.to_dict(validate=False)


def tooltip(*fields: str, numbers: Mapping[str, str]) -> list[alt.Tooltip]:
    """Return what a mark says: the text of fields, then numbers by their fields' titles."""
    return [
        *(alt.Tooltip(f"{field}:N") for field in fields),
        *(alt.Tooltip(f"{key}:Q", title=name, format=".3~f") for key, name in numbers.items()),
    ]


def highlighting(field: str) -> tuple[alt.Parameter, Any]:
    """Return the choice of a field in the legend, and the opacity that shows the chosen marks."""
    chosen = alt.selection_point(fields=[field], bind="legend")
    return chosen, alt.when(chosen).then(alt.value(1)).otherwise(alt.value(0.15))


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


def as_html(chart: Chart) -> str:
    """Draw a chart as an image inside HTML, for a notebook; nothing is loaded from elsewhere."""
    spec = as_spec(chart)
    svg = _in_inches(vl_convert.vegalite_to_svg(spec), "").encode()
    said = escape(spec.get("description", ""))
    return f'<img alt="{said}" src="data:image/svg+xml;base64,{b64encode(svg).decode()}">'


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
