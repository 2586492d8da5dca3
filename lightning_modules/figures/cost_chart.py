"""Quality against cost: a point for each system, and the front that none of them is beyond."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from lightning_modules.figures.charts import (
    GREY,
    Chart,
    Width,
    data_of,
    highlighting,
    style_of,
    tooltip,
)
from lightning_modules.figures.lines import MARGIN, finish_chart, looks_scales, rounded_out
from lightning_modules.figures.system_looks import legend_of
from lightning_modules.metrics.bootstrap import Estimate

Costs = Mapping[str, tuple[float, Estimate]]
"""Cost and score of each system, by its label."""
HEIGHT = 260  # of the plot on the page


def pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return the numbers of the points ``(cost, score)`` that no other dominates, cheapest first.

    A point dominates another if it costs no more, scores no less, and differs from it.
    """
    order = sorted(range(len(points)), key=lambda number: (points[number][0], -points[number][1]))
    front: list[int] = []
    for number in order:
        best = points[front[-1]] if front else None
        if best is None or points[number][1] > best[1] or points[number] == best:
            front.append(number)
    return front


def cost_chart(
    costs: Costs, labels: Mapping[str, str], x_title: str, y_title: str, note: str, width: Width
) -> Chart:
    """Draw scores with their intervals against costs; ``labels`` are the systems' by name."""
    shown = [label for label in labels.values() if label in costs]
    points = [(costs[label][0], costs[label][1].value) for label in shown]
    front = pareto_front(points)
    rows = [_row(label, *costs[label]) for label in shown]
    steps = [{"cost": points[number][0], "score": points[number][1]} for number in front]
    ends = [row[key] for row in rows for key in ("score", "low", "high") if row[key] is not None]
    # From 0, unless all scores would crowd at the top.
    style, (low, high) = style_of(width), rounded_out(min(ends), max(ends))
    low = 0 if low < high / 2 else low
    highlighted, clear = highlighting("system")
    colour, shape, _ = looks_scales(labels)
    legend = legend_of(list(labels.values()), width)
    x = alt.X(
        "cost:Q",
        title=x_title,
        scale=alt.Scale(domain=[0, (1 + MARGIN) * max(cost for cost, _ in points)], nice=False),
        axis=alt.Axis(grid=False, tickCount=6, format="~s"),
    )
    y = alt.Y("score:Q", title=y_title, scale=alt.Scale(domain=[low, high], nice=False, zero=False))
    base = alt.Chart().encode(
        x=x,
        color=alt.Color("system:N", title=None, scale=colour, legend=legend),
        opacity=clear,
        tooltip=tooltip(
            "system", numbers={"score": y_title, "low": "95% from", "high": "to", "cost": x_title}
        ),
    )
    line = (
        alt.Chart(data_of(steps))
        .mark_line(interpolate="step-after", strokeDash=[4, 3], color=GREY, strokeWidth=1)
        .encode(x=x, y=y)
    )
    interval = base.mark_rule(strokeWidth=style.line / 2).encode(
        y=alt.Y("low:Q"), y2=alt.Y2("high:Q")
    )
    marks = base.mark_point(size=1.5 * style.mark, filled=True).encode(
        y=y, shape=alt.Shape("system:N", title=None, scale=shape, legend=legend)
    )
    chart = alt.layer(line, interval, marks.add_params(highlighted), data=data_of(rows))
    on_front = "; ".join(shown[number] for number in front)
    said = " ".join(
        [
            *(f"{row['system']}: {row['score']:.1f} for {row['cost']:.3g}." for row in rows),
            f"On the front: {on_front}.",
        ]
    )
    note = f"Dashed: the front, where no system is both cheaper and better: {on_front}. {note}"
    drawn = finish_chart(chart, width, note, "", f"{y_title} against {x_title}.", said)
    if width == "container":
        drawn = drawn.properties(height=HEIGHT)
    return drawn


def _row(label: str, cost: float, score: Estimate) -> dict[str, Any]:
    return {
        "system": label,
        "cost": float(f"{cost:.5g}"),
        "score": score.value,
        "low": score.low,
        "high": score.high,
    }
