"""Figures of an evaluation, described once in Vega-Lite for the page and for print."""

from collections.abc import Mapping, Sequence
from typing import Literal

import altair as alt

from lightning_modules.charts import Chart
from lightning_modules.metrics.lengths import THIN, Bounds
from lightning_modules.metrics.scopes import Estimate
from lightning_modules.metrics.statistics import Metric
from sweeps.evaluation.evaluation import Evaluation
from sweeps.evaluation.tables import Table

Width = int | Literal["container"]
# Okabe and Ito's colours, told apart by colour-blind readers; yellow is left out on white.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
# One shape fewer than colours, so that pairs repeat only after 42 lines.
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]


def length_curve(
    evaluation: Evaluation, metric: Metric, limits: Sequence[int] = (), width: Width = 620
) -> Chart:
    """A score against sentence length, one line a system, the mean over its seeds.

    The band is the 95% bootstrap interval over test sentences; a thin bar spans the lowest and the
    highest seed; the dashed rules stand at ``limits``, the longest training sentences; ``n`` under
    a bucket counts its sentences, ``*`` marks fewer than 30.
    """
    spans = _spans(evaluation.bounds)
    places = [sum(span) / 2 for span in spans]
    domain = [min(map(min, spans)), max(map(max, spans))]
    # A limit beyond the last bucket marks nothing: all of the test is within it.
    rules = [
        layer
        for row, limit in enumerate(limit for limit in limits if limit < domain[1])
        for layer in _limit_rule(limit, domain, row)
    ]
    axis = evaluation.scoring.length_axis
    x = alt.X(
        "place:Q",
        title=axis[0].upper() + axis[1:],
        scale=alt.Scale(domain=domain, nice=False),
        axis=_bucket_axis(evaluation, places),
    )
    points = [
        {"place": place, **_point(system.name, bounds.label, estimate)}
        for system in evaluation.systems
        for bounds, place in zip(evaluation.bounds, places, strict=True)
        if (estimate := evaluation.estimate(system, bounds, metric.name)) is not None
    ]
    layers = _layers(points, x, metric.label, _names(evaluation), width)
    return _finished(alt.layer(*rules, *layers), width)


def group_curve(table: Table, key: str, width: Width = 620) -> Chart:
    """A column of estimates over groups of words or sentences, one line a system.

    The table has the columns ``system`` and ``group``; groups keep its order.
    """
    keys = [column.key for column in table.columns]
    rows = [dict(zip(keys, row, strict=True)) for row in table.rows]
    groups = list(dict.fromkeys(str(row["group"]) for row in rows))
    title = next(column.title for column in table.columns if column.key == "group")
    label = next(column.title for column in table.columns if column.key == key)
    x = alt.X("group:O", sort=groups, title=title, axis=alt.Axis(labelAngle=0, grid=False))
    points = [
        _point(str(row["system"]), str(row["group"]), estimate)
        for row in rows
        if isinstance(estimate := row[key], Estimate)
    ]
    names = list(dict.fromkeys(str(row["system"]) for row in rows))
    return _finished(alt.layer(*_layers(points, x, label, names, width)), width)


def _names(evaluation: Evaluation) -> list[str]:
    return [system.name for system in evaluation.systems]


def _point(system: str, group: str, estimate: Estimate) -> dict[str, object]:
    return {
        "system": system,
        "group": group,
        "score": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "worst seed": min(estimate.seeds, default=estimate.value),
        "best seed": max(estimate.seeds, default=estimate.value),
    }


