"""Optuna's figures made legible: with long names, many parameters, many trials."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INCHES_PER_AXIS = 1.3
LONGEST_LEGEND = 20
"""Trials that still have a legend of their own."""


def tidy(figure: "Figure") -> None:
    """Give every axis and every label its room."""
    bars = [axes for axes in figure.axes if axes.get_label() == "<colorbar>"]
    others = [axes for axes in figure.axes if axes not in bars]
    for axes in others:
        _tidy_ticks(axes)
        legend = axes.get_legend()
        if legend and len(legend.get_texts()) > LONGEST_LEGEND:
            legend.remove()
    if _are_parallel(others):
        width, height = figure.get_size_inches()
        figure.set_size_inches(max(width, INCHES_PER_AXIS * len(others)), height)
        for label in others[0].get_xticklabels():
            label.set(ha="left", rotation_mode="anchor")
        _move_beside(bars[0], others)


def _tidy_ticks(axes: "Axes") -> None:
    from matplotlib.category import StrCategoryFormatter
    from matplotlib.ticker import LogFormatter

    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log":  # the usual labels are formulas
            axis.set_major_formatter(LogFormatter())
            axis.set_minor_formatter(LogFormatter())
    categories = isinstance(axes.xaxis.get_major_formatter(), StrCategoryFormatter)
    if categories or axes.get_xscale() == "log":
        for label in axes.get_xticklabels(which="both"):
            label.set(ha="right", rotation=30, rotation_mode="anchor")


def _are_parallel(axes: list["Axes"]) -> bool:
    """Whether they stand on top of each other, as those of parallel coordinates do."""
    first, *rest = axes
    return bool(rest) and all(first.get_shared_x_axes().joined(first, each) for each in rest)


def _move_beside(bar: "Axes", axes: list["Axes"]) -> None:
    """Put a colour bar beside the labels of the last axis, not onto them."""
    figure = bar.figure
    boxes = [box for each in axes if (box := each.get_tightbbox())]
    right = figure.transFigure.inverted().transform((max(box.x1 for box in boxes), 0))[0]
    place = bar.get_position()
    bar.set_position((right + 0.02, place.y0, place.width, place.height))
