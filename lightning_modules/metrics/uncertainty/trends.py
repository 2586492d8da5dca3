"""Do the curves of two systems part with length? The slope of their difference, tested."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from lightning_modules.metrics.lengths import Bucket, slope_per_ten
from lightning_modules.metrics.metric import Array, Metric
from lightning_modules.metrics.systems import System
from lightning_modules.metrics.uncertainty.bootstrap_scores import Estimate, ScoredSubset
from lightning_modules.metrics.uncertainty.resampling import (
    Resamples,
    degrees_of_freedom,
    holm,
    mean_over_seeds,
)
from lightning_modules.metrics.uncertainty.significance import bootstrapped


@dataclass(frozen=True)
class Trend:
    """The difference of two systems against length."""

    first: str
    second: str
    slope: Estimate
    """Rise of the first's score less the second's for every ten words, with the 95% interval over
    sentences and seeds."""
    p: float
    """p-value of the paired bootstrap, after Holm's correction over all pairs of systems."""


def compare_trends(
    systems: Sequence[System],
    buckets: Sequence[Bucket],
    subsets: Sequence[ScoredSubset],
    metric: Metric,
    resamples: Resamples,
) -> list[Trend]:
    """Test the slope of the difference of every pair of systems on one test set.

    ``subsets`` are those of ``buckets``; thin ones are left out. The slope is that of the
    least-squares line through the buckets (``slope_per_ten``). Nothing with fewer than two buckets.
    """
    used = [pair for pair in zip(buckets, subsets, strict=True) if not pair[0].thin]
    keys = [(system.name, metric.name) for system in systems]
    keys = [key for key in keys if all(key in subset.scores for _, subset in used)]
    if len(used) < 2:
        return []
    slopes = [_slopes(used, [subset.scores[key] for _, subset in used]) for key in keys]
    resampled = [_slopes(used, [subset.resampled[key] for _, subset in used]) for key in keys]
    tested = [
        (
            keys[a][0],
            keys[b][0],
            *_difference((slopes[a], slopes[b]), (resampled[a], resampled[b]), (a, b), resamples),
        )
        for a, b in combinations(range(len(keys)), 2)
    ]
    adjusted = holm([p for *_, p in tested])
    return [
        Trend(first, second, slope, p)
        for (first, second, slope, _), p in zip(tested, adjusted, strict=True)
    ]


def _slopes(used: Sequence[tuple[Bucket, ScoredSubset]], scores: Sequence[Array]) -> Array:
    """Return the slope of scores of each bucket, ``(…)`` each."""
    return slope_per_ten([bucket for bucket, _ in used], np.stack(scores))


def _difference(
    slopes: tuple[Array, Array],
    resampled: tuple[Array, Array],
    numbers: tuple[int, int],
    resamples: Resamples,
) -> tuple[Estimate, float]:
    """Return the difference of two slopes ``(seeds,)``, with its interval, and its p-value.

    Args:
        slopes: of each seed, ``(seeds,)``.
        resampled: of each seed and resample, ``(seeds, resamples)``.
        numbers: those of the systems, each of which draws its own seeds.
        resamples: the draws.
    """
    first, second = (
        mean_over_seeds(each, [resamples.seed, number + 1])
        for each, number in zip(resampled, numbers, strict=True)
    )
    fixed = float((resampled[0].mean(0) - resampled[1].mean(0)).var())
    observed = float(slopes[0].mean() - slopes[1].mean())
    return bootstrapped(observed, first - second, degrees_of_freedom(slopes, fixed))