def _layers(
    points: Sequence[Mapping[str, object]],
    x: alt.X,
    label: str,
    names: Sequence[str],
    width: Width,
) -> list[alt.Chart]:
    highlighted = alt.selection_point(fields=["system"], bind="legend")
    legend = _legend(names, label_limit=240 if width == "container" else 540)
    base = alt.Chart(alt.Data(values=list(points))).encode(
        x=x,
        color=alt.Color("system:N", title=None, scale=_scale(names, COLOURS), legend=legend),
        tooltip=[
            alt.Tooltip("system:N"),
            alt.Tooltip("group:N"),
            alt.Tooltip("score:Q", title=label, format=".3~f"),
            alt.Tooltip("low:Q", title="95% from", format=".3~f"),
            alt.Tooltip("high:Q", title="to", format=".3~f"),
            alt.Tooltip("worst seed:Q", title="lowest seed", format=".3~f"),
            alt.Tooltip("best seed:Q", title="highest seed", format=".3~f"),
        ],
    )
    shown = base.encode(
        y=alt.Y("score:Q", title=label),
        opacity=alt.when(highlighted).then(alt.value(1)).otherwise(alt.value(0.15)),
    )
    band = base.mark_area().encode(
        y=alt.Y("low:Q", title=label),
        y2="high:Q",
        opacity=alt.when(highlighted).then(alt.value(0.16)).otherwise(alt.value(0.03)),
    )
    seeds = shown.mark_rule(strokeWidth=1.5).encode(y="worst seed:Q", y2="best seed:Q")
    shape = alt.Shape("system:N", title=None, scale=_scale(names, SHAPES), legend=legend)
    marks = shown.mark_point(filled=True, size=80).encode(shape=shape).add_params(highlighted)
    return [band, shown.mark_line(strokeWidth=2), seeds, marks]


def _finished(chart: Chart, width: Width) -> Chart:
    finished: Chart = (
        chart.properties(width=width, height=340)
        .configure_view(stroke=None)
        .configure_axis(titleFontSize=12)
        .configure_legend(labelFontSize=12)
    )
    return finished


def _spans(buckets: Sequence[Bounds]) -> list[tuple[float, float]]:
    """Where each bucket lies on the length axis; the open one is drawn as wide as the one before.

    Bounds are halfway between two lengths: the bucket of 11 to 20 words spans 10.5 to 20.5.
    """
    spans: list[tuple[float, float]] = []
    width = 10.0
    for bounds in buckets:
        low = bounds.low - 0.5
        width = width if bounds.high is None else bounds.high + 0.5 - low
        spans.append((low, low + width))
    return spans


def _bucket_axis(evaluation: Evaluation, places: Sequence[float]) -> alt.Axis:
    names = []
    for bounds, place in zip(evaluation.bounds, places, strict=True):
        counts = evaluation.sentences(bounds)
        thin = "*" if min(counts) < THIN else ""
        count = "/".join(map(str, counts))
        names.append(f"'{place:g}': ['{bounds.label}', 'n = {count}{thin}']")
    return alt.Axis(
        values=list(places),
        labelExpr=f"{{{', '.join(names)}}}[datum.value]",
        labelOverlap="parity",
        grid=False,
    )


def _legend(names: Sequence[str], label_limit: int) -> alt.Legend:
    # Two columns still fit a phone; long labels (with overrides in them) need a row each.
    columns = 1 if max(map(len, names)) > 18 else 2
    # The band is pale, but its symbol in the legend must not be.
    return alt.Legend(orient="bottom", columns=columns, labelLimit=label_limit, symbolOpacity=1)


def _scale(names: Sequence[str], values: Sequence[str]) -> alt.Scale:
    return alt.Scale(domain=names, range=[values[i % len(values)] for i in range(len(names))])


def _limit_rule(limit: int, domain: Sequence[float], row: int) -> tuple[alt.Chart, alt.Chart]:
    """The rule at the training limit, and its name above the plot; ``row`` keeps names apart."""
    place = limit + 0.5
    # The name of a rule near either end runs inwards, so that it is not cut off there.
    share = (place - domain[0]) / (domain[1] - domain[0])
    align: Literal["left", "center", "right"] = "center"
    if not 1 / 3 < share < 2 / 3:
        align = "left" if share < 1 / 2 else "right"
    base = alt.Chart(alt.Data(values=[{"place": place}])).encode(x="place:Q")
    text = base.mark_text(
        text=f"longest training sentence: {limit} words",
        align=align,
        baseline="bottom",
        color="#555",
    )
    rule = base.mark_rule(strokeDash=[5, 4], color="#777")
    return rule, text.encode(y=alt.value(-4 - 14 * row))
