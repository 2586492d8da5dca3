"""Attention weights as a picture."""

import altair as alt

from lightning_modules.run_folder import SentenceAttention

BLUES = ["#ffffff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"]
CELL = 20
"""Side of one weight, in pixels."""


def attention_map(attention: SentenceAttention) -> alt.Chart:
    """Heat map of word weights (0 to 1): source words along the top, target words down the side."""
    columns = [f"{i} {word}" for i, word in enumerate(attention.source_words)]
    rows = [f"{j} {word}" for j, word in enumerate(attention.target_words)]
    cells = [
        {"source": column, "target": row, "weight": weight}
        for row, weights in zip(rows, attention.weights, strict=False)
        for column, weight in zip(columns, weights, strict=False)
    ]
    # The position makes equal words distinct; the axis shows the word without it.
    word = "slice(datum.label, indexof(datum.label, ' ') + 1)"
    return (
        alt.Chart(alt.Data(values=cells))
        .mark_rect(stroke="#e4e4e4", strokeWidth=0.5)
        .encode(
            x=alt.X(
                "source:O",
                sort=columns,
                title=None,
                axis=alt.Axis(orient="top", labelExpr=word, labelAngle=-60, labelOverlap=False),
            ),
            y=alt.Y(
                "target:O",
                sort=rows,
                title=None,
                axis=alt.Axis(labelExpr=word, labelOverlap=False),
            ),
            color=alt.Color(
                "weight:Q",
                title="weight",
                scale=alt.Scale(domain=[0, 0.25, 0.5, 0.75, 1], range=BLUES, interpolate="rgb"),
                legend=alt.Legend(orient="bottom", gradientLength=120),
            ),
            tooltip=["source:N", "target:N", alt.Tooltip("weight:Q", format=".3f")],
        )
        .properties(width=alt.Step(CELL), height=alt.Step(CELL))
        .configure_axis(ticks=False, domain=False)
    )
