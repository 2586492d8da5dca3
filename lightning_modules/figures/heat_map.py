"""Heat maps of attention weights."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import altair as alt
import vl_convert

from lightning_modules.figures.charts import PNG_SCALE, as_spec, data_of
from lightning_modules.runs.schema import SentenceAttention

BLUES = ["#ffffff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"]
CELL = 20
"""Side of the cell of one weight, in pixels."""
FAR = 20
"""Number of words from which on the axis labels are repeated on the opposite sides."""
Map = alt.Chart | alt.LayerChart


def attention_map(attention: SentenceAttention, title: str | None = None) -> Map:
    """Draw word weights (0 to 1), with source words at the top and target words at the left."""
    columns, rows = positions(attention.source_words), positions(attention.target_words)
    cells = [
        {"source": column, "target": row, "weight": weight}
        for row, weights in zip(rows, attention.weights, strict=False)
        for column, weight in zip(columns, weights, strict=False)
    ]
    weights = (
        alt.Chart(data_of(cells))
        .mark_rect(stroke="#e4e4e4", strokeWidth=0.5)
        .encode(
            x=_words("source", columns, "top"),
            y=_words("target", rows, "left"),
            color=alt.Color(
                "weight:Q",
                title="weight",
                scale=alt.Scale(domain=[0, 0.25, 0.5, 0.75, 1], range=BLUES, interpolate="rgb"),
                legend=alt.Legend(orient="bottom", gradientLength=120),
            ),
            tooltip=["source:N", "target:N", alt.Tooltip("weight:Q", format=".3f")],
        )
    )
    chart: Map = weights
    if max(len(rows), len(columns)) >= FAR:
        invisible = alt.Chart(data_of(cells[:1])).mark_rect(opacity=0)
        opposite = invisible.encode(
            x=_words("source", columns, "bottom"), y=_words("target", rows, "right")
        )
        chart = alt.layer(opposite, weights).resolve_axis(x="independent", y="independent")
    if title is not None:
        chart = chart.properties(title=alt.TitleParams(title, anchor="start", frame="group"))
    return chart.properties(width=alt.Step(CELL), height=alt.Step(CELL)).configure_axis(
        ticks=False, domain=False
    )


@contextmanager
def attention_picture(attention: SentenceAttention) -> Iterator[Path]:
    """Yield a PNG file of the heat map, at double size; it is removed with the context."""
    with TemporaryDirectory() as folder:
        picture = Path(folder) / "attention.png"
        spec = as_spec(attention_map(attention))
        picture.write_bytes(vl_convert.vegalite_to_png(spec, scale=PNG_SCALE))
        yield picture


def positions(words: Sequence[str]) -> list[str]:
    """Return the words of a sentence with their positions, as distinct rows or columns of a map."""
    return [f"{position} {word}" for position, word in enumerate(words)]


def _words(field: str, words: list[str], orient: Literal["top", "bottom", "left", "right"]) -> Any:
    """Return an axis whose labels are the words without the positions that make them distinct."""
    channel = alt.X if orient in ("top", "bottom") else alt.Y
    axis = alt.Axis(
        orient=orient,
        labelExpr="slice(datum.label, indexof(datum.label, ' ') + 1)",
        labelAngle={"top": -60, "bottom": 60}.get(orient, 0),
        labelOverlap=False,
    )
    return channel(f"{field}:O", sort=words, title=None, axis=axis)
