"""A thin dashed line that lines of systems are compared with, such as a baseline."""

from collections.abc import Sequence
from typing import Any, Literal

import altair as alt

from lightning_modules.figures.charts import data_of
from lightning_modules.figures.sizes import GREY, Width, style_of


def reference_line(
    name: str, points: Sequence[dict[str, Any]], y_title: str, width: Width
) -> list[alt.Chart]:
    """Return the line and its name, as layers below the lines of systems.

    The name stands where the line is highest: at the bottom of a figure lines run together.

    Args:
        name: what the line is.
        points: its points from left to right: ``place``, ``score``, and ``group`` for readers.
        y_title: what ``score`` is.
        width: width of the figure.
    """
    x, y = alt.X("place:Q"), alt.Y("score:Q")
    style = style_of(width)
    tooltip = [
        alt.Tooltip("name:N"),
        alt.Tooltip("group:N"),
        alt.Tooltip("score:Q", title=y_title, format=".3~f"),
    ]
    line = alt.Chart(data_of([{"name": name, **each} for each in points])).mark_line(
        strokeWidth=style.line / 2, strokeDash=[4, 3], color=GREY, clip=True
    )
    highest = max(points, key=lambda point: point["score"])
    align: Literal["left", "center", "right"] = "center"
    if highest in (points[0], points[-1]):  # the name runs inwards
        align = "left" if highest == points[0] else "right"
    texts = [
        alt.Chart(data_of([highest]))
        .mark_text(text=name, align=align, baseline="bottom", dy=-3, fontSize=style.type, **look)
        .encode(x=x, y=y)
        # White around the letters, where the rule of a training limit crosses them.
        for look in ({"stroke": "white", "strokeWidth": 4, "aria": False}, {"color": GREY})
    ]
    return [line.encode(x=x, y=y, tooltip=tooltip), *texts]
