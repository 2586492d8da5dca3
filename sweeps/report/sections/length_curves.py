"""Scores against sentence length: BLEU in full, the other scores in folds."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType
from typing import Literal, NamedTuple

import altair as alt
from typing_extensions import override

from lightning_modules.figures.charts import GREY, Chart, Width, data_of, style_of
from lightning_modules.figures.lines import (
    Lines,
    Point,
    figures_of,
    marks_in_words,
    point,
    with_margins,
)
from lightning_modules.figures.system_looks import plot_room
from lightning_modules.figures.text_sizes import text_width
from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.lengths import THIN, Bounds
from lightning_modules.metrics.metric import Metric
from lightning_modules.metrics.systems import System
from sweeps.comparison.evaluation import Evaluation
from sweeps.comparison.score_tables import (
    baselines_in_words,
    baselines_note,
    by_length,
    main_tables,
    origin,
    origin_in_words,
)
from sweeps.comparison.tables import Table
from sweeps.report.findings import WEAK, Findings
from sweeps.report.page_top import PageTop
from sweeps.report.sections import Section

EVERY_SEED = "every_seed"
ALL_SETS = "all test sets"


class BleuByLength(Section):
    """The figure that the comparison is about, for each test set, and a short table for a paper.

    Test sets that one run translated together have a figure for all sentences, then one for each.
    """

    heading = "BLEU against sentence length"
    template = '{% include "sections/bleu_by_length.html.j2" %}'

    @property
    def how_to_read(self) -> str:
        """What the marks mean, and what the baselines are, of those that are drawn."""
        evaluation = self.findings.evaluation
        thin = any(_thin(part, each) for part in evaluation.parts for each in part.bounds)
        said = marks_in_words(self.findings.several_seeds, thin, starred=True)
        named = baselines_in_words(each.label for each in evaluation.baselines)
        said += f" Thin dashed lines, without a model: {named}." if named else ""
        return f"{said} {WEAK}: learned too little." if self.findings.marked_weak else said

    @override
    def tables(self) -> Sequence[Table]:
        """Return the short table of a paper, which the page does without."""
        if self.findings.alone:
            return []
        alarms, weak = self.findings.alarms, self.findings.too_weak
        said = [PageTop(self.findings).setting]
        said += [f"{WEAK}: learned too little ({self.findings.why_weak(weak)})."] if weak else []
        if alarms and alarms.improved and alarms.runs > 1:
            said.append(f"{alarms.improving_in_short}.")
        marks = {system.name: WEAK for system in weak}
        return list(main_tables(self.findings.evaluation, " ".join(said).strip(), marks))

    @override
    def figures(self, width: Width) -> Mapping[str, Chart]:
        bleu = [each for each in self.findings.evaluation.metrics if each.name == "bleu"]
        curves: dict[str, Chart] = {}
        title = ALL_SETS if self.findings.sets else ""
        for place, part in enumerate(self.findings.evaluation.parts, start=1):
            ending = "" if place == 1 else f"_{place}"
            curves |= _curves(part, self.findings, bleu, width, title, ending)
        for each, part in self.findings.sets.items():
            curves |= _curves(part, self.findings, bleu, width, each, f"_of_{each}")
        return curves

    @override
    def page_texts(self) -> Mapping[str, str]:
        return {EVERY_SEED: self.findings.every_seed}


class OtherScoresByLength(Section):
    """Every other score against length."""

    heading = "Other scores against length"
    template = '{% include "sections/choice.html.j2" %}'

    @property
    def _metrics(self) -> list[Metric]:
        return [each for each in self.findings.evaluation.metrics if each.name != "bleu"]

    @override
    def tables(self) -> Sequence[Table]:
        return [by_length(self.findings.evaluation, metric) for metric in self._metrics]

    @override
    def figures(self, width: Width) -> Mapping[str, Chart]:
        return _curves(self.findings.evaluation, self.findings, self._metrics, width)


def _curves(
    evaluation: Evaluation,
    findings: Findings,
    metrics: Sequence[Metric],
    width: Width,
    title: str = "",
    ending: str = "",
) -> dict[str, Chart]:
    words = evaluation.scoring.unit.endswith("words")
    limits = findings.comparison.train_limits if words else ()
    weak = findings.weak_among(evaluation.systems)
    marks = {system.name: WEAK for system in findings.marked_weak}
    mark = f"{WEAK} " if marks else ""
    said = [PageTop(findings).setting, f"{mark}{weak}." if weak else ""]
    curves: dict[str, Chart] = {}
    for metric in metrics:
        lines = length_lines(evaluation, metric, width, limits, title, marks)
        named = [baselines_note(lines.baselines)] if lines.baselines else []
        lines = replace(lines, note=" ".join(filter(None, [*said, *named, lines.note])))
        curves |= figures_of(f"{metric.name}_by_length{ending}", lines, width)
    return curves


def length_lines(
    evaluation: Evaluation,
    metric: Metric,
    width: Width,
    limits: Sequence[int] = (),
    title: str = "",
    marks: Mapping[str, str] = MappingProxyType({}),
) -> Lines:
    """Return a score against sentence length: one line for each system, the mean over its seeds.

    A point is at the mean length of its bucket. The band is the 95% bootstrap interval over test
    sentences. A thin bar goes from the lowest to the highest seed. Dashed rules are at ``limits``,
    the longest training sentences. Thin dashed lines are the baselines. Under a bucket is its
    number of sentences, unless all have the same; ``*`` and a hollow mark mean fewer than 30.
    ``marks`` stand after the labels of systems, by their names.
    """
    bounds = evaluation.bounds
    places = {each: round(evaluation.mean_length(each), 2) for each in bounds}
    domain = with_margins(places.values())
    baselines = {
        baseline.label: points
        for baseline in evaluation.baselines
        if (points := _baseline_points(evaluation, baseline, metric, places))
    }
    labels = {each.name: each.label + marks.get(each.name, "") for each in evaluation.systems}
    share = plot_room([*labels.values(), *baselines], width) / (domain[1] - domain[0])
    buckets = _bucket_names(evaluation, [share * place for place in places.values()], width)
    x = alt.X(
        "place:Q",
        title=buckets.title,
        scale=alt.Scale(domain=domain, nice=False),
        axis=_bucket_axis(list(places.values()), buckets),
    )
    return Lines(
        labels=labels,
        points=[
            {
                "place": place,
                **point(labels[system.name], each.label, estimate, _thin(evaluation, each)),
            }
            for system in evaluation.systems
            for each, place in places.items()
            if (estimate := evaluation.estimate(system, each, metric.name)) is not None
        ],
        x=x,
        y_title=metric.label,
        from_zero=metric.from_zero,
        title=title,
        note=origin_in_words(origin(evaluation, metric.name)),
        baselines=baselines,
        others=list(_limit_rules(limits, domain, style_of(width).type, x)),
        starred=True,
    )


def _thin(evaluation: Evaluation, bounds: Bounds) -> bool:
    return min(evaluation.sentences(bounds)) < THIN


def _baseline_points(
    evaluation: Evaluation, baseline: System, metric: Metric, places: Mapping[Bounds, float]
) -> list[Point]:
    return [
        {"place": place, **point(baseline.label, each.label, Estimate(estimate.value))}
        for each, place in places.items()
        if not _thin(evaluation, each)
        and (estimate := evaluation.estimate(baseline, each, metric.name)) is not None
    ]


class _BucketNames(NamedTuple):
    """What stands at the axis of lengths."""

    title: str
    lines: list[list[str]]  # the lines of each bucket
    fit: bool = True  # whether there is room for them side by side


def _bucket_names(evaluation: Evaluation, places: Sequence[float], width: Width) -> _BucketNames:
    """Return the names of buckets at these places of the axis, with as much as there is room for.

    The number of sentences stands in the title where all buckets have the same.
    """
    bounds, axis = evaluation.bounds, evaluation.length_axis
    title, size = axis[0].upper() + axis[1:], style_of(width).type
    thin = ["*" if _thin(evaluation, each) else "" for each in bounds]
    names = [f"{each.label}{star}" for each, star in zip(bounds, thin, strict=True)]
    counts = ["/".join(map(str, evaluation.sentences(each))) for each in bounds]
    alone = [[name] for name in names]
    if len(bounds) > 1 and len(set(counts)) == 1:
        offers = [_BucketNames(f"{title}, {counts[0]} sentences each", alone)]
    else:
        pairs = list(zip(names, counts, strict=True))
        offers = [
            _BucketNames(title, [[name, f"n = {count}"] for name, count in pairs]),
            _BucketNames(f"{title}; below: sentences", [[name, count] for name, count in pairs]),
            _BucketNames(title, alone),
        ]
    found = next((each for each in offers if _side_by_side(each.lines, places, size)), None)
    return found or offers[-1]._replace(fit=False)


def _side_by_side(names: Sequence[Sequence[str]], places: Sequence[float], size: float) -> bool:
    widths = [max(text_width(line, size) for line in lines) for lines in names]
    pairs = pairwise(zip(places, widths, strict=True))
    return all(right - left >= (one + other + size) / 2 for (left, one), (right, other) in pairs)


def _bucket_axis(places: Sequence[float], buckets: _BucketNames) -> alt.Axis:
    names = {f"{place:g}": lines for place, lines in zip(places, buckets.lines, strict=True)}
    return alt.Axis(
        values=list(places),
        labelExpr=f"{json.dumps(names)}[datum.value]",
        labelOverlap=False if buckets.fit else "greedy",
        labelAngle=0 if buckets.fit else -45,
        labelAlign="center" if buckets.fit else "right",
        grid=False,
    )


def _limit_rules(
    limits: Sequence[int], domain: Sequence[float], size: float, x: alt.X
) -> Iterator[alt.Chart]:
    """Yield the rules at training limits, each with its label above the plot, in type of ``size``.

    A limit beyond the axis is left out: all test sentences are shorter. The rules share the axis
    ``x`` of the curves: one of their own would leave out labels that have room.
    """
    places = [limit + 0.5 for limit in limits if limit + 0.5 < domain[1]]
    for row, place in enumerate(places):
        # The label of a rule near an end of the axis runs inwards, so that it is not cut off.
        share = (place - domain[0]) / (domain[1] - domain[0])
        align: Literal["left", "center", "right"] = "center"
        if not 1 / 3 < share < 2 / 3:
            align = "left" if share < 1 / 2 else "right"
        base = alt.Chart(data_of([{"place": place}])).encode(x=x)
        text = base.mark_text(
            text=f"longest training sentence: {place - 0.5:.0f} words",
            align=align,
            baseline="bottom",
            color=GREY,
            fontSize=size,
        )
        yield base.mark_rule(strokeDash=[5, 4], color=GREY)
        yield text.encode(y=alt.YValue(-3 - 1.2 * size * row))
