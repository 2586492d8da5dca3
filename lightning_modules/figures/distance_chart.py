"""Right choices between contrastive pairs, against the distance between two words."""

from collections.abc import Mapping, Sequence

import altair as alt

from lightning_modules.figures.charts import Chart, data_of
from lightning_modules.figures.lines import GREY, Width, finished, lines, point
from lightning_modules.metrics.uncertainty.contrast_scores import METRIC, ScoredGroup

CHANCE = 50
"""Percentage of right choices of a model that knows nothing."""


def distance_chart(
    groups: Sequence[ScoredGroup], labels: Mapping[str, str], note: str, width: Width = 620
) -> Chart:
    """Draw right choices against distance: one line for each system, the mean over its seeds.

    The band is the 95% bootstrap interval over source sentences; a thin bar goes from the lowest to
    the highest seed. A dashed rule is at chance.

    Args:
        groups: scores of systems; groups other than those of a single distance are left out.
        labels: labels of the systems by name, in the order of the legend.
        note: small type above a printed figure.
        width: width in pixels, or ``container``.
    """
    points = data_of(
        {"place": int(group.name), "thin": group.subset.thin, **point(label, group.name, estimate)}
        for group in groups
        if group.kind == "distance"
        for name, label in labels.items()
        if (estimate := group.estimate(name)) is not None
    )
    x = alt.X("place:Q", title="Distance (words)", axis=alt.Axis(grid=False))
    rule = alt.Chart(data_of([{"score": CHANCE}])).mark_rule(strokeDash=[5, 4], color=GREY)
    layers = lines(x, METRIC.label, METRIC.from_zero, list(labels.values()), width)
    return finished(alt.layer(rule.encode(y="score:Q"), *layers, data=points), width, note)
