"""Figures of an evaluation, described once in Vega-Lite for the page and for print."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import altair as alt

from lightning_modules.figures.charts import Chart, data_of
from lightning_modules.figures.lines import GREY, Width, finished, lines, point
from lightning_modules.metrics.lengths import THIN, Bounds
from lightning_modules.metrics.metric import Metric
from lightning_modules.metrics.systems import System
from sweeps.evaluation.evaluation import Evaluation
from sweeps.evaluation.score_tables import origin
from sweeps.evaluation.words.word_groups import WordGroups

MARGIN = 0.08
"""Empty part of the axis at either end, as a share of the curve's width."""
ROOM_FOR_A_LABEL = 0.09
"""Width of a bucket's label, as a share of the axis's width."""


def length_curve(
    evaluation: Evaluation,
    metric: Metric,
    limits: Sequence[int] = (),
    width: Width = 620,
    title: str = "",
) -> Chart:
    """Draw a score against sentence length: one line for each system, the mean over its seeds.

    A point is at the mean length of its bucket. The band is the 95% bootstrap interval over test
    sentences. A thin bar goes from the lowest to the highest seed. Dashed rules are at ``limits``,
    the longest training sentences. Thin dashed lines are the baselines. ``n`` under a bucket is
    its number of sentences; ``*`` and a hollow mark mean fewer than 30 sentences.
    """
    bounds = evaluation.bounds
    places = [round(evaluation.mean_length(each), 2) for each in bounds]
    margin = MARGIN * (places[-1] - places[0]) or 1.0
    domain = [places[0] - margin, places[-1] + margin]
    # A limit beyond the axis is left out: all test sentences are shorter.
    rules = [
        layer
        for row, limit in enumerate(limit for limit in limits if limit + 0.5 < domain[1])
        for layer in _limit_rule(limit, domain, row)
    ]
    axis = evaluation.scoring.length_axis
    x = alt.X(
        "place:Q",
        title=axis[0].upper() + axis[1:],
        scale=alt.Scale(domain=domain, nice=False),
        axis=_bucket_axis(evaluation, places, domain),
    )
    points = data_of(
        {
            "place": place,
            "thin": min(evaluation.sentences(each)) < THIN,
            **point(system.label, each.label, estimate),
        }
        for system in evaluation.systems
        for each, place in zip(bounds, places, strict=True)
        if (estimate := evaluation.estimate(system, each, metric.name)) is not None
    )
    layers = lines(x, metric.label, metric.from_zero, _names(evaluation), width)
    places_by_bounds = dict(zip(bounds, places, strict=True))
    baselines = [
        layer
        for baseline in evaluation.baselines
        for layer in _baseline(evaluation, baseline, metric, places_by_bounds)
    ]
    note = note_of(origin(evaluation, metric.name))
    return finished(alt.layer(*rules, *baselines, *layers, data=points), width, note, title)


def _baseline(
    evaluation: Evaluation, baseline: System, metric: Metric, places: Mapping[Bounds, float]
) -> list[alt.Chart]:
    """Return the line of a baseline and its name; nothing without scores.

    The name stands where the line is highest: at the bottom of a figure lines run together.
    """
    points: list[dict[str, Any]] = [
        {"place": place, "score": estimate.value, "baseline": baseline.label, "group": each.label}
        for each, place in places.items()
        if (estimate := evaluation.estimate(baseline, each, metric.name)) is not None
    ]
    if not points:
        return []
    x, y = alt.X("place:Q"), alt.Y("score:Q")
    tooltip = [
        alt.Tooltip("baseline:N"),
        alt.Tooltip("group:N"),
        alt.Tooltip("score:Q", title=metric.label, format=".3~f"),
    ]
    line = alt.Chart(data_of(points)).mark_line(strokeWidth=1, strokeDash=[4, 3], color=GREY)
    highest = max(points, key=lambda point: point["score"])
    align: Literal["left", "center", "right"] = "center"
    if highest in (points[0], points[-1]):  # the name runs inwards
        align = "left" if highest == points[0] else "right"
    text = alt.Chart(data_of([highest])).mark_text(
        text=baseline.label, align=align, baseline="bottom", dy=-3, color=GREY, fontSize=11
    )
    return [line.encode(x=x, y=y, tooltip=tooltip), text.encode(x=x, y=y)]


def group_curve(groups: WordGroups, width: Width = 620) -> Chart:
    """Draw the measure ``drawn`` over groups of words, one line for each system.

    The groups keep their order.
    """
    column, measure = next(
        (place, each) for place, each in enumerate(groups.measures) if each.key == groups.drawn
    )
    order = list(dict.fromkeys(each.group for each in groups.scores))
    axis = alt.Axis(labelAngle=0, grid=False)
    x = alt.X("group:O", sort=order, title=groups.grouped_by, axis=axis)
    points = data_of(
        {"thin": False, **point(each.system.label, each.group, estimate)}
        for each in groups.scores
        if (estimate := each.estimates[column]) is not None
    )
    names = list(dict.fromkeys(each.system.label for each in groups.scores))
    layers = lines(x, measure.title, True, names, width)
    return finished(alt.layer(*layers, data=points), width, note_of(groups.origin))


def note_of(origin: Mapping[str, str | int]) -> str:
    """Return the small type of a printed figure: where its numbers come from."""
    return "Bands 95%. " + "; ".join(f"{key} {value}" for key, value in origin.items())


def _names(evaluation: Evaluation) -> list[str]:
    return [system.label for system in evaluation.systems]


def _bucket_axis(
    evaluation: Evaluation, places: Sequence[float], domain: Sequence[float]
) -> alt.Axis:
    names = []
    for bounds, place in zip(evaluation.bounds, places, strict=True):
        counts = evaluation.sentences(bounds)
        thin = "*" if min(counts) < THIN else ""
        count = "/".join(map(str, counts))
        names.append(f"'{place:g}': ['{bounds.label}', 'n = {count}{thin}']")
    gaps = [b - a for a, b in pairwise(places)]
    crowded = min(gaps, default=domain[1]) / (domain[1] - domain[0]) < ROOM_FOR_A_LABEL
    return alt.Axis(
        values=list(places),
        labelExpr=f"{{{', '.join(names)}}}[datum.value]",
        labelOverlap=False,
        labelAngle=-60 if crowded else 0,
        labelAlign="right" if crowded else "center",
        grid=False,
    )


def _limit_rule(limit: int, domain: Sequence[float], row: int) -> tuple[alt.Chart, alt.Chart]:
    """Return the rule at a training limit, and its label in the given ``row`` above the plot."""
    place = limit + 0.5
    # The label of a rule near an end of the axis runs inwards, so that the label is not cut off.
    share = (place - domain[0]) / (domain[1] - domain[0])
    align: Literal["left", "center", "right"] = "center"
    if not 1 / 3 < share < 2 / 3:
        align = "left" if share < 1 / 2 else "right"
    base = alt.Chart(data_of([{"place": place}])).encode(x="place:Q")
    text = base.mark_text(
        text=f"longest training sentence: {limit} words",
        align=align,
        baseline="bottom",
        color="#555",
    )
    rule = base.mark_rule(strokeDash=[5, 4], color=GREY)
    return rule, text.encode(y=alt.value(-4 - 14 * row))
