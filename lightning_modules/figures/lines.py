"""Lines of systems with bands and seeds, described once in Vega-Lite for the page and for print."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, floor, log10
from statistics import median
from typing import Any

import altair as alt

from lightning_modules.figures.charts import (
    GREY,
    Chart,
    Width,
    data_of,
    described,
    highlighting,
    opacity_by,
    style_of,
    with_properties,
)
from lightning_modules.figures.palette import looks_of
from lightning_modules.figures.system_looks import (
    baseline_looks,
    end_labels,
    labels_fit,
    legend_of,
    letter_colours,
)
from lightning_modules.figures.text_sizes import fitted
from lightning_modules.metrics.bootstrap import Estimate, ScoredGroup
from lightning_modules.metrics.contrast_choices import RIGHT_CHOICES
from lightning_modules.metrics.lengths import THIN

Point = dict[str, Any]
Range = tuple[float, float]
CROWD, CROWDED = 4, (80.0, 100.0)
"""So many lines in so narrow a range get a figure that magnifies the range."""
ENDS = {"low": "95% from", "high": "to", "worst seed": "lowest seed", "best seed": "highest seed"}
"""Titles of the ends of a point by their keys."""
MARGIN = 0.08  # empty part of the horizontal axis at either end, as a share of the curve's width
SCORE = ("system", "score", "low", "high", "worst seed", "best seed", "thin")
"""Fields of ``point`` that are about the score of one system."""
NO_SCORE = "–"
MAGNIFIED = "_magnified"  # end of the name of a figure that magnifies another


def point(system: str, group: str, estimate: Estimate, thin: bool = False) -> Point:
    """Return the data of a point: the score of a system on a group of sentences or words.

    A group is ``thin`` if it has so few that its score says little.
    """
    return {
        "system": system,
        "group": group,
        "score": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "worst seed": min(estimate.seeds, default=estimate.value),
        "best seed": max(estimate.seeds, default=estimate.value),
        "thin": thin,
    }


def marks_in_words(several_seeds: bool, thin: bool, starred: bool) -> str:
    """Return what the marks of a figure of lines mean.

    ``thin`` if it has thin groups, ``starred`` if their names on the axis have a star.
    """
    said = ["bands: 95% bootstrap intervals"]
    if several_seeds:
        said = ["lines: means over seeds", *said, "thin bars: lowest to highest seed"]
    if thin:
        said.append(f"{'* and ' if starred else ''}hollow marks: groups of fewer than {THIN}")
    return f"{'; '.join(said)}.".capitalize()


@dataclass(frozen=True)
class Lines:
    """What a figure of lines shows: the mean of each system over its seeds."""

    labels: Mapping[str, str]  # labels of the systems by name, in the order of the legend
    points: Sequence[Point]
    """Points of ``point`` with the fields of ``x``, each system's from left to right; ``system`` is
    a label."""
    x: alt.X
    y_title: str
    from_zero: bool  # whether the vertical axis begins at 0
    title: str = ""
    note: str = ""  # where the numbers come from: it goes into the caption
    baselines: Mapping[str, Sequence[Point]] = field(default_factory=dict)
    """Points of dashed lines by their labels: ``point`` without an interval."""
    others: Sequence[alt.Chart] = field(default=())  # layers below the lines
    reached: Sequence[float] = ()  # values of `others` that the vertical axis must reach
    starred: bool = False  # whether names of thin groups on the axis have a star

    @property
    def how_to_read(self) -> str:
        """What the marks mean, of those that the figure has."""
        several = any(each["worst seed"] != each["best seed"] for each in self.points)
        thin = any(each["thin"] for each in self.points)
        return marks_in_words(several, thin, self.starred)

    @property
    def subject(self) -> str:
        """One sentence that says what the figure shows."""
        return f"{self.y_title} against {_begun_small(self.x['title'])}."

    @property
    def range(self) -> Range:
        """The range of the vertical axis."""
        ends = [p[k] for p in self.points for k in ENDS]
        ends += [p["score"] for points in self.baselines.values() for p in points]
        values = [*(value for value in ends if value is not None), *self.reached]
        return rounded_out(0.0 if self.from_zero else min(values), max(values))

    @property
    def crowded(self) -> Range | None:
        """The range in which at least four lines run that are hard to tell apart, if any."""
        middle = [self._solid(label) for label in self.labels.values()]
        crowd = [each for each in middle if each and _within(median(map(_score, each)), CROWDED)]
        low, high = self.range
        if len(crowd) < CROWD or high - low <= CROWDED[1] - CROWDED[0]:
            return None
        values = [p[key] for each in crowd for p in each for key in ("score", "low", "high")]
        inside = [value for value in values if value is not None and _within(value, CROWDED)]
        return rounded_out(min(inside), max(inside))

    @property
    def said(self) -> list[dict[str, Any]]:
        """What each group says where the pointer is: the score of every line, by its number."""
        rows: dict[str, dict[str, Any]] = {}
        every = [*self.points, *(p for points in self.baselines.values() for p in points)]
        for each in every:
            place = {key: value for key, value in each.items() if key not in SCORE}
            row = rows.setdefault(each["group"], place)
            row[f"line {self.names.index(each['system'])}"] = _said(each)
        return [dict.fromkeys(self.line_fields, NO_SCORE) | row for row in rows.values()]

    @property
    def names(self) -> list[str]:
        """The labels of all lines."""
        return [*self.labels.values(), *self.baselines]

    @property
    def line_fields(self) -> dict[str, str]:
        """The labels of all lines by their fields in ``said``."""
        return {f"line {number}": name for number, name in enumerate(self.names)}

    @property
    def details(self) -> str:
        """The main numbers in words: the first and the last score of each system."""
        said = []
        for label in self.labels.values():
            solid = self._solid(label)
            if solid:
                ends = [solid[0], solid[-1]] if len(solid) > 1 else solid
                scores = ", ".join(f"{_three_digits(p['score'])} at {p['group']}" for p in ends)
                said.append(f"{label}: {scores}.")
        return " ".join(said)

    def _solid(self, label: str) -> list[Point]:
        return [each for each in self.points if each["system"] == label and not each["thin"]]


def _three_digits(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return format(value, "#.3g").rstrip(".")


def _said(each: Point) -> str:
    """Return ``58.3 [57.0, 59.7]``, with the ends of the seeds if they differ."""
    said = _three_digits(each["score"])
    if each["low"] is not None and each["high"] is not None:
        said += f" [{_three_digits(each['low'])}, {_three_digits(each['high'])}]"
    if each["worst seed"] != each["best seed"]:
        ends = f"{_three_digits(each['worst seed'])} to {_three_digits(each['best seed'])}"
        said += f", seeds {ends}"
    return said


def _begun_small(title: str) -> str:
    title = title.partition(";")[0]
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


def _score(each: Point) -> float:
    return float(each["score"])


def _within(score: float, ends: Range) -> bool:
    return ends[0] <= score <= ends[1]


def rounded_out(low: float, high: float) -> Range:
    """Return a range with round ends that holds ``low`` and ``high``."""
    step = 10.0 ** floor(log10((high - low) or abs(high) or 1.0))
    step /= 2 if (high - low) / step > 4 else 5
    ends = floor(low / step) * step, max(ceil(high / step), floor(low / step) + 1) * step
    return round(ends[0], 10), round(ends[1], 10)


def with_margins(places: Collection[float]) -> list[float]:
    """Return the ends of a horizontal axis on which points have these places."""
    first, last = min(places), max(places)
    margin = MARGIN * (last - first) or 1.0
    return [first - margin, last + margin]


def figures_of(name: str, lines: Lines, width: Width) -> dict[str, Chart]:
    """Return the figure of lines by its name, with one that magnifies where lines are crowded.

    Nothing without points.
    """
    if not lines.points:
        return {}
    drawn = {name: draw_lines(lines, width)}
    if lines.crowded is not None:
        drawn[f"{name}{MAGNIFIED}"] = draw_lines(lines, width, lines.crowded)
    return drawn


def draw_lines(lines: Lines, width: Width, magnified: Range | None = None) -> Chart:
    """Draw lines, all or those in the ``magnified`` range of the vertical axis.

    A line is the mean over seeds, its band the 95% interval. A thin bar goes from the lowest to the
    highest seed. A thin group has a hollow mark, which no line reaches.
    """
    ends = magnified or lines.range
    labelled = labels_fit(lines.names, width)
    y = alt.Scale(domain=list(ends), nice=False, zero=False)
    points = [*lines.points, *(p for points in lines.baselines.values() for p in points)]
    colours, chosen = letter_colours(lines.labels, lines.baselines), highlighting("system")
    named = (points, colours, lines.x, ends, width, chosen[1])
    layers = [
        *lines.others,
        *_layers(lines, width, y, chosen, bool(magnified), labelled and not magnified),
        *(end_labels(*named) if labelled else ()),
    ]
    title, details = lines.title, lines.details
    if width == "container":
        layers += _pointed(lines)
    if magnified:
        between = f"{ends[0]:g} to {ends[1]:g}"
        title = f"{title or lines.y_title} from {between}, magnified"
        details = f"{details} The figure shows {between} alone."
    chart = alt.layer(*layers, data=data_of(lines.points))
    note = f"{lines.how_to_read} {lines.note}".strip()
    return finish_chart(chart, width, note, title, lines.subject, details)


def _layers(
    lines: Lines,
    width: Width,
    y: alt.Scale,
    chosen: tuple[alt.Parameter, Any],
    magnified: bool,
    named: bool,
) -> list[alt.Chart]:
    """Return the layers of lines, of which the ``chosen`` one is clear.

    ``named``: a label stands at the end of every line.
    """
    style = style_of(width)
    highlighted, clear = chosen
    colour, shape, dash = looks_scales(lines.labels, lines.baselines)
    y_title = fitted(lines.y_title, style.height, style.type)
    legend = legend_of(lines.names, width, named, y_title)
    pale = opacity_by(highlighted, 0.16, 0.03)
    dashes = alt.StrokeDash("system:N", title=None, scale=dash, legend=legend)
    encodings: dict[str, Any] = {
        "x": lines.x,
        "y": alt.Y("score:Q", title=y_title, scale=y),
        "color": alt.Color("system:N", title=None, scale=colour, legend=legend),
        "opacity": clear,
    }
    base = alt.Chart().encode(**encodings)
    # Nulls break the line.
    joined = base.transform_calculate(
        **{key: f"datum.thin ? null : datum.{key}" for key in ("score", "low", "high")}
    )
    # What is magnified leaves the plot; else a mark at 100 is whole.
    band = joined.mark_area(clip=magnified).encode(
        y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), opacity=pale
    )
    line = joined.mark_line(strokeWidth=style.line, clip=magnified).encode(strokeDash=dashes)
    seeds = base.mark_rule(strokeWidth=0.75 * style.line, clip=magnified).encode(
        y=alt.Y("worst seed:Q"), y2=alt.Y2("best seed:Q")
    )
    interval = (
        base.transform_filter("datum.thin")
        .mark_rule(strokeWidth=0.5 * style.line, strokeDash=[1, 2], clip=magnified, aria=False)
        .encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
    )
    hollow = (
        alt.when("datum.thin")
        .then(alt.value("white"))
        .otherwise(alt.Fill("system:N", scale=colour, legend=legend))
    )
    marks = base.mark_point(size=style.mark, strokeWidth=style.line / 2, clip=magnified).encode(
        shape=alt.Shape("system:N", title=None, scale=shape, legend=legend), fill=hollow
    )
    baselines = [
        alt.Chart(data_of(points))
        .mark_line(strokeWidth=style.line / 2, clip=magnified)
        .encode(**encodings, strokeDash=dashes)
        for points in lines.baselines.values()
    ]
    return [*baselines, band, line, seeds, interval, marks.add_params(highlighted)]


def _pointed(lines: Lines) -> Iterator[alt.Chart]:
    """Yield rules at the groups, one shown where the pointer is, and what says all scores there.

    The latter are about as wide as the groups are apart: the pointer is always over one.
    """
    said = lines.said
    pointed = alt.selection_point(
        on="pointerover", fields=["group"], empty=False, clear="pointerout"
    )
    rules = alt.Chart(data_of(said)).encode(x=lines.x)
    yield rules.mark_rule(color=GREY, aria=False).encode(opacity=opacity_by(pointed, 0.5, 0))
    apart = alt.ExprRef(f"width / {max(1, len(said) - 1)}")
    titles = {"group": str(lines.x["title"]).lower()} | lines.line_fields
    yield (
        rules.mark_rule(strokeWidth=apart, opacity=0, clip=True, aria=False)
        .encode(tooltip=[alt.Tooltip(f"{key}:N", title=title) for key, title in titles.items()])
        .add_params(pointed)
    )


def looks_scales(
    labels: Mapping[str, str], baselines: Collection[str] = ()
) -> tuple[alt.Scale, alt.Scale, alt.Scale]:
    """Return scales from labels to colours, marks and dashes, given labels of systems by name."""
    looks = [*looks_of(labels).values(), *baseline_looks(baselines).values()]
    domain = [*labels.values(), *baselines]
    return (
        alt.Scale(domain=domain, range=[look.colour for look in looks]),
        alt.Scale(domain=domain, range=[look.shape for look in looks]),
        alt.Scale(domain=domain, range=[list(look.dash) for look in looks]),
    )


PADDING = {"left": 1, "top": 1, "bottom": 1, "right": 3}
"""Around a figure in a file, in points; Vega takes the last name of an axis for a little narrower
than it is."""


def finish_chart(
    chart: Chart, width: Width, note: str, title: str = "", subject: str = "", details: str = ""
) -> Chart:
    """Set the sizes of a figure, a ``title`` above it, its caption and its description.

    Both begin with the ``subject``, a sentence on what is drawn; the caption continues with the
    ``note``, how to read it and where the numbers come from, and the description with the
    ``details``, the main numbers in words. Neither is in the picture.
    """
    style = style_of(width)
    given: dict[str, Any] = {"width": width, "height": style.height, "config": style.config}
    if width != "container":  # what is beside the plot counts as part of the width
        given["autosize"] = alt.AutoSizeParams(type="fit-x", contains="padding")
        given["padding"] = PADDING
    if title:
        given["title"] = title if width == "container" else fitted(title, width, style.type)
    return with_properties(described(chart, width, note, subject, details), given)


CHANCE = 50  # percentage of right choices of a model that knows nothing


def distance_lines(groups: Sequence[ScoredGroup], labels: Mapping[str, str], note: str) -> Lines:
    """Return right choices against distance: one line for each system, the mean over its seeds.

    The band is the 95% bootstrap interval over source sentences. A dashed rule is at chance. Groups
    other than those of a single distance are left out; ``labels`` are the systems' by name.
    """
    single = [each for each in groups if each.kind == "distance"]
    points = [
        {"place": int(each.name), **point(label, each.name, estimate, each.subset.thin)}
        for each in sorted(single, key=lambda each: int(each.name))
        for name, label in labels.items()
        if (estimate := each.estimate(name)) is not None
    ]
    places = [each["place"] for each in points]
    scale = alt.Scale(domain=with_margins(places or [0]), nice=False)
    rule = alt.Chart(data_of([{"score": CHANCE}])).mark_rule(strokeDash=[5, 4], color=GREY)
    return Lines(
        labels,
        points,
        alt.X(
            "place:Q",
            title="Distance (words)",
            scale=scale,
            axis=alt.Axis(values=sorted(set(places)), grid=False, labelOverlap="greedy"),
        ),
        RIGHT_CHOICES.label,
        RIGHT_CHOICES.from_zero,
        note=note,
        others=[rule.encode(y=alt.Y("score:Q"))],
        reached=[CHANCE],
    )
