"""Heat maps of attention weights: source words on top, target words at the left.

The layout is that of Figure 3 of Bahdanau et al. (2015), with gold links outlined. A map fits the
width that it is given: its cells shrink, and where labels would overlap, every other one is left
out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from string import ascii_lowercase
from typing import Any, Literal, TypeVar

import altair as alt
import numpy as np
import vl_convert
from PIL import Image

from lightning_modules.figures.charts import WIDE, Width, as_spec, data_of, described, style_of
from lightning_modules.figures.text_sizes import FONT, text_width
from lightning_modules.runs.schema import SentenceAttention

BLUES = ["#ffffff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"]
ORANGE = "#d55e00"
PNG_SCALE = 2  # pixels of a picture for each point
PICTURE = 500.0  # width of a picture for a tracker, in points
CELL = 1.8  # largest side of the cell of one weight, in sizes of type
LONGEST_LABEL = 10
"""Most room for a word beside the map, in sizes of type; the rest of a longer word is cut off."""
EDGE = 2  # room for the lines around a map
GAP = 16  # room between two panels, in points
HOW_TO_READ = (
    "Attention weights. Rows: words of the translation; columns: words of the source. The darker a "
    "cell, the more of the row's attention lies on its column"
)


@dataclass(frozen=True)
class Panel:
    """One heat map of a figure."""

    attention: SentenceAttention
    title: str
    subtitle: str
    chosen: str = ""  # which sentence it is, and why it is shown


def attention_map(
    attention: SentenceAttention, title: str = "", subtitle: str = "", width: Width = PICTURE
) -> alt.LayerChart:
    """Draw word weights (0 to 1) and gold links, at most ``width`` wide.

    A page fits the map, drawn for ``container``, into its place.
    """
    labels = label_room(attention.target_words, width)
    drawn = _map(Panel(attention, title, subtitle), width, cell_size(attention, width, labels))
    return _finished(drawn, width, bool(attention.gold), [])


def attention_panels(panels: Sequence[Panel], width: Width) -> alt.ConcatChart:
    """Draw maps with letters, with one key: four in two columns, or two in a narrow column."""
    columns = 1 if float(width) < WIDE else 2
    room = (float(width) - GAP * (columns - 1)) / columns
    panels = panels[: 2 * columns]
    labels = max(label_room(panel.attention.target_words, room) for panel in panels)
    side = min(cell_size(panel.attention, room, labels) for panel in panels)
    drawn = [
        _map(replace(panel, title=f"({letter}) {panel.title}"), room, side)
        for letter, panel in zip(ascii_lowercase, panels, strict=False)
    ]
    chart = alt.concat(*drawn, columns=columns, spacing=GAP).resolve_scale(
        color="shared", stroke="shared"
    )
    said = " ".join(chart.description for chart in drawn)
    gold_links = any(panel.attention.gold for panel in panels)
    chosen = dict.fromkeys(panel.chosen for panel in panels if panel.chosen)
    return _finished(chart.properties(description=said), width, gold_links, [*chosen])


Drawn = TypeVar("Drawn", alt.LayerChart, alt.ConcatChart)


def _finished(chart: Drawn, width: Width, gold_links: bool, chosen: Sequence[str]) -> Drawn:
    how = f"{HOW_TO_READ}{'; outlines: gold links' if gold_links else ''}"
    note = "".join(f"{each}. " for each in (how, *chosen)).strip()
    given = described(chart, width, note, details=chart.description)
    axis = alt.AxisConfig(ticks=False, domain=False)
    if width == "container":
        return given.configure(axis=axis)
    return given.configure(font=FONT, axis=axis).properties(padding=0)


def _map(panel: Panel, width: Width, side: float) -> alt.LayerChart:
    attention, type_size = panel.attention, font_size(width)
    columns, rows = numbered_words(attention.source_words), numbered_words(attention.target_words)
    cells = [
        {"source": column, "target": row, "weight": weight}
        for row, weights in zip(rows, attention.weights, strict=False)
        for column, weight in zip(columns, weights, strict=False)
    ]
    x = _words(alt.X, "source", columns, "top", type_size)
    y = _words(alt.Y, "target", rows, "left", type_size)
    tooltip = [
        alt.Tooltip("source:N"),
        alt.Tooltip("target:N"),
        alt.Tooltip("weight:Q", format=".3f"),
    ]
    weights = (
        alt.Chart(data_of(cells))
        .mark_rect(stroke="#e4e4e4", strokeWidth=0.5)
        .encode(x=x, y=y, color=_shades(type_size), tooltip=tooltip)
    )
    layers = [weights]
    if attention.gold:
        links = [
            {"source": columns[i], "target": rows[j], "link": "gold link"}
            for i, j in attention.gold
        ]
        outline = alt.Chart(data_of(links)).mark_rect(filled=False, strokeWidth=min(2, side / 6))
        layers.append(outline.encode(x=x, y=y, stroke=_outlines(type_size)))
    given: dict[str, Any] = {"width": alt.Step(side), "height": alt.Step(side)}
    if panel.title:
        given["title"] = alt.TitleParams(
            panel.title, subtitle=panel.subtitle, anchor="start", frame="bounds", offset=8,
            limit=alt.Undefined if width == "container" else float(width) - EDGE,
            fontSize=type_size + 1, subtitleFontSize=type_size,
        )  # fmt: skip
    description = alt_text(attention, panel.title, panel.subtitle)
    drawn: Any = alt.layer(*layers).properties(description=description, **given)
    return drawn


def font_size(width: Width) -> float:
    """Return the size of the type of a map: that of the labels of all figures."""
    return style_of(width).type - (width == "container")


def alt_text(attention: SentenceAttention, title: str, subtitle: str) -> str:
    """Return a heat map in words: where the most weight of each target word lies."""
    named = ", ".join(filter(None, (title, subtitle)))
    most = [
        f"{target} on {attention.source_words[int(np.argmax(weights))]} ({max(weights):.2f})"
        for target, weights in zip(attention.target_words, attention.weights, strict=False)
    ]
    return f"Attention{' of ' if named else ''}{named}. Most weight: {'; '.join(most)}."


def cell_size(attention: SentenceAttention, width: Width, labels: float) -> float:
    """Return the side of a cell, so that map and ``labels`` are at most ``width`` wide."""
    largest = CELL * font_size(width)
    if width == "container":
        return largest
    columns = max(1, len(attention.source_words))
    return min(largest, (width - EDGE - labels) / columns)


def label_room(words: Sequence[str], width: Width) -> float:
    """Return the room at the left of a map in which the target words stand."""
    longest = max((text_width(word, 1) for word in words), default=0)
    return font_size(width) * (min(LONGEST_LABEL, longest) + 1)


def _shades(type_size: float) -> alt.Color:
    return alt.Color(
        "weight:Q",
        title="attention weight",
        scale=alt.Scale(domain=[0, 0.25, 0.5, 0.75, 1], range=BLUES, interpolate="rgb"),
        legend=alt.Legend(
            orient="bottom", gradientLength=100, titleFontSize=type_size, labelFontSize=type_size
        ),
    )


def _outlines(type_size: float) -> alt.Stroke:
    legend = alt.Legend(
        orient="bottom", symbolType="square", symbolStrokeWidth=2, labelFontSize=type_size
    )
    scale = alt.Scale(domain=["gold link"], range=[ORANGE])
    return alt.Stroke("link:N", title=None, scale=scale, legend=legend)


def attention_picture(attention: SentenceAttention) -> Image.Image:
    """Draw the heat map as pixels, at double size."""
    spec = as_spec(attention_map(attention))
    with Image.open(BytesIO(vl_convert.vegalite_to_png(spec, scale=PNG_SCALE))) as picture:
        return picture.convert("RGB")


def numbered_words(words: Sequence[str]) -> list[str]:
    """Return the words of a sentence with their positions, as distinct rows or columns of a map."""
    return [f"{position} {word}" for position, word in enumerate(words)]


def _words(
    channel: Any, field: str, words: list[str], orient: Literal["top", "left"], type_size: float
) -> Any:
    """Return an axis whose labels are the words without the positions that make them distinct."""
    axis = alt.Axis(
        orient=orient,
        labelExpr="slice(datum.label, indexof(datum.label, ' ') + 1)",
        labelAngle=-90 if orient == "top" else 0,
        labelFontSize=type_size,
        labelLimit=LONGEST_LABEL * type_size,
        labelOverlap="parity",
    )
    return channel(f"{field}:O", sort=words, title=None, axis=axis)
