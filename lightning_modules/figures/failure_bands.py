"""Bands of the kinds of translations over sentence length, one panel for each system."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import altair as alt
import numpy as np

from lightning_modules.figures.charts import (
    WIDE,
    Chart,
    Width,
    data_of,
    described,
    style_of,
    tooltip,
)
from lightning_modules.figures.lines import finish_chart
from lightning_modules.figures.system_looks import AXIS, LINE_HEIGHT, ROOMY, legend_of, short_labels
from lightning_modules.figures.text_sizes import fitted, text_width
from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.failures import TranslationKind
from lightning_modules.metrics.lengths import Bounds

LOOKS: Mapping[TranslationKind, tuple[str, str]] = {
    TranslationKind.RIGHT: ("#e6edc8", "#1c2430"),
    TranslationKind.WRONG: ("#b9c1c9", "#1c2430"),
    TranslationKind.UNKNOWN: ("#8a6f00", "#ffffff"),
    TranslationKind.SHORT: ("#7fd4de", "#1c2430"),
    TranslationKind.LONG: ("#b3155b", "#ffffff"),
}
"""Colours of a band and of its letters. No system has them; in grey, neighbours differ too."""
HEIGHT, SMALL = 190, 70  # of a panel on the page and in a file
NARROWEST = 260  # width of a panel's plot on a phone; a text that fits there fits anywhere
MIDDLES = 60  # places at which a text is tried
SUBJECT = "How the translations fail, by length."
GAP = 12  # between the panels of a file, in points
NUMBERS = 2.8  # room of an axis with numbers alone, in sizes of type
BAR = 140  # width of the bar where there is one length group alone


@dataclass(frozen=True)
class Bands:
    """The shares of the kinds of one system's translations, by the bounds of the length groups."""

    label: str
    shares: Mapping[Bounds, Mapping[TranslationKind, Estimate]]
    places: Mapping[Bounds, float]  # mean length of the sentences of a group
    sentences: Mapping[Bounds, int]

    @property
    def rows(self) -> Iterator[dict[str, Any]]:
        """The bands, from the bottom up: ``from`` and ``to`` in percent at each place."""
        for bounds, shares in self.shares.items():
            ends = [0.0, *accumulate(share.value for share in shares.values())]
            for (kind, share), low, high in zip(shares.items(), ends, ends[1:], strict=False):
                yield {
                    "kind": kind.label,
                    "place": round(self.places[bounds], 2),
                    "share": round(share.value, 2),
                    "from": round(low, 2),
                    "to": round(high, 2),
                }

    @property
    def said(self) -> Iterator[dict[str, Any]]:
        """What a length group says where the pointer is: all shares."""
        for bounds, shares in self.shares.items():
            yield {
                "place": round(self.places[bounds], 2),
                "lengths": bounds.label,
                "sentences": self.sentences[bounds],
                **{kind.label: round(share.value, 1) for kind, share in shares.items()},
            }

    @property
    def details(self) -> str:
        """The shares of the failures in the shortest and in the longest group in words."""
        ends = list(dict.fromkeys([next(iter(self.shares)), list(self.shares)[-1]]))
        told = [
            f"at {bounds.label}: "
            + ", ".join(
                f"{share.value:.0f}% {kind.label}" for kind, share in self.shares[bounds].items()
            )
            for bounds in ends
        ]
        return f"{self.label}, {'; '.join(told)}."


def failure_panel(bands: Bands, x_title: str, note: str) -> Chart:
    """Draw the bands of one system for the page; labels stand in the bands."""
    drawn = alt.layer(*_layers(bands, "container", x_title, "translations (%)"))
    chart = finish_chart(drawn, "container", note, "", SUBJECT, bands.details)
    whole: Chart = chart.properties(height=HEIGHT)
    return whole


def failure_panels(every: Sequence[Bands], x_title: str, note: str, width: float) -> Chart:
    """Draw the bands of all systems side by side, for a file; one legend names the kinds.

    Only the lowest panels have a title below, and only those on the left have one beside.
    """
    style = style_of(width)
    columns = min(2 if width < WIDE else 3, len(every))
    axes = style.type * (AXIS + NUMBERS * (columns - 1))
    room = (width - GAP * (columns - 1) - axes) / columns
    names = short_labels([bands.label for bands in every], width)
    drawn = [
        alt.layer(
            *_layers(
                bands,
                width,
                x_title if place + columns >= len(every) else None,
                None if place % columns else "%",
                room,
            )
        ).properties(
            width=room,
            height=SMALL,
            title=alt.TitleParams(fitted(names[bands.label], room, style.type), offset=4),
        )
        for place, bands in enumerate(every)
    ]
    said = " ".join(bands.details for bands in every)
    chart = alt.concat(*drawn, columns=columns, spacing=GAP).resolve_scale(color="shared")
    return described(chart, width, note, SUBJECT, said).properties(config=style.config, padding=1)


