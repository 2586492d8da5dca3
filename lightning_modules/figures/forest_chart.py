"""Effects with their intervals, one below the other: a forest plot."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import altair as alt

from lightning_modules.figures.charts import GREY, Chart, Style, Width, data_of, style_of, tooltip
from lightning_modules.figures.lines import finish_chart
from lightning_modules.figures.system_looks import COLOURS

LOOKS = {
    "held": (COLOURS[1], "circle"),
    "did not hold": (COLOURS[2], "cross"),
    "not decidable": (GREY, "square"),
}
"""Colour and mark of each outcome."""
TICKS = (-100, -30, -10, -3, -1, 0, 1, 3, 10, 30, 100)
ROW = 2.2  # height of a row, as a multiple of the size of type
TITLE = "Effect ÷ smallest effect that counts"

NOTE = (
    "Effects of claims with their 95% intervals over seeds and test sentences. Effects are above 0 "
    "in the direction of the claim, and in multiples of the smallest effect that counts. Dashed "
    "lines: this effect, and as much below 0, where claims of an effect that is not smaller are "
    "decided. Open diamonds are effects that the papers report, on the papers' data."
)


class Effect(NamedTuple):
    """A row of a forest plot; numbers are multiples of the row's margin."""

    claim: str
    outcome: str
    effect: float
    low: float | None
    high: float | None
    published: float | None


def forest_chart(effects: Sequence[Effect], width: Width) -> Chart:
    """Draw effects in units of their margins, with 95% intervals and published effects.

    Dashed rules are at the margin and at minus the margin, a full one at 0. Published effects are
    open diamonds. The axis is linear near 0 and logarithmic beyond 1, since effects may be a
    hundred margins.
    """
    style = style_of(width)
    # An effect without an interval, of one seed, has a mark alone.
    rows = [
        {
            **each._asdict(),
            "low": each.effect if each.low is None else each.low,
            "high": each.effect if each.high is None else each.high,
        }
        for each in effects
    ]
    claims = [each.claim for each in effects]
    axis = alt.Axis(labelLimit=0, ticks=False, domain=False, grid=True)
    y = alt.Y("claim:N", sort=claims, title=None, scale=alt.Scale(domain=claims), axis=axis)
    layers = [*_rules(), *_effects(y, style), _published(y, style)]
    chart = alt.layer(*layers, data=data_of(rows))
    drawn = finish_chart(chart, width, NOTE, description=_description(effects))
    return drawn.properties(height=ROW * style.type * len(effects))


def _rules() -> Iterator[Chart]:
    """Yield the full rule at 0 and the dashed ones at the margin, in both directions."""
    for at, dash in ((0, [1, 0]), (1, [5, 4]), (-1, [5, 4])):
        rule = alt.Chart(data_of([{"at": at}])).mark_rule(color=GREY, strokeDash=dash, aria=False)
        yield rule.encode(x=alt.X("at:Q"))


def _effects(y: alt.Y, style: Style) -> tuple[Chart, Chart]:
    """Return the intervals, and the marks on them."""
    outcomes = list(LOOKS)
    colours, shapes = ([look[part] for look in LOOKS.values()] for part in (0, 1))
    legend = alt.Legend(orient="top", title=None)
    numbers = {"effect": "effect", "low": "95% from", "high": "to"}
    colour = alt.Color("outcome:N", scale=alt.Scale(domain=outcomes, range=colours), legend=legend)
    base = alt.Chart().encode(
        y=y, color=colour, tooltip=tooltip("claim", "outcome", numbers=numbers)
    )
    x = alt.X(
        "low:Q",
        title=TITLE,
        scale=alt.Scale(type="symlog", constant=1, nice=False, padding=8),
        axis=alt.Axis(values=[*TICKS], grid=False, labelOverlap=True),
    )
    intervals = base.mark_rule(strokeWidth=style.line).encode(x=x, x2="high:Q")
    marks = base.mark_point(size=1.4 * style.mark, filled=True, opacity=1).encode(
        x="effect:Q",
        shape=alt.Shape("outcome:N", scale=alt.Scale(domain=outcomes, range=shapes), legend=legend),
    )
    return intervals, marks


def _published(y: alt.Y, style: Style) -> Chart:
    drawn = alt.Chart().transform_filter("isValid(datum.published)")
    said = tooltip("claim", numbers={"published": "published"})
    mark = drawn.mark_point(shape="diamond", size=2 * style.mark, color="black", opacity=1)
    return mark.encode(x="published:Q", y=y, tooltip=said)


def _description(effects: Sequence[Effect]) -> str:
    by_outcome = [
        f"{outcome}: {', '.join(names)}."
        for outcome in LOOKS
        if (names := [each.claim for each in effects if each.outcome == outcome])
    ]
    return f"Forest plot of {len(effects)} effects. {' '.join(by_outcome)}"
