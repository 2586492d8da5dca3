"""Files of figures for papers: SVG, PNG and PDF, a caption, and a float for LaTeX."""

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import vl_convert
from omegaconf import DictConfig
from pydantic import BaseModel, Field

from datamodules.errors import validated
from datamodules.files import whole_file
from lightning_modules.figures.charts import INCH, WIDE, Chart, Width, as_spec
from lightning_modules.figures.hatches import with_hatches
from lightning_modules.figures.latex import latex_figure

NARROW = "_column"  # end of the name of a figure as wide as a column
ENDINGS = ("svg", "png", "pdf")
CAPTION, FLOAT = "txt", "tex"  # endings of the texts beside a picture
Pictures = Mapping[str, bytes]
"""The files of a picture by their endings; captions are texts beside it."""
PNG_SCALE = 3  # pixels of a PNG for each point


class FigureWidths(BaseModel, extra="forbid"):
    """Widths of figures for papers in inches: ``report.figure_widths``."""

    column: float = Field(ge=2, le=20)  # of one of two columns
    text: float = Field(ge=2, le=20)  # of both columns together

    @classmethod
    def of(cls, config: DictConfig) -> "FigureWidths":
        """Return the widths of a configuration. Raises ``UserError`` for others than numbers."""
        return validated(cls, config.report.figure_widths, "report.figure_widths")

    @property
    def points(self) -> dict[str, Width]:
        """Widths in points, by the end of the name of a figure."""
        return {"": self.text * INCH, NARROW: self.column * INCH}


def save_figures(
    figures: Callable[[Width], Mapping[str, Chart]], widths: FigureWidths, folder: Path
) -> None:
    """Write the files of figures, which are drawn for a width and have names, in both widths."""
    for end, width in widths.points.items():
        for name, chart in figures(width).items():
            save_chart(chart, folder / f"{name}{end}")


def save_chart(chart: Chart, stem: Path) -> None:
    """Write the files of a chart with the name of ``stem``, none of them in part."""
    write_pictures(draw(as_spec(chart), stem.name), stem)


def draw(spec: Mapping[str, Any], name: str) -> Pictures:
    """Draw Vega-Lite as the contents of files; other threads of Python can run meanwhile.

    One unit of the description is one point of 1/72 inch. PDF has its fonts inside. The float for
    LaTeX names the files.
    """
    svg = with_hatches(vl_convert.vegalite_to_svg(dict(spec)))  # one layout for all files
    pdf, png = vl_convert.svg_to_pdf(svg), vl_convert.svg_to_png(svg, scale=PNG_SCALE)
    about, description = spec.get("usermeta", {}), spec.get("description", "")
    caption, width = about.get("caption", ""), about.get("width")
    pictures = {"svg": _in_inches(svg, description).encode(), "png": png, "pdf": pdf}
    if text := "\n\n".join(filter(None, (caption, description))):
        pictures[CAPTION] = f"{text}\n".encode()
    if width is not None:
        share, wide = _drawn_width(svg) / width, width >= WIDE
        pictures[FLOAT] = latex_figure(name, caption, share, wide).encode()
    return pictures


def as_html(chart: Chart) -> str:
    """Draw a chart as an image inside HTML, for a notebook; nothing is loaded from elsewhere."""
    spec = as_spec(chart)
    svg = _in_inches(vl_convert.vegalite_to_svg(spec), "").encode()
    said = escape(spec.get("description", ""))
    return f'<img alt="{said}" src="data:image/svg+xml;base64,{b64encode(svg).decode()}">'


def _drawn_width(svg: str) -> float:
    found = re.search(r'\bwidth="([\d.]+)"', svg)
    assert found
    return float(found[1])


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
