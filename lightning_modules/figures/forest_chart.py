"""Effects of claims with their intervals, one below the other: a forest plot."""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import altair as alt

from lightning_modules.figures.charts import GREY, Chart, Style, Width, data_of, style_of, tooltip
from lightning_modules.figures.lines import finish_chart
from lightning_modules.figures.palette import COLOURS
from lightning_modules.figures.system_looks import (
    GAP,
    LINE_HEIGHT,
    LONGEST_LABEL,
    legend_width,
    renamed,
)
from lightning_modules.figures.text_sizes import fitted, text_width

LOOKS = {
    "supported": (COLOURS[1], "circle"),
    "reversed": (COLOURS[2], "triangle-down"),
    "negligible": (COLOURS[3], "square"),
    "undecided": (GREY, "cross"),
}
"""Colour and mark of each outcome. What is not a fair test has no effect that says anything."""
INTERVAL, PUBLISHED = "95% interval", "reported in the paper"
SQUARE = "M-1,-1L1,-1L1,1L-1,1Z"
KEYS = {
    INTERVAL: (GREY, "M-1,-.13L1,-.13L1,.13L-1,.13Z"),
    PUBLISHED: ("#000000", "M0,-1L1,0L0,1L-1,0ZM0,-.7L-.7,0L0,.7L.7,0Z"),
    "too small to count": ("#e7e7e7", SQUARE),
}
"""Colour and mark of what else the legend explains: a whisker, an open diamond, the band."""
TICKS = (-100, -30, -10, -3, -1, 0, 1, 3, 10, 30, 100)
ROW, NAMED_ROW = 4.6, 1.5
"""Heights of a row with a statement, on the page, and with a name, as multiples of the type."""
WIDE_LINE, NARROW_LINE, MOST_LINES = 56, 38, 5  # characters of a line of a statement, and lines
ROOM = "containerSize()[0] >= 600"
"""Whether a page is wide enough for long lines."""
TITLE_IN_LINES = ["Effect ÷ smallest", "effect that counts"]  # as a phone has room for
TITLE = " ".join(TITLE_IN_LINES)
SIDES: tuple[tuple[str, Literal["left", "right"], int], ...] = (
    ("← against", "right", -6),
    ("for the claim →", "left", 6),
)
"""What stands above the two sides of 0, with alignment and distance in points."""
WIDER = 0.5  # by how much a symbol is wider than in other legends, in sizes of type
ABOVE = 1.8  # room for that between plot and legend, in sizes of type

NOTE = (
    "Effects of claims with their 95% intervals over seeds and test sentences. Effects are above 0 "
    "in the direction of the claim, and in multiples of the smallest effect that counts. Grey: "
    "effects too small to count."
)
ABOUT_PUBLISHED = " Open diamonds are effects that the papers report, on the papers' data."
ABOUT_NO_DIFFERENCE = " Claims of no difference hold inside the grey band."
ABOUT_EXTENSIONS = " †: extensions, tested differently from their papers."
EXTENSION = "†"  # after the names of extensions


class Effect(NamedTuple):
    """A row of a forest plot; numbers are multiples of the row's margin."""

    claim: str  # its name
    statement: str
    outcome: str
    effect: float
    low: float | None
    high: float | None
    published: float | None
    extension: bool = False  # whether it is tested differently from its paper
    directed: bool = True  # whether the claim holds above a number, not inside the band

    def marked(self, name: str) -> str:
        """Return a name of the row with the mark of extensions."""
        return name + EXTENSION if self.extension else name


def forest_chart(effects: Sequence[Effect], width: Width) -> Chart:
    """Draw effects in units of their margins, with 95% intervals and published effects.

    The band is between minus the margin and the margin, the rule at 0. Published effects are open
    diamonds. The axis is linear near 0 and logarithmic beyond 1, since effects may be a hundred
    margins. On a page, a row has the statement of its claim and leads to the claim; in a file, rows
    have names.
    """
    style, page = style_of(width), width == "container"
    # An effect without an interval, of one seed, has a mark alone.
    rows = [
        {
            **each._asdict(),
            "low": each.effect if each.low is None else each.low,
            "high": each.effect if each.high is None else each.high,
            "href": f"#{each.claim}",
        }
        for each in effects
    ]
    claims = [each.claim for each in effects]
    axis = alt.Axis(labelLimit=0, ticks=False, domain=False, grid=True)
    narrow = not (page or style.labelled)
    lines = {each.claim: [each.marked(each.claim)] for each in effects}
    if width != "container":
        if narrow:
            room = LONGEST_LABEL * width
            lines = {claim: _lines_of_name(of[0], room, style.type) for claim, of in lines.items()}
        axis.labelExpr = renamed(lines)
    else:
        wide, narrow_lines = (_lines_by_claim(effects, each) for each in (WIDE_LINE, NARROW_LINE))
        axis.labelExpr = f"({ROOM} ? {wide} : {narrow_lines})[datum.label]"
    y = alt.Y("claim:N", sort=claims, title=None, scale=alt.Scale(domain=claims), axis=axis)
    explained, fitting = _explained(effects), None
    if width != "container":
        names = [line for of in lines.values() for line in of]
        room = width - max(text_width(name, style.type) for name in names) - style.type
        columns = range(1, len(explained) + 1)
        needed = {n: legend_width(list(explained), n, style.type) for n in columns}
        fits = [n for n, wide in needed.items() if wide + n * WIDER * style.type <= room]
        fitting = max(fits, default=1)
    directed = all(each.directed for each in effects)
    layers = [
        *_rules(style, directed),
        *_effects(y, style, fitting, explained, narrow),
        _published(y, style),
    ]
    chart = alt.layer(*layers, data=data_of(rows))
    subject = f"Forest plot of {len(effects)} effects."
    note = NOTE + (ABOUT_PUBLISHED if PUBLISHED in explained else "")
    note += "" if directed else ABOUT_NO_DIFFERENCE
    note += ABOUT_EXTENSIONS if any(each.extension for each in effects) else ""
    drawn = finish_chart(chart, width, note, "", subject, _details(effects))
    row = (ROW if page else NAMED_ROW) * style.type
    if narrow:
        row = (0.6 + LINE_HEIGHT * max(map(len, lines.values()))) * style.type
    return drawn.properties(height=row * len(effects))


