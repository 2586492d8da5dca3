"""Heat maps of attention weights: source words on top, target words at the left.

The layout is that of Figure 3 of Bahdanau et al. (2015), with gold links outlined. A map fits the
width that it is given: its cells shrink, and where labels would overlap, every other one is left
out.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal
from unicodedata import east_asian_width

import altair as alt
import numpy as np
import vl_convert

from lightning_modules.figures.charts import PNG_SCALE, as_spec, data_of
from lightning_modules.runs.schema import SentenceAttention

BLUES = ["#ffffff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"]
ORANGE = "#d55e00"
CELL = 20
"""Largest side of the cell of one weight, in pixels."""
WIDEST = 960
"""Width in pixels that a map without a given width fits."""
FONT = 11
LONGEST_LABEL = 110
"""Most pixels of a word beside the map; the rest of a longer word is cut off."""


def attention_map(
    attention: SentenceAttention, title: str = "", subtitle: str = "", width: int = WIDEST
) -> alt.LayerChart:
    """Draw word weights (0 to 1) and gold links, at most ``width`` pixels wide."""
    columns, rows = positions(attention.source_words), positions(attention.target_words)
    cells = [
        {"source": column, "target": row, "weight": weight}
        for row, weights in zip(rows, attention.weights, strict=False)
        for column, weight in zip(columns, weights, strict=False)
    ]
    x, y = _words(alt.X, "source", columns, "top"), _words(alt.Y, "target", rows, "left")
    tooltip = ["source:N", "target:N", alt.Tooltip("weight:Q", format=".3f")]
    weights = (
        alt.Chart(data_of(cells))
        .mark_rect(stroke="#e4e4e4", strokeWidth=0.5)
        .encode(x=x, y=y, color=_shades(), tooltip=tooltip)
    )
    side = cell(attention, width)
    layers = [weights]
    if attention.gold:
        links = [{"source": columns[i], "target": rows[j], "link": "gold link"}
                 for i, j in attention.gold]  # fmt: skip
        outline = alt.Chart(data_of(links)).mark_rect(filled=False, strokeWidth=min(2, side / 6))
        layers.append(outline.encode(x=x, y=y, stroke=_outlines()))
    sizes: Mapping[str, Any] = {"width": alt.Step(side), "height": alt.Step(side)}
    named = alt.TitleParams(
        title, subtitle=subtitle, anchor="start", frame="bounds", limit=width, offset=8
    )
    words = described(attention, title, subtitle)
    return (
        alt.layer(*layers)
        .properties(description=words, **sizes, **({"title": named} if title else {}))
        .configure_axis(ticks=False, domain=False)
    )


def described(attention: SentenceAttention, title: str, subtitle: str) -> str:
    """Return a heat map in words: where the most weight of each target word lies."""
    named = ", ".join(filter(None, (title, subtitle)))
    most = [
        f"{target} on {attention.source_words[int(np.argmax(weights))]} ({max(weights):.2f})"
        for target, weights in zip(attention.target_words, attention.weights, strict=False)
    ]
    return f"Attention{' of ' if named else ''}{named}. Most weight: {'; '.join(most)}."


def cell(attention: SentenceAttention, width: int) -> float:
    """Return the side of a cell in pixels, so that the map is at most ``width`` pixels wide."""
    columns = max(1, len(attention.source_words))
    return min(CELL, (width - margin(attention.target_words)) / columns)


def margin(words: Sequence[str]) -> int:
    """Return the pixels at the left of a map in which the target words stand."""
    longest = max((sum(map(_em, word)) for word in words), default=0)
    return min(LONGEST_LABEL, round(FONT * longest)) + 10


def _em(letter: str) -> float:
    """Return about how wide a letter is, as a share of the size of its font."""
    return 1.0 if east_asian_width(letter) in "WF" else 0.6


def _shades() -> alt.Color:
    return alt.Color(
        "weight:Q",
        title="attention weight",
        scale=alt.Scale(domain=[0, 0.25, 0.5, 0.75, 1], range=BLUES, interpolate="rgb"),
        legend=alt.Legend(orient="bottom", gradientLength=120),
    )


def _outlines() -> alt.Stroke:
    legend = alt.Legend(orient="bottom", symbolType="square", symbolStrokeWidth=2)
    scale = alt.Scale(domain=["gold link"], range=[ORANGE])
    return alt.Stroke("link:N", title=None, scale=scale, legend=legend)


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


def _words(channel: Any, field: str, words: list[str], orient: Literal["top", "left"]) -> Any:
    """Return an axis whose labels are the words without the positions that make them distinct."""
    axis = alt.Axis(
        orient=orient,
        labelExpr="slice(datum.label, indexof(datum.label, ' ') + 1)",
        labelAngle=-90 if orient == "top" else 0,
        labelFontSize=FONT,
        labelLimit=LONGEST_LABEL,
        labelOverlap="parity",
    )
    return channel(f"{field}:O", sort=words, title=None, axis=axis)