def _layers(
    bands: Bands, width: Width, x_title: str | None, y_title: str | None, room: float | None = None
) -> list[alt.Chart]:
    """Return the layers of a panel that is ``room`` wide; None: as wide as the page has room.

    An axis without a title has its numbers alone.
    """
    rows, on_page = list(bands.rows), width == "container"
    kinds = [kind.label for kind in TranslationKind]
    colours = alt.Scale(domain=kinds, range=[colour for colour, _ in LOOKS.values()])
    legend = None if on_page else legend_of(kinds, width)
    if legend is not None:
        legend.symbolType = "square"
    x = alt.X(
        "place:Q",
        title=x_title,
        scale=alt.Scale(domain=_ends(bands), nice=False),
        axis=_axis(bands, room),
    )
    y = alt.Y(
        "from:Q",
        title=y_title,
        scale=alt.Scale(domain=[0, 100], nice=False),
        axis=alt.Axis(values=[0, 25, 50, 75, 100], grid=False),
    )
    data = alt.Chart(data_of(rows)).encode(
        x=x,
        y=y,
        y2=alt.Y2("to:Q"),
        color=alt.Color("kind:N", title=None, scale=colours, legend=legend),
    )
    if len(bands.shares) > 1:
        drawn = data.mark_area(stroke="white", strokeWidth=0.75)
    else:
        size = BAR if room is None else 0.8 * room
        drawn = data.mark_bar(size=size, stroke="white", strokeWidth=0.75)
    numbers = {"sentences": "sentences", **{label: f"{label} (%)" for label in kinds}}
    pointed = (
        alt.Chart(data_of(bands.said))
        .mark_rule(strokeWidth=24, opacity=0, aria=False)
        .encode(x=x, tooltip=tooltip("lengths", numbers=numbers))
    )
    texts = list(_texts(bands, x)) if on_page else []
    return [drawn, *texts, pointed]


def _ends(bands: Bands) -> list[float]:
    places = list(bands.places.values())
    if len(places) == 1:
        return [places[0] - 1, places[0] + 1]
    return [places[0], places[-1]]


def _axis(bands: Bands, room: float | None) -> alt.Axis:
    """Return the axis of lengths; in a file the outer names end with the plot, beside others."""
    places = _rounded(bands)
    if room is not None:
        places = _named(places, _ends(bands), room)
    names = ", ".join(f"'{place:g}': '{each.label}'" for each, place in places)
    return alt.Axis(
        values=[place for _, place in places],
        labelExpr=f"{{{names}}}[datum.value]",
        labelOverlap="parity" if room is None else False,
        labelAngle=0,
        labelFlush=room is not None,
        grid=False,
    )


def _named(
    places: list[tuple[Bounds, float]], ends: Sequence[float], room: float
) -> list[tuple[Bounds, float]]:
    """Return every group, or evenly spaced ones, so that their names do not touch."""
    size, scale = style_of(room).type, room / (ends[1] - ends[0])

    def apart(named: Sequence[tuple[Bounds, float]]) -> bool:
        drawn = []
        for bounds, place in named:
            middle, wide = (place - ends[0]) * scale, text_width(bounds.label, size)
            left = min(max(middle - wide / 2, 0.0), room - wide)
            drawn.append((left, left + wide))
        return all(right >= end + size / 2 for (_, end), (right, _) in pairwise(drawn))

    last = len(places) - 1  # both ends have names, where these do not touch
    steps = [step for step in range(1, last + 1) if last % step == 0]
    return next(filter(apart, (places[::step] for step in steps)), places[:1])


def _rounded(bands: Bands) -> list[tuple[Bounds, float]]:
    return [(bounds, round(place, 2)) for bounds, place in bands.places.items()]


def _texts(bands: Bands, x: alt.X) -> Iterator[alt.Chart]:
    """Yield the name of each band that has room for it, where it has most room."""
    style, (first, last) = style_of("container"), _ends(bands)
    for kind in TranslationKind:
        width = ROOMY * text_width(kind.label, style.type) / NARROWEST * (last - first)
        found = _roomiest(_edges(bands, kind), width)
        if found is None or found.high - found.low < 100 * LINE_HEIGHT * style.type / HEIGHT:
            continue
        row = {"name": kind.label, "place": found.place, "from": (found.low + found.high) / 2}
        yield (
            alt.Chart(data_of([row]))
            .mark_text(color=LOOKS[kind][1], fontSize=style.type)
            .encode(x=x, y=alt.Y("from:Q"), text=alt.Text("name:N"))
        )


class _Edge(NamedTuple):
    """The ends of a band at a place of the axis, in percent."""

    place: float
    low: float
    high: float


def _edges(bands: Bands, kind: TranslationKind) -> list[_Edge]:
    """Return the corners of a band; those of a bar, where there is one length group alone."""
    edges = [
        _Edge(row["place"], row["from"], row["to"])
        for row in bands.rows
        if row["kind"] == kind.label
    ]
    if len(edges) > 1:
        return edges
    [bar] = edges
    first, last = _ends(bands)
    half = BAR / NARROWEST * (last - first) / 2
    return [bar._replace(place=bar.place + side) for side in (-half, half)]


def _roomiest(edges: Sequence[_Edge], width: float) -> _Edge | None:
    """Return the middle and the ends of the highest box of this width inside a band, if any.

    The ``width`` is in units of the axis of lengths.
    """
    places, lows, highs = np.array(edges).T
    half = width / 2
    if places[-1] - places[0] < width:
        return None
    boxes: list[_Edge] = []
    for middle in np.linspace(places[0] + half, places[-1] - half, MIDDLES):
        left, right = middle - half, middle + half
        inside = (left < places) & (places < right)
        corners = [left, *places[inside], right]
        low, high = np.interp(corners, places, lows).max(), np.interp(corners, places, highs).min()
        boxes.append(_Edge(float(middle), float(low), float(high)))
    return max(boxes, key=lambda box: box.high - box.low)
