"""The curves behind a verdict: the score of each system against length, or against distance."""

from collections.abc import Iterator
from typing import Any

import altair as alt
import numpy as np

from lightning_modules.figures.lines import Lines, point, with_margins
from lightning_modules.figures.reference_line import reference_line
from lightning_modules.figures.sizes import Width
from lightning_modules.metrics.metric import Metric
from lightning_modules.metrics.uncertainty.bootstrap_scores import Estimate
from sweeps.claims.claim import Claim
from sweeps.claims.evidence import Evidence
from sweeps.claims.statistics.differences import above
from sweeps.claims.statistics.intervals import Spread, effect_interval
from sweeps.claims.statistics.quantities import Rows, Score
from sweeps.claims.statistics.verdict import WIDE


def claim_lines(evidence: Evidence, claim: Claim, width: Width) -> Lines:
    """Return the score of each system against length; the bands are over seeds and sentences.

    Published curves, of the paper's data, are thin dashed lines.
    """
    metric = claim.measure.metric
    published = list(_published(claim))
    systems, buckets = list(evidence.runs), evidence.lengths.buckets
    points = [
        {
            "place": round(bucket.mean_length or 0.0, 2),
            **point(system, bucket.bounds.label, estimate),
        }
        for system in systems
        for bucket in buckets
        if (estimate := estimate_of(evidence, metric, system, bucket.index)) is not None
    ]
    places = [each["place"] for each in (*points, *(p for _, drawn in published for p in drawn))]
    return Lines(
        labels={system: system for system in systems},
        points=points,
        x=alt.X(
            "place:Q",
            title=evidence.axis[0].upper() + evidence.axis[1:],
            scale=alt.Scale(domain=with_margins(places or [0.0]), nice=False),
        ),
        y_title=metric.label,
        from_zero=metric.from_zero,
        others=[
            layer
            for name, drawn in published
            for layer in reference_line(name, drawn, metric.label, width)
        ],
        reached=[each["score"] for _, drawn in published for each in drawn],
    )


def _published(claim: Claim) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the names and the points of published curves."""
    if claim.published is None:
        return
    how = "published, read off" if claim.published.read_off else "published"
    for system, curve in claim.published.curves.items():
        yield (
            f"{system}, {how}",
            [
                {"place": length, "score": value, "group": f"{length:g} words"}
                for length, value in sorted(curve)
            ],
        )


def estimate_of(
    evidence: Evidence, metric: Metric, system: str, rows: Rows | None = None
) -> Estimate | None:
    """Return a score on some rows, with its interval over seeds and sentences.

    None where the score is not defined; no interval for one seed.
    """
    try:
        values = evidence.values(Score(metric, rows), system)
    except ValueError:  # such as a length ratio without references
        return None
    seeds = tuple(map(float, values.observed))
    if len(seeds) == 1:
        return Estimate(seeds[0], seeds=seeds)
    low, high = effect_interval(Spread.of([values]), above(0.0), WIDE)
    return Estimate(float(np.mean(seeds)), float(low), float(high), seeds=seeds)
