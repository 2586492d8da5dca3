"""Sizes of figures: as wide as the page, or as the columns of a paper with type of 8 points."""

from typing import Literal, NamedTuple

import altair as alt

Width = float | Literal["container"]
"""Width in points of 1/72 inch for a file, or ``container`` for a page that a browser lays out."""
INCH = 72
COLUMN: Width = 3.3 * INCH
"""Width of one of two columns of a paper."""
TEXT: Width = 6.9 * INCH
"""Width of the text of a paper of two columns."""
NARROW = "_column"
"""End of the name of a figure as wide as a column."""
PAPER = {"": TEXT, NARROW: COLUMN}
"""Widths of a figure for papers, by the end of its name."""
WIDE = 5 * INCH
"""Width from which on labels fit beside the lines."""
KEY = 500
"""Size of the keys of dashed lines: long enough for their dashes."""
GREY = "#6b6b6b"
"""Colour of what is no system: rules, baselines, notes."""


class Style(NamedTuple):
    """Sizes of one figure: pixels on the page, points in files."""

    height: float
    """Height of the plot."""
    type: float
    line: float
    mark: float
    """Area of a mark."""
    labelled: bool
    """Whether there is room for labels at the ends of lines."""
    room: float
    """Width that is left for the plot, nearly."""

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
