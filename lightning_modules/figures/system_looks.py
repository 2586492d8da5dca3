"""Legends, and labels at the ends of lines, in the looks of their systems."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any

import altair as alt

from lightning_modules.figures.charts import GREY, Width, data_of, style_of
from lightning_modules.figures.palette import LETTERS, Look, looks_of
from lightning_modules.figures.text_sizes import text_width
from lightning_modules.runs.job import without_authors

BASELINE_DASHES = ((4, 3), (1.5, 2), (6, 2, 1.5, 2))


def baseline_looks(labels: Iterable[str]) -> dict[str, Look]:
    """Return the looks of baselines by their labels: dashed lines in grey, without marks."""
    looks = zip(labels, cycle(BASELINE_DASHES))
    return {label: Look(GREY, "stroke", dash) for label, dash in looks}


def letter_colours(labels: Mapping[str, str], baselines: Iterable[str] = ()) -> dict[str, str]:
    """Return the colours of names by label, given the systems' labels by name."""
    looks = {labels[name]: look for name, look in looks_of(labels).items()}
    looks |= baseline_looks(baselines)
    return {label: LETTERS.get(look.colour, look.colour) for label, look in looks.items()}


AXIS = 4.2  # room of an axis with numbers and a title beside the plot, in sizes of type
LINE_HEIGHT = 1.3  # height of a line of a title, in sizes of type
SYMBOL, GAP = 1.25, 0.75  # room of a symbol of a legend before its label, and between columns
PAGE = 640
"""Width of the plot on a page, nearly."""
ROOMY = 1.15  # how much wider the fonts of browsers may be


def legend_of(
    labels: Sequence[str], width: Width, beside: bool = False, title: str | list[str] = ""
) -> alt.Legend | None:
    """Return a legend in as few rows as the width needs.

    With labels ``beside`` its lines, a figure in a file has a legend in one row or none. ``title``
    is that of the vertical axis, which may have lines.
    """
    style = style_of(width)
    short = short_labels(labels, width)
    shown = [short[label] for label in labels]
    by_columns = {
        columns: legend_width(shown, columns, style.type) for columns in range(1, len(shown) + 1)
    }
    limit = 0.0
    if width == "container":
        columns: int | alt.ExprRef = alt.ExprRef(_chosen(by_columns))
    else:
        lines = 1 if isinstance(title, str) else len(title)
        room = width - (AXIS + LINE_HEIGHT * (lines - 1)) * style.type
        columns = max((n for n, needed in by_columns.items() if needed <= room), default=1)
        limit = room - SYMBOL * style.type
        if beside and columns < len(labels):
            return None
    # symbolOpacity: the band is pale, but its symbol in the legend must not be pale.
    legend = alt.Legend(
        orient="bottom",
        columns=columns,
        symbolOpacity=1,
        symbolLimit=len(labels),  # Vega's own limit is 30
        columnPadding=GAP * style.type,
        labelLimit=limit,
    )
    if shown != list(labels):
        legend.labelExpr = renamed(dict(zip(labels, shown, strict=True)))
    return legend


def renamed(names: Mapping[str, str | list[str]]) -> str:
    """Return the expression of labels that stand for others; a list has their lines."""
    return f"{json.dumps(names)}[datum.label]"


def short_labels(labels: Iterable[str], width: Width) -> dict[str, str]:
    """Return what a figure writes for each label: a narrow one leaves out authors in brackets."""
    return (
        {label: label for label in labels} if style_of(width).labelled else without_authors(labels)
    )


def legend_width(labels: Sequence[str], columns: int, type: float) -> float:
    """Return the width of a legend with as many columns, each as wide as its widest label."""
    widest = [
        max(text_width(label, type) for label in labels[column::columns])
        for column in range(columns)
    ]
    return sum(widest) + type * (SYMBOL * columns + GAP * (columns - 1))


def _chosen(by_columns: dict[int, float]) -> str:
    """Return the most columns that fit the page, as an expression of Vega."""
    chosen = "1"
    for columns, needed in by_columns.items():
        chosen = f"containerSize()[0] >= {ROOMY * needed + 54:.0f} ? {columns} : {chosen}"
    return chosen


