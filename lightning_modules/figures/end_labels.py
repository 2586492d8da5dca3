"""Labels of lines at their right ends, none over another."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from lightning_modules.figures.charts import data_of
from lightning_modules.figures.looks import looks_of
from lightning_modules.figures.sizes import Width, style_of

ROOM = "containerSize()[0] >= 600"
"""Whether a page is wide enough for labels beside the plot; a phone shows the legend alone."""


def end_labels(
    points: Sequence[Mapping[str, Any]],
    labels: Mapping[str, str],
    x: alt.X,
    ends: tuple[float, float],
    width: Width,
    y: str = "score",
) -> list[alt.Chart]:
    """Return layers that write the label of each line beside its last point, right of the plot.

    Args:
        points: points of the lines, each line's from left to right.
        labels: labels of the systems by name.
        x: the horizontal axis.
        ends: least and greatest value of the vertical axis.
        width: width of the figure.
        y: field of the points on the vertical axis.
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
    places = spread(wanted, 1.15 * style.type, style.height)
    rows = [
        {**each, "at": ends[1] - place / unit} for each, place in zip(shown, places, strict=True)
    ]
    looks = looks_of(labels)
    scale = alt.Scale(domain=list(labels.values()), range=[looks[name].colour for name in labels])
    base = alt.Chart(data_of(rows)).encode(color=alt.Color("system:N", scale=scale))
    if width == "container":
        base = base.transform_filter(ROOM)
    leader = base.mark_rule(strokeWidth=0.5 * style.line, strokeDash=[1, 2]).encode(
        x=x, y=f"{y}:Q", x2=alt.value("width"), y2="at:Q"
    )
    text = base.mark_text(align="left", dx=3, fontSize=style.type).encode(
        x=alt.value("width"), y="at:Q", text="system:N"
    )
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
