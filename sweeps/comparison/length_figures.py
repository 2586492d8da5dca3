"""Figures of an evaluation, described once in Vega-Lite for the page and for print."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import altair as alt

from lightning_modules.figures.charts import GREY, Width, data_of, style_of
from lightning_modules.figures.lines import Lines, point, reference_line, with_margins
from lightning_modules.metrics.lengths import THIN, Bounds
from lightning_modules.metrics.metric import Metric
from lightning_modules.metrics.systems import System
from sweeps.comparison.evaluation import Evaluation
from sweeps.comparison.score_tables import origin
from sweeps.comparison.word_tables import WordGroups


def length_lines(
    evaluation: Evaluation,
    metric: Metric,
    width: Width,
    limits: Sequence[int] = (),
    title: str = "",
) -> Lines:
    """Return a score against sentence length: one line for each system, the mean over its seeds.

    A point is at the mean length of its bucket. The band is the 95% bootstrap interval over test
    sentences. A thin bar goes from the lowest to the highest seed. Dashed rules are at ``limits``,
    the longest training sentences. Thin dashed lines are the baselines. ``n`` under a bucket is
    its number of sentences; ``*`` and a hollow mark mean fewer than 30 sentences.
    """
    bounds = evaluation.bounds
    places = {each: round(evaluation.mean_length(each), 2) for each in bounds}
    domain = with_margins(places.values())
    # A limit beyond the axis is left out: all test sentences are shorter.
    rules = [
        layer
        for row, limit in enumerate(limit for limit in limits if limit + 0.5 < domain[1])
        for layer in _limit_rule(limit, domain, row, style_of(width).type)
    ]
    axis = evaluation.scoring.length_axis
    points = [
        {"place": place, **point(system.label, each.label, estimate, _thin(evaluation, each))}
        for system in evaluation.systems
        for each, place in places.items()
        if (estimate := evaluation.estimate(system, each, metric.name)) is not None
    ]
    by_baseline = [
        (baseline, found)
        for baseline in evaluation.baselines
        if (found := _baseline_points(evaluation, baseline, metric, places))
    ]
    return Lines(
        labels={system.name: system.label for system in evaluation.systems},
        points=points,
        x=alt.X(
            "place:Q",
            title=axis[0].upper() + axis[1:],
            scale=alt.Scale(domain=domain, nice=False),
            axis=_bucket_axis(evaluation, list(places.values()), domain, width),
        ),
        y_title=metric.label,
        from_zero=metric.from_zero,
        title=title,
        note=note_of(origin(evaluation, metric.name)),
        others=[
            *rules,
            *(
                layer
                for baseline, found in by_baseline
                for layer in reference_line(baseline.label, found, metric.label, width)
            ),
        ],
        reached=[each["score"] for _, found in by_baseline for each in found],
    )


def _thin(evaluation: Evaluation, bounds: Bounds) -> bool:
    return min(evaluation.sentences(bounds)) < THIN


def _baseline_points(
    evaluation: Evaluation, baseline: System, metric: Metric, places: Mapping[Bounds, float]
) -> list[dict[str, Any]]:
    return [
        {"place": place, "score": estimate.value, "group": each.label}
        for each, place in places.items()
        if not _thin(evaluation, each)
        and (estimate := evaluation.estimate(baseline, each, metric.name)) is not None
    ]


def group_lines(groups: WordGroups) -> Lines:
    """Return the measure ``drawn`` over groups of words, one line for each system.

    The groups keep their order; those without words in the references are left out.
    """
    column, measure = next(
        (place, each) for place, each in enumerate(groups.measures) if each.key == groups.drawn
    )
    shown = [each for each in groups.scores if each.words]
    order = list(dict.fromkeys(each.group for each in shown))
    axis = alt.Axis(labelAngle=0, grid=False, labelOverlap="greedy")
    return Lines(
        labels={each.system.name: each.system.label for each in shown},
        points=[
            point(each.system.label, each.group, estimate, each.words < THIN)
            for each in shown
            if (estimate := each.estimates[column]) is not None
        ],
        x=alt.X("group:O", sort=order, title=groups.grouped_by, axis=axis),
        y_title=measure.title,
        from_zero=True,
        note=note_of(groups.origin),
    )


def note_of(origin: Mapping[str, str | int]) -> str:
    """Return what the caption of a figure says: how to read it, and where its numbers come from."""
    about = "; ".join(f"{key} {value}" for key, value in origin.items())
    return (
        "Lines: means over seeds; bands: 95% bootstrap intervals; thin bars: lowest to highest "
        f"seed; hollow marks, which no line reaches: fewer than {THIN}. {about}."
    )


def _bucket_axis(
    evaluation: Evaluation, places: Sequence[float], domain: Sequence[float], width: Width
) -> alt.Axis:
    names, longest = [], 0
    for bounds, place in zip(evaluation.bounds, places, strict=True):
        counts = "/".join(map(str, evaluation.sentences(bounds)))
        count = f"n = {counts}{'*' if _thin(evaluation, bounds) else ''}"
        names.append(f"'{place:g}': ['{bounds.label}', '{count}']")
        longest = max(longest, len(count), len(bounds.label))
    style = style_of(width)
    gaps = [b - a for a, b in pairwise(places)]
    room = style.room * min(gaps, default=domain[1]) / (domain[1] - domain[0])
    crowded = room < style.type * (0.55 * longest + 0.5)
    return alt.Axis(
        values=list(places),
        labelExpr=f"{{{', '.join(names)}}}[datum.value]",
        labelOverlap=False,
        labelAngle=-60 if crowded else 0,
        labelAlign="right" if crowded else "center",
        grid=False,
    )


def _limit_rule(
    limit: int, domain: Sequence[float], row: int, type: float
) -> tuple[alt.Chart, alt.Chart]:
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
        color=GREY,
        fontSize=type,
    )
    rule = base.mark_rule(strokeDash=[5, 4], color=GREY)
    return rule, text.encode(y=alt.value(-3 - 1.2 * type * row))