CLICK = "Click to bring out this line"
LABEL_GAP = 1.15  # least distance of two labels, as a share of the type
LONGEST_LABEL = 0.45  # of a label beside the lines, as a share of the width of a file
ROOM = "containerSize()[0] >= 600"
"""Whether a page is wide enough for labels beside the plot; a phone shows the legend alone."""


def labels_fit(labels: Collection[str], width: Width) -> bool:
    """Return whether each line can have its label at its end; else the legend names them all."""
    style = style_of(width)
    if not style.labelled or (len(labels) - 1) * LABEL_GAP * style.type > style.height:
        return False
    return width == "container" or _longest(labels, style.type) <= LONGEST_LABEL * width


def plot_room(labels: Collection[str], width: Width) -> float:
    """Return about how wide the plot is, beside its axis and the labels of its lines."""
    if width == "container":
        return PAGE
    style = style_of(width)
    beside = _longest(labels, style.type) + 4 if labels_fit(labels, width) else 0
    return width - AXIS * style.type - beside


def _longest(labels: Iterable[str], type: float) -> float:
    return max((text_width(label, type) for label in labels), default=0)


def end_labels(
    points: Sequence[Mapping[str, Any]],
    colours: Mapping[str, str],
    x: alt.X,
    ends: tuple[float, float],
    width: Width,
    opacity: Any,
    y: str = "score",
) -> list[alt.Chart]:
    """Return layers that write the label of each line beside its last point, right of the plot.

    ``points`` are those of the lines, each line's from left to right; ``y`` is their field on the
    vertical axis, whose least and greatest values are ``ends``. ``colours`` are those of the
    letters by label; ``opacity`` is that of the lines.
    """
    style = style_of(width)
    last: dict[str, Mapping[str, Any]] = {}
    for point in points:
        if not (point.get("thin") and point["system"] in last):
            last[point["system"]] = point
    shown = [each for each in last.values() if ends[0] <= each[y] <= ends[1]]
    if not shown:
        return []
    unit = style.height / (ends[1] - ends[0])
    wanted = [(ends[1] - each[y]) * unit for each in shown]
    places = spread(wanted, LABEL_GAP * style.type, style.height)
    rows = [
        {**each, "at": ends[1] - place / unit, "colour": colours[each["system"]]}
        for each, place in zip(shown, places, strict=True)
    ]
    base = alt.Chart(data_of(rows)).encode(color=alt.Color("colour:N", scale=None), opacity=opacity)
    if width == "container":
        base = base.transform_filter(ROOM)
    leader = base.mark_rule(strokeWidth=0.5 * style.line, strokeDash=[1, 2]).encode(
        x=x, y=alt.Y(f"{y}:Q"), x2=alt.X2Value("width"), y2=alt.Y2("at:Q")
    )
    text = base.mark_text(align="left", dx=3, fontSize=style.type).encode(
        x=alt.XValue("width"), y=alt.Y("at:Q"), text=alt.Text("system:N")
    )
    if width == "container":  # what says nothing cannot be clicked
        text = text.encode(tooltip=alt.TooltipValue(CLICK))
        text.mark.cursor = "pointer"
    return [leader, text]


def spread(wanted: Sequence[float], gap: float, height: float) -> list[float]:
    """Return places near the ``wanted`` ones, at least ``gap`` apart, from 0 to ``height``.

    Where there is no room for all, the gaps are smaller and equal.
    """
    gap = min(gap, height / max(1, len(wanted) - 1))
    order = sorted(range(len(wanted)), key=lambda number: wanted[number])
    # Blocks of touching labels, each at the mean of its places, until no two touch.
    blocks: list[list[int]] = []
    for number in order:
        blocks.append([number])
        while len(blocks) > 1 and _top(blocks[-1], wanted, gap, height) < (
            _top(blocks[-2], wanted, gap, height) + gap * len(blocks[-2])
        ):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    places = [0.0] * len(wanted)
    for block in blocks:
        for row, number in enumerate(block):
            places[number] = _top(block, wanted, gap, height) + row * gap
    return places


def _top(block: Sequence[int], wanted: Sequence[float], gap: float, height: float) -> float:
    """Return the place of the first label of a block, so that the block is centred and inside."""
    centre = sum(wanted[number] for number in block) / len(block)
    length = gap * (len(block) - 1)
    return min(max(0.0, centre - length / 2), height - length)
