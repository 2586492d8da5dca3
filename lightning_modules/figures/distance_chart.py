"""Right choices between contrastive pairs, against the distance between two words."""

from collections.abc import Mapping, Sequence

import altair as alt

from lightning_modules.figures.charts import data_of
from lightning_modules.figures.lines import Lines, point
from lightning_modules.figures.sizes import GREY
from lightning_modules.metrics.uncertainty.contrast_scores import METRIC, ScoredGroup

CHANCE = 50
"""Percentage of right choices of a model that knows nothing."""


def distance_lines(groups: Sequence[ScoredGroup], labels: Mapping[str, str], note: str) -> Lines:
    """Return right choices against distance: one line for each system, the mean over its seeds.

    The band is the 95% bootstrap interval over source sentences. A dashed rule is at chance.

    Args:
        groups: scores of systems; groups other than those of a single distance are left out.
        labels: labels of the systems by name, in the order of the legend.
        note: where the numbers come from.
    """
    single = sorted((each for each in groups if each.kind == "distance"), key=_distance)
    points = [
        {"place": _distance(each), **point(label, each.name, estimate, each.subset.thin)}
        for each in single
        for name, label in labels.items()
        if (estimate := each.estimate(name)) is not None
    ]
    rule = alt.Chart(data_of([{"score": CHANCE}])).mark_rule(strokeDash=[5, 4], color=GREY)
    return Lines(
        labels,
        points,
        alt.X("place:Q", title="Distance (words)", axis=alt.Axis(grid=False, tickMinStep=1)),
        METRIC.label,
        METRIC.from_zero,
        note=note,
        others=[rule.encode(y="score:Q")],
        reached=[CHANCE],
    )


def _distance(group: ScoredGroup) -> int:
    return int(group.name)