def _lines_of_name(claim: str, room: float, type: float) -> list[str]:
    """Return the paper of a claim, and below it the name in words, in lines."""
    paper, _, name = claim.partition(".")
    words = fitted(name.replace("_", " "), room, type)
    return [paper, *([words] if isinstance(words, str) else words)]


def _explained(effects: Sequence[Effect]) -> dict[str, tuple[str, str]]:
    """Return colour and mark of what is drawn, and of nothing else."""
    outcomes = {each.outcome for each in effects}
    lacking = {outcome for outcome in LOOKS if outcome not in outcomes}
    if all(each.low is None for each in effects):
        lacking.add(INTERVAL)
    if all(each.published is None for each in effects):
        lacking.add(PUBLISHED)
    return {name: look for name, look in (LOOKS | KEYS).items() if name not in lacking}


def _lines_by_claim(effects: Sequence[Effect], line: int) -> str:
    """Return the statements in short lines by claims, as Vega's expressions have objects."""
    wrapped = textwrap.TextWrapper(line, max_lines=MOST_LINES, placeholder=" …")
    return json.dumps({each.claim: wrapped.wrap(each.marked(each.statement)) for each in effects})


def _rules(style: Style, directed: bool) -> Iterator[Chart]:
    """Yield the band of effects that are too small to count, and the rule at 0.

    The rule has the names of its sides where they mean the same for every claim.
    """
    band = alt.Chart(data_of([{"from": -1, "to": 1}])).mark_rect(
        color=GREY, opacity=0.16, aria=False
    )
    yield band.encode(x=alt.X("from:Q"), x2=alt.X2("to:Q"))
    rule = alt.Chart(data_of([{"at": 0}])).mark_rule(color=GREY, aria=False)
    yield rule.encode(x=alt.X("at:Q"))
    for side, align, distance in SIDES if directed else ():
        text = alt.Chart(data_of([{"at": 0, "side": side}])).mark_text(
            align=align, dx=distance, baseline="bottom", color=GREY, fontSize=style.type
        )
        yield text.encode(x=alt.X("at:Q"), y=alt.YValue(-3), text=alt.Text("side:N"))


def _effects(
    y: alt.Y,
    style: Style,
    fitting: int | None,
    explained: Mapping[str, tuple[str, str]],
    narrow: bool,
) -> tuple[Chart, Chart]:
    """Return the intervals, and the marks on them.

    The legend of a file has ``fitting`` columns; without, the chart is that of a page.
    """
    page = fitting is None
    colours, shapes = ([look[part] for look in explained.values()] for part in (0, 1))
    in_row = len(explained) if len(explained) < 6 else len(LOOKS)
    columns = fitting or alt.ExprRef(f"{ROOM} ? {in_row} : 1")
    legend = alt.Legend(
        orient="top",
        title=None,
        columns=columns,
        columnPadding=GAP * style.type,
        offset=ABOVE * style.type,
    )
    numbers = {"effect": "effect", "low": "95% from", "high": "to"}
    scales = [alt.Scale(domain=list(explained), range=looks) for looks in (colours, shapes)]
    colour = alt.Color("outcome:N", scale=scales[0], legend=legend)
    base = alt.Chart().encode(
        y=y, color=colour, tooltip=tooltip("claim", "statement", "outcome", numbers=numbers)
    )
    if page:
        base = base.encode(href=alt.Href("href:N"))
    x = alt.X(
        "low:Q",
        title=TITLE_IN_LINES if page else "Effect ÷ margin" if narrow else TITLE,
        scale=alt.Scale(type="symlog", constant=1, nice=False, padding=8),
        axis=alt.Axis(values=[*TICKS], grid=False, labelOverlap=True),
    )
    intervals = base.mark_rule(strokeWidth=style.line).encode(x=x, x2=alt.X2("high:Q"))
    marks = base.mark_point(size=1.4 * style.mark, filled=True, opacity=1).encode(
        x=alt.X("effect:Q"), shape=alt.Shape("outcome:N", scale=scales[1], legend=legend)
    )
    return intervals, marks


def _published(y: alt.Y, style: Style) -> Chart:
    drawn = alt.Chart().transform_filter("isValid(datum.published)")
    said = tooltip("claim", numbers={"published": "published"})
    mark = drawn.mark_point(shape="diamond", size=2 * style.mark, color="black", opacity=1)
    return mark.encode(x=alt.X("published:Q"), y=y, tooltip=said)


def _details(effects: Sequence[Effect]) -> str:
    by_outcome = [
        f"{outcome}: {', '.join(names)}."
        for outcome in LOOKS
        if (names := [each.claim for each in effects if each.outcome == outcome])
    ]
    return " ".join(by_outcome)
