"""Paired tests between systems: on each length bucket, and of the slope of their difference.

p-values are corrected by Holm (1979) within these families, each method apart: the tests of one
metric between all pairs of systems on all subsets of all test sets (``correct_by_holm``; the caller
gathers them); the slopes of one metric between all pairs of systems on one test set
(``compare_trends``).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from lightning_modules.metrics import resampling
from lightning_modules.metrics.bootstrap import Estimate, ScoredSubset
from lightning_modules.metrics.lengths import Bucket, slope_per_ten
from lightning_modules.metrics.metric import Array, Metric
from lightning_modules.metrics.resampling import Resamples, holm
from lightning_modules.metrics.systems import System


@dataclass(frozen=True)
class PairTest:
    """Two systems compared on one subset of the test sentences."""

    first: str
    second: str
    subset: str  # lengths of the sentences, or `all`
    sentences: int
    difference: Estimate
    """Mean score of the first less the second, with the 95% interval over sentences and seeds."""
    p_bootstrap: float
    """p-value over sentences, and over several seeds: would other trainings differ?"""
    p_randomisation: float
    """p-value over sentences for fixed outputs: would the outputs differ on another test set?"""
    p_moses: float | None
    """p-value of ``sacrebleu --paired-bs``; None with several seeds or for a difference of 0."""
    p_bootstrap_holm: float = math.nan  # `p_bootstrap` after `correct`
    p_randomisation_holm: float = math.nan


def compare_pairs(
    systems: Sequence[System], subsets: Sequence[ScoredSubset], metric: Metric, resamples: Resamples
) -> list[PairTest]:
    """Test every pair of systems that translated one test set, on every subset that is not thin.

    Systems without counts for the metric are left out.
    """
    return [
        test
        for number, subset in enumerate(subsets)
        if not subset.thin
        for test in _tests(
            systems, subset, metric, Resamples(resamples.count, resamples.seed + number)
        )
    ]


def correct_by_holm(tests: Sequence[PairTest]) -> list[PairTest]:
    """Return a family of tests (all pairs of systems on all subsets) with corrected p-values."""
    bootstrap = holm([test.p_bootstrap for test in tests])
    randomisation = holm([test.p_randomisation for test in tests])
    return [
        replace(test, p_bootstrap_holm=p, p_randomisation_holm=other)
        for test, p, other in zip(tests, bootstrap, randomisation, strict=True)
    ]


def _tests(
    systems: Sequence[System], subset: ScoredSubset, metric: Metric, resamples: Resamples
) -> list[PairTest]:
    systems = [system for system in systems if (system.name, metric.name) in subset.scores]
    pairs = list(combinations(range(len(systems)), 2))
    if not pairs:
        return []
    keys = [(system.name, metric.name) for system in systems]
    scores, resampled = ([each[key] for key in keys] for each in (subset.scores, subset.resampled))
    counts = [_mean_counts(system, subset, metric) for system in systems]
    trials = resampling.randomised_differences(pairs, counts, metric.score, resamples)
    scores_of_means = [float(metric.score(each.sum(0))) for each in counts]
    tests = []
    for row, found in enumerate(_differences(scores, resampled, resamples.seed)):
        a, b, difference, p, differences = found
        between = scores_of_means[a] - scores_of_means[b]
        moses = None
        if len(scores[a]) == len(scores[b]) == 1 and difference.value:
            moses = resampling.moses_p(differences, difference.value)
        tests.append(
            PairTest(
                first=systems[a].name,
                second=systems[b].name,
                subset=subset.label,
                sentences=len(subset.index),
                difference=difference,
                p_bootstrap=p,
                p_randomisation=resampling.randomisation_p(trials[row], between),
                p_moses=moses,
            )
        )
    return tests


def _differences(
    scores: Sequence[Array], resampled: Sequence[Array], seed: int
) -> Iterator[tuple[int, int, Estimate, float, Array]]:
    """Yield each pair of systems: numbers, difference, p-value, differences ``(resamples,)``.

    Each system has scores ``(seeds,)`` and resampled scores ``(seeds, resamples)``.
    """
    # From 1: [seed, 0] would repeat the draws of seed.
    means = [
        resampling.mean_over_seeds(each, [seed, number])
        for number, each in enumerate(resampled, start=1)
    ]
    for a, b in combinations(range(len(scores)), 2):
        observed = float(scores[a].mean() - scores[b].mean())
        differences = means[a] - means[b]
        deviations = differences - observed
        sentence_variance = float((resampled[a].mean(0) - resampled[b].mean(0)).var())
        degrees = resampling.degrees_of_freedom([scores[a], scores[b]], sentence_variance)
        ends = resampling.interval(observed + resampling.expansion(degrees) * deviations)
        if math.isinf(degrees):
            p = resampling.bootstrap_p(differences, observed)
        else:
            p = resampling.student_p(deviations, observed, degrees)
        yield a, b, Estimate(observed, *ends), p, differences


def _mean_counts(system: System, subset: ScoredSubset, metric: Metric) -> Array:
    """Return the mean over seeds of each sentence's counts: ``(sentences, columns)``.

    The score of mean counts is the score of all seeds' outputs taken as one text.
    """
    counts = [output.statistics[metric.statistics][subset.index] for output in system.outputs]
    return np.mean(counts, axis=0)


@dataclass(frozen=True)
class Trend:
    """The difference of two systems against length."""

    first: str
    second: str
    slope: Estimate
    """Rise of the first's score less the second's for every ten words, with the 95% interval over
    sentences and seeds."""
    p_holm: float  # p-value of the paired bootstrap, corrected


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
    if len(used) < 2:
        return []
    keys = [(system.name, metric.name) for system in systems]
    keys = [key for key in keys if all(key in subset.scores for _, subset in used)]
    lengths = [bucket for bucket, _ in used]
    slopes, resampled = (
        [slope_per_ten(lengths, np.stack([scores[key] for scores in of_bucket])) for key in keys]
        for of_bucket in zip(*((each.scores, each.resampled) for _, each in used), strict=True)
    )
    tested = [
        (keys[a][0], keys[b][0], slope, p)
        for a, b, slope, p, _ in _differences(slopes, resampled, resamples.seed)
    ]
    adjusted = holm([p for *_, p in tested])
    return [Trend(*each[:3], p) for each, p in zip(tested, adjusted, strict=True)]
