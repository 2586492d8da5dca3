"""Paired tests between systems: on each length bucket, and of the slope of their difference."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from lightning_modules.metrics.bootstrap import Estimate, ScoredSubset
from lightning_modules.metrics.lengths import Bucket, slope_per_ten
from lightning_modules.metrics.metric import Array, Metric
from lightning_modules.metrics.resampling import (
    Resamples,
    bootstrap_p,
    degrees_of_freedom,
    expansion,
    holm,
    interval,
    mean_over_seeds,
    moses_p,
    randomisation_p,
    randomised_differences,
    student_p,
)
from lightning_modules.metrics.systems import System


@dataclass(frozen=True)
class PairTest:
    """Two systems compared on one subset of the test sentences."""

    first: str
    second: str
    subset: str
    """Lengths of the sentences, or ``all``."""
    sentences: int
    difference: Estimate
    """Mean score of the first less the second, with the 95% interval over sentences and seeds."""
    p_bootstrap: float
    """p-value over sentences, and over several seeds: would other trainings differ?"""
    p_randomisation: float
    """p-value over sentences for fixed outputs: would the outputs differ on another test set?"""
    p_moses: float | None
    """p-value of ``sacrebleu --paired-bs``; None with several seeds or for a difference of 0."""


@dataclass(frozen=True)
class CorrectedTest:
    """A test with p-values corrected for its whole family of tests (Holm 1979)."""

    test: PairTest
    p_bootstrap: float
    p_randomisation: float


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


def correct(tests: Sequence[PairTest]) -> list[CorrectedTest]:
    """Correct a family of tests (all pairs of systems on all subsets), each method separately."""
    adjusted = zip(
        tests,
        holm([test.p_bootstrap for test in tests]),
        holm([test.p_randomisation for test in tests]),
        strict=True,
    )
    return [CorrectedTest(*parts) for parts in adjusted]


def _tests(
    systems: Sequence[System], subset: ScoredSubset, metric: Metric, resamples: Resamples
) -> list[PairTest]:
    systems = [system for system in systems if (system.name, metric.name) in subset.scores]
    pairs = list(combinations(range(len(systems)), 2))
    if not pairs:
        return []
    names = [system.name for system in systems]
    scores = [subset.scores[name, metric.name] for name in names]
    resampled = [
        mean_over_seeds(subset.resampled[name, metric.name], [resamples.seed, number])
        for number, name in enumerate(names, start=1)  # [seed, 0] would repeat the draws of seed
    ]
    resampled_sentences = [subset.resampled[name, metric.name].mean(0) for name in names]
    counts = [_mean_counts(system, subset, metric) for system in systems]
    randomised = randomised_differences(pairs, counts, metric.score, resamples)
    scores_of_means = [float(metric.score(each.sum(0))) for each in counts]
    tests = []
    for (a, b), trials in zip(pairs, randomised, strict=True):
        observed = float(scores[a].mean() - scores[b].mean())
        differences = resampled[a] - resampled[b]
        sentence_variance = float((resampled_sentences[a] - resampled_sentences[b]).var())
        degrees = degrees_of_freedom([scores[a], scores[b]], sentence_variance)
        difference, p = difference_with_p(observed, differences, degrees)
        single = len(scores[a]) == len(scores[b]) == 1
        tests.append(
            PairTest(
                first=names[a],
                second=names[b],
                subset=subset.label,
                sentences=len(subset.index),
                difference=difference,
                p_bootstrap=p,
                p_randomisation=randomisation_p(trials, scores_of_means[a] - scores_of_means[b]),
                p_moses=moses_p(differences, observed) if single and observed else None,
            )
        )
    return tests


def difference_with_p(
    observed: float, differences: Array, degrees: float
) -> tuple[Estimate, float]:
    """Return a difference with its interval, and its p-value."""
    deviations = differences - observed
    estimate = Estimate(observed, *interval(observed + expansion(degrees) * deviations))
    if math.isinf(degrees):
        return estimate, bootstrap_p(differences, observed)
    return estimate, student_p(deviations, observed, degrees)


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
    return difference_with_p(observed, first - second, degrees_of_freedom(slopes, fixed))
