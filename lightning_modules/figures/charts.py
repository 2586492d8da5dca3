"""What all charts have in common: sizes of type and marks, data, captions, what a pointer says."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypeVar

import altair as alt
from altair.utils.schemapi import debug_mode

from lightning_modules.figures.text_sizes import FONT

Width = float | Literal["container"]
"""Width in points of 1/72 inch for a file, or ``container`` for a page that a browser lays out."""
INCH = 72
WIDE = 4.5 * INCH  # width from which on labels fit beside the lines
KEY = 500  # size of the keys of dashed lines: long enough for their dashes
TRAINING = "datum.system + ', seed ' + datum.seed"
"""The name of a training, as ``run_label`` writes it, as an expression of Vega."""
GREY = "#6b6b6b"
"""Colour of what is no system: rules, baselines, notes."""


class Style(NamedTuple):
    """Sizes of one figure: pixels on the page, points in files."""

    height: float  # height of the plot
    type: float
    line: float
    mark: float  # area of a mark
    labelled: bool  # whether there is room for labels at the ends of lines

    @property
    def config(self) -> alt.Config:
        """The sizes as Vega-Lite's defaults; files name their font, so that its sizes are known."""
        on_paper = self.type == 8
        axis = alt.AxisConfig(titleFontSize=self.type, labelFontSize=self.type - 1)
        if on_paper:
            axis = alt.AxisConfig(
                titleFontSize=8,
                titleFontWeight="normal",
                labelFontSize=8,
                tickSize=3,
                labelPadding=2,
            )
        return alt.Config(
            font=FONT if on_paper else alt.Undefined,
            view=alt.ViewConfig(stroke=None),
            axis=axis,
            legend=alt.LegendConfig(
                labelFontSize=self.type, symbolSize=self.mark, offset=self.type / 2
            ),
            title=alt.TitleConfig(
                fontSize=self.type,
                fontWeight="normal" if on_paper else alt.Undefined,
                anchor="start",
                offset=0.75 * self.type,
            ),
            text=alt.MarkConfig(fontSize=self.type),
        )


def style_of(width: Width) -> Style:
    """Return the sizes of a figure of this width."""
    if width == "container":
        return Style(340, 12, 2, 80, True)
    if width < WIDE:
        return Style(130, 8, 1.2, 24, False)
    return Style(190, 8, 1.2, 30, True)


Chart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.ConcatChart
Described = TypeVar("Described", bound=Chart)
Spec = dict[str, Any]
"""A chart as Vega-Lite describes it."""


class SharedData(alt.Data):
    """Data that charts share: Altair copies all that a chart holds with every layer and facet."""

    def __deepcopy__(self, memo: object) -> "SharedData":
        return self


def data_of(rows: Iterable[Mapping[str, object]]) -> SharedData:
    """Return the data of a chart, one mapping for each mark."""
    with debug_mode(False):  # to check every value would take longer than to draw a heat map
        return SharedData(values=list(rows))


def as_spec(chart: Chart) -> Spec:
    """Return the chart as Vega-Lite; Altair checked its parts when they were made.

    Legends stand one below the other. Altair does not know this setting of Vega.
    """
    spec = chart.to_dict(validate=False)
    legend = spec.setdefault("config", {}).setdefault("legend", {})
    legend["layout"] = {"bottom": {"direction": "vertical", "margin": 2}}
    return spec


def described(
    chart: Described, width: Width, note: str, subject: str = "", details: str = ""
) -> Described:
    """Give a chart the caption of its files and a description for screen readers.

    The caption is the ``subject``, a sentence on what is drawn, with the ``note`` on how to read it
    and where the numbers come from. The description is the subject with ``details``, the main
    numbers in words.
    """
    given: dict[str, Any] = {}
    if width != "container":
        given["usermeta"] = {"caption": f"{subject} {note}".strip(), "width": width}
    if description := f"{subject} {details}".strip():
        given["description"] = description
    return with_properties(chart, given)


def with_properties(chart: Described, given: Mapping[str, Any]) -> Described:
    """Give a chart its properties. Altair's ``properties`` would copy all that the chart holds."""
    for name, value in given.items():
        setattr(chart, name, value)
    return chart


def tooltip(*fields: str, numbers: Mapping[str, str]) -> list[alt.Tooltip]:
    """Return what a mark says: the text of fields, then numbers by their fields' titles."""
    return [
        *(alt.Tooltip(f"{field}:N") for field in fields),
        *(alt.Tooltip(f"{key}:Q", title=name, format=".3~f") for key, name in numbers.items()),
    ]


def opacity_by(chosen: alt.Parameter, inside: float, outside: float) -> alt.OpacityValue:
    """Return the opacity of the marks that are chosen, and of the others."""
    either = alt.when(chosen).then(alt.value(inside)).otherwise(alt.value(outside))
    return alt.OpacityValue(**either)


def highlighting(field: str) -> tuple[alt.Parameter, alt.OpacityValue]:
    """Return the choice of a field in the legend, and the opacity that shows the chosen marks."""
    chosen = alt.selection_point(fields=[field], bind="legend")
    return chosen, opacity_by(chosen, 1, 0.15)
