"""Legends below figures: in one row where the labels fit."""

from collections.abc import Sequence

import altair as alt

from lightning_modules.figures.sizes import Width, style_of

LETTER, SYMBOL, AXIS = 0.54, 2.4, 4.5
"""Shares of the type: width of a letter, of a symbol with its space, of the axis beside a plot."""


def legend_of(labels: Sequence[str], width: Width, beside: bool = False) -> alt.Legend | None:
    """Return a legend in as few rows as the width needs.

    With labels ``beside`` its lines, a figure in a file has a legend in one row or none.
    """
    style = style_of(width)
    by_columns = {
        columns: _width(labels, columns, style.type) for columns in range(1, len(labels) + 1)
    }
    if width == "container":
        columns: int | alt.ExprRef = alt.ExprRef(_chosen(by_columns))
    else:
        columns = max((n for n, needed in by_columns.items() if needed <= width), default=1)
        if beside and columns < len(labels):
            return None
    # symbolOpacity: the band is pale, but its symbol in the legend must not be pale.
    return alt.Legend(
        orient="bottom", columns=columns, symbolOpacity=1, columnPadding=style.type, labelLimit=0
    )


def _width(labels: Sequence[str], columns: int, type: float) -> float:
    """Return the width of a legend with as many columns, each as wide as its widest label."""
    widest = [max(map(len, labels[column::columns])) for column in range(columns)]
    return type * (LETTER * sum(widest) + SYMBOL * columns + AXIS)


def _chosen(by_columns: dict[int, float]) -> str:
    """Return the most columns that fit the page, as an expression of Vega."""
    chosen = "1"
    for columns, needed in by_columns.items():
        chosen = f"containerSize()[0] >= {needed:.0f} ? {columns} : {chosen}"
    return chosen
